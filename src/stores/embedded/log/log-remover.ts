/**
 * Trim and remove, in the writing thread. A batch that loses some events is rewritten in place, one that loses all is
 * deleted; entries of ids and keys go with their events. Each call is part of one commit (P11).
 *
 * Invariant kept here: a batch's `run_ts` is the newest ts among the present events up to its own, so that `seqAt` can
 * halve its way through the batches.
 */
import type { Seq } from "../../../model/event.js";
import { type Batch, BatchCursor, checksum, pack } from "../../batch-codec.js";
import { type Batches, type BatchHead, isPiece, posOf } from "../batches/batches.js";
import { isDense, type PartitionState, type Partitions } from "../batches/partitions.js";
import type { IdWriter } from "../indexes/id-writer.js";
import type { KeyIndexWriter } from "../indexes/key-index-writer.js";
import type { Slice } from "../protocol.js";
import type { Connection } from "../sqlite.js";
import { KEYS_NONE, type TopicRow, type Topics } from "../topics.js";
import type { SheetFiler } from "./sheet-filer.js";

/** Batches that one trim request takes away at most, so that appends are not kept waiting. */
const TRIM_BATCHES = 256;

export interface LogRemoverParts {
  readonly connection: Connection;
  readonly topics: Topics;
  readonly partitions: Partitions;
  readonly batches: Batches;
  readonly ids: IdWriter;
  readonly keys: KeyIndexWriter;
  readonly filer: SheetFiler;
}

export class LogRemover {
  readonly #parts: LogRemoverParts;

  constructor(parts: LogRemoverParts) {
    this.#parts = parts;
  }

  trim({ topic: name, partition, through }: { topic: string; partition: number; through: Seq }): Slice {
    const { topics, partitions, batches } = this.#parts;
    const { topic, part } = topics.part(name, partition);
    const state = partitions.get(part);
    const last = Math.min(through, state.head);
    this.#fileThrough(part, last);
    const heads = batches.above(part, 0, TRIM_BATCHES).filter((head) => head.firstSeq <= last);
    const before = state.events;
    const wasDense = isDense(state);
    const done = heads.length < TRIM_BATCHES;
    const reached = done ? last : Math.min(last, heads.at(-1)?.lastSeq ?? last);
    // First: entries of ids below it need not be taken away.
    state.low = Math.max(state.low, reached + 1);
    for (const head of heads) {
      if (head.lastSeq <= last) this.#drop(topic, state, head);
      else this.#rewrite(topic, state, head, (seq) => seq > last);
    }
    this.#giveUp(state, reached, wasDense);
    this.#mendTimes(state, 0);
    partitions.save(state);
    return { removed: before - state.events, done };
  }

