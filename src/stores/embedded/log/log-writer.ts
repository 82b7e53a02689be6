/**
 * Appends, in the writing thread. Runs inside a transaction that its caller opens, commits and syncs, so that a seq is
 * taken and filled in one step (P2), also among processes, and an id is looked up and added in one step (P3). Whatever
 * refuses an append (a BusError) does so before anything of it is written.
 */
import { BusError } from "../../../model/errors.js";
import type { Seq } from "../../../model/event.js";
import { type Batch, pack } from "../../batch-codec.js";
import { batchesIn, type NewBatch } from "../../batch-encoder.js";
import type { BatchWriter } from "../batches/batch-writer.js";
import { type Batches, damagedError } from "../batches/batches.js";
import { EventFinder } from "../batches/event-finder.js";
import { isDense, type PartitionState, type Partitions } from "../batches/partitions.js";
import type { FoundDuplicate } from "../indexes/found-duplicates.js";
import type { IdWriter } from "../indexes/id-writer.js";
import type { KeyIndexWriter } from "../indexes/key-index-writer.js";
import type { LeaseWriter } from "../lease-writer.js";
import type { AppendAnswer, AppendRequest, Duplicate } from "../protocol.js";
import { SEQS } from "../schema.js";
import type { Connection } from "../sqlite.js";
import { KEYS_NONE, type Topics } from "../topics.js";

export interface LogWriterParts {
  readonly connection: Connection;
  readonly topics: Topics;
  readonly partitions: Partitions;
  readonly batches: Batches;
  readonly rows: BatchWriter;
  readonly ids: IdWriter;
  readonly keys: KeyIndexWriter;
  readonly leases: LeaseWriter;
}

const NONE: readonly FoundDuplicate[] = [];
const NO_DUPLICATES: readonly Duplicate[] = [];

export class LogWriter {
  readonly #parts: LogWriterParts;

  constructor(parts: LogWriterParts) {
    this.#parts = parts;
  }

  append(request: AppendRequest): AppendAnswer {
    const { topics, partitions, ids, leases, connection, keys } = this.#parts;
    if (request.fence !== undefined) leases.require(request.fence.ref, request.fence.epoch);
    const { topic, part } = topics.part(request.topic, request.partition);
    const state = partitions.get(part);
    if (state.damage !== null) {
      throw damagedError(connection.path, request.topic, request.partition, ...state.damage);
    }
    const firstSeq = state.head + 1;
    const incoming = batchesIn(request);
    const found = request.check === "none" ? NONE : ids.duplicates(incoming, request.check);
    // Before anything is written: whoever shows a duplicate may find it damaged.
    const duplicates = found.length === 0 ? NO_DUPLICATES : this.#shown(found);
    const batches = found.length === 0 ? incoming : without(incoming, found);
    this.#requireSeqs(request, state, batches);
    for (const { ids, data, count, maxTs } of batches) {
      const batch = { ids, data, firstSeq: state.head + 1 };
      // First: without the index's state it refuses, and nothing of the batch may be there then.
      if (topic.keys !== KEYS_NONE) keys.addBatch(topic.id, part, batch);
      // Entries by key lead to the first seq of a row, so keyed batches are rows from the beginning; so are those of a
      // partition with holes: see sheets.
      this.#add(state, batch, count, maxTs, topic.keys === KEYS_NONE && isDense(state));
    }
    if (batches.length > 0) partitions.save(state);
    return duplicates.length === 0 ? { firstSeq } : { firstSeq, duplicates };
  }

  /** Places beyond the last are those of the next partition. */
  #requireSeqs(
    { topic, partition }: AppendRequest,
    { head }: PartitionState,
    batches: readonly NewBatch[],
  ): void {
    const last = batches.reduce((seq, { count }) => seq + count, head);
    if (last < SEQS) return;
    throw new BusError(
      "STORE_FULL",
      `partition ${partition} of "${topic}" has come to seq ${head}, and none has more than ${SEQS - 1}; go on in another topic`,
      { retryable: false, details: { topic, partition } },
    );
  }

  #add(state: PartitionState, batch: Batch, count: number, maxTs: number, mayWait: boolean): void {
    const { part } = state;
    const lastSeq: Seq = state.head + count;
    const bytes = batch.ids.length + batch.data.length;
    const span = this.#parts.ids.add(part, batch, count);
    state.runTs = Math.max(state.runTs ?? maxTs, maxTs);
    const { firstSeq, ids, data } = batch;
    const { minIdt, maxIdt, indexed } = span;
    const { runTs } = state;
    this.#parts.rows.add(
      { part, firstSeq, lastSeq, count, bytes, maxTs, runTs, minIdt, maxIdt, indexed, ids, data },
      mayWait,
    );
    state.head = lastSeq;
    state.events += count;
    state.bytes += bytes;
  }

  /** With the first event under each id, packed alone, so that the other thread can show it. */
  #shown(found: readonly FoundDuplicate[]): readonly Duplicate[] {
    const { batches, topics } = this.#parts;
    const finder = new EventFinder(batches);
    return found.map(({ index, first }) => {
      if (typeof first === "number") return { index, sameAs: first };
      const { part, seq } = first;
      const alone = finder.alone(part, seq);
      if (alone === undefined) throw new Error(`event ${seq} of partition number ${part} vanished`);
      const { topic, partition } = topics.owner(part);
      const { ids, data } = alone;
      return { index, event: { topic, partition, seq, ids, data } };
    });
  }
}

/** The batches without the drafts that are duplicates. */
function without(batches: readonly NewBatch[], found: readonly FoundDuplicate[]): NewBatch[] {
  const unwanted = new Set(found.map(({ index }) => index));
  let index = 0;
  return batches.flatMap((batch) => pack(batch, () => !unwanted.has(index++), "dense") ?? []);
}