  /** What was lost through a seq counts no longer: no batch was there to be dropped and taken off (P14). */
  #giveUp(state: PartitionState, through: Seq, wasDense: boolean): void {
    const isMarked = state.damage !== null && state.damage[1] <= through;
    if (isMarked) state.damage = null;
    const most = state.head - state.low + 1;
    if (state.events <= most && (wasDense || !isMarked)) return;
    const { events, bytes } = this.#parts.batches.totals(state.part);
    // Should more be lost further on, its absence shows by what ought to be there.
    state.events = wasDense ? most : events;
    state.bytes = bytes;
  }

  remove({
    topic: name,
    partition,
    seqs,
  }: {
    topic: string;
    partition: number;
    seqs: readonly Seq[];
  }): number {
    const { topics, partitions, batches } = this.#parts;
    const { topic, part } = topics.part(name, partition);
    const state = partitions.get(part);
    const unwanted = new Set(seqs);
    this.#fileThrough(part, state.head);
    const before = state.events;
    const wasDense = isDense(state);
    let covered = 0;
    for (const seq of [...unwanted].sort((a, b) => a - b)) {
      if (seq <= covered) continue;
      const head = batches.holding(part, seq);
      if (head === undefined) {
        if (wasDense && seq >= state.low && seq <= state.head) throw batches.missing(part, seq, seq);
        continue;
      }
      covered = head.lastSeq;
      this.#rewrite(topic, state, head, (candidate) => !unwanted.has(candidate));
      this.#mendTimes(state, head.firstSeq);
    }
    if (before === state.events) return 0;
    if (wasDense) while (state.low <= state.head && unwanted.has(state.low)) state.low++;
    else if (unwanted.has(state.low)) state.low = this.#lowest(state);
    partitions.save(state);
    return before - state.events;
  }

  markDamage({ part, firstSeq, lastSeq }: { part: number; firstSeq: Seq; lastSeq: Seq }): void {
    const state = this.#parts.partitions.get(part);
    state.damage ??= [firstSeq, lastSeq];
    this.#parts.partitions.save(state);
  }

  /** What is removed has to be a row: pieces of sheets never change. */
  #fileThrough(part: number, last: Seq): void {
    const piece = this.#parts.batches.sheets.of(part)[0];
    if (piece !== undefined && piece.firstSeq <= last) this.#parts.filer.all();
  }

  /** A whole batch goes. One that is damaged goes too: its entries lead nowhere, which readers of them bear. */
  #drop(topic: TopicRow, state: PartitionState, head: BatchHead): void {
    const batch = head.indexed > 0 ? this.#loadIfSound(head) : undefined;
    if (batch !== undefined) this.#forgetIds(head, batch, null);
    if (topic.keys !== KEYS_NONE) this.#parts.keys.trimmed(head);
    this.#delete(state, head);
  }

  #rewrite(topic: TopicRow, state: PartitionState, head: BatchHead, keep: (seq: Seq) => boolean): void {
    const { part } = state;
    const batch = this.#parts.batches.load(head);
    const rest = pack(batch, (cursor) => keep(cursor.seq), "sparse");
    if (rest?.count === head.count) return;
    const dropped = this.#forgetIds(head, batch, rest);
    if (topic.keys !== KEYS_NONE) this.#parts.keys.removeFrom(topic.id, part, batch, rest);
    if (rest === null) {
      this.#delete(state, head);
      return;
    }
    const bytes = rest.ids.length + rest.data.length;
    this.#parts.connection
      .sql(
        `UPDATE batch SET last_seq = ?3, count = ?4, bytes = ?5, max_ts = ?6, indexed = ?7, crc = ?8, ids = ?9, data = ?10
         WHERE pos = ${posOf("?1", "?2")}`,
      )
      .run(
        part,
        head.firstSeq,
        rest.lastSeq,
        rest.count,
        bytes,
        rest.maxTs,
        head.indexed - dropped,
        checksum(part, rest.lastSeq, rest.count, rest),
        rest.ids,
        rest.data,
      );
    state.events -= head.count - rest.count;
    state.bytes -= head.bytes - bytes;
  }

  #delete(state: PartitionState, head: BatchHead): void {
    this.#parts.connection
      .sql(`DELETE FROM batch WHERE pos = ${posOf("?1", "?2")}`)
      .run(state.part, head.firstSeq);
    state.events -= head.count;
    state.bytes -= head.bytes;
  }

  /** Takes away the entries of ids of the events that are in `batch` and not in `rest`; returns how many had one. */
  #forgetIds(head: BatchHead, batch: Batch, rest: Batch | null): number {
    if (head.indexed === 0) return 0;
    let dropped = 0;
    const kept = rest === null ? undefined : seqsOf(rest);
    const cursor = new BatchCursor(batch);
    while (cursor.next()) {
      if (!kept?.has(cursor.seq) && this.#parts.ids.remove(head.part, batch, head, cursor)) dropped++;
    }
    return dropped;
  }

  #loadIfSound(head: BatchHead): Batch | undefined {
    try {
      return this.#parts.batches.load(head);
    } catch {
      return undefined;
    }
  }

  /** Recomputes `run_ts` from the batch that changed on, until it is what it was: then so are all behind it. */
  #mendTimes(state: PartitionState, from: Seq): void {
    const { batches, connection } = this.#parts;
    let newest = batches.below(state.part, from)?.runTs ?? null;
    const update = connection.sql(`UPDATE batch SET run_ts = ?3 WHERE pos = ${posOf("?1", "?2")}`);
    let head = batches.startingAt(state.part, from);
    while (head !== undefined) {
      newest = Math.max(newest ?? head.maxTs, head.maxTs);
      if (newest === head.runTs) return;
      if (isPiece(head)) {
        this.#parts.filer.all();
        head = batches.startingAt(state.part, head.firstSeq);
        continue;
      }
      update.run(state.part, head.firstSeq, newest);
      head = batches.startingAt(state.part, head.firstSeq + 1);
    }
    state.runTs = newest;
  }

  #lowest(state: PartitionState): Seq {
    const head = this.#parts.batches.startingAt(state.part, 1);
    if (head === undefined) return state.head + 1;
    const cursor = new BatchCursor(this.#parts.batches.load(head));
    return cursor.next() ? cursor.seq : state.head + 1;
  }
}

function seqsOf(batch: Batch): Set<Seq> {
  const seqs = new Set<Seq>();
  const cursor = new BatchCursor(batch);
  while (cursor.next()) seqs.add(cursor.seq);
  return seqs;
}
