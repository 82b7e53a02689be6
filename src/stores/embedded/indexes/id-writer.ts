/**
 * Ids, in the writing thread: which of those that come in are in the log already (P3), and how those that are added will be
 * found again. See id-lookup for the two ways an id is kept.
 */

import { type Batch, BatchCursor } from "../../batch-codec.js";
import { firstIndexKeyAt, ID_BYTES, uuidTimeMs } from "../../id-key.js";
import type { BatchWriter } from "../batches/batch-writer.js";
import type { Batches } from "../batches/batches.js";
import { EventFinder } from "../batches/event-finder.js";
import { isInSpan, isSpanned, isUuid7, MAX_CLOCK_GAP_MS, SPAN_MS } from "../batches/id-span.js";
import type { Partitions } from "../batches/partitions.js";
import type { Connection } from "../sqlite.js";
import { type FoundDuplicate, idsBefore, type SentTwice, withPlaces } from "./found-duplicates.js";
import { IdIndex, type Place } from "./id-index.js";
import { locate, placeOf } from "./id-lookup.js";
import type { IndexSizes } from "./index-merger.js";
import { IndexWriter } from "./index-writer.js";
import { NewIds } from "./new-ids.js";
import { RecentIds } from "./recent-ids.js";
import { locateTimed, type TimedId } from "./timed-lookup.js";

interface HashedId {
  /** Of the draft, in its request. */
  readonly index: number;
  readonly id: string;
  readonly hash: number;
}

/** Those to look for, by how they are kept. */
interface AskedIds {
  readonly timed: TimedId[];
  readonly hashed: HashedId[];
}

export interface IdSpan {
  readonly minIdt: number | null;
  readonly maxIdt: number | null;
  /** Ids that got an entry in the index. */
  readonly indexed: number;
}

export interface IdWriterParts {
  readonly connection: Connection;
  readonly partitions: Partitions;
  readonly batches: Batches;
  readonly rows: BatchWriter;
  readonly now: () => number;
  readonly sizes: IndexSizes;
}

const NO_SPAN: Pick<IdSpan, "minIdt" | "maxIdt"> = { minIdt: null, maxIdt: null };

/** More ids out of order than this, and the memory of recent ids is not used at all. */
const MAX_STRAYS = 10_000;

export class IdWriter {
  readonly #connection: Connection;
  readonly #partitions: Partitions;
  readonly #batches: Batches;
  readonly #rows: BatchWriter;
  readonly #now: () => number;
  /** Entries of UUIDv7 that stand out of order, yet to be written. */
  readonly #strays = new NewIds();
  /** Of all others. */
  readonly #index: IndexWriter<IdIndex>;
  readonly #recent = new RecentIds((sinceMs) => this.#recall(sinceMs));

  constructor({ connection, partitions, batches, rows, now, sizes }: IdWriterParts) {
    this.#connection = connection;
    this.#partitions = partitions;
    this.#index = new IndexWriter(connection, new IdIndex(connection), {
      isGone: (part, seq) => seq < partitions.get(part).low,
      sizes,
    });
    this.#batches = batches;
    this.#rows = rows;
    this.#now = now;
  }

  /** Whether the index is to be put in order, which `slice` does, a slice at a time. */
  get isDue(): boolean {
    return this.#index.isDue;
  }

  slice(): void {
    this.#index.slice();
  }

  /** A transaction begins. */
  begin(): void {
    this.#index.begin();
  }

  /** Writes what was gathered. */
  flush(): void {
    this.#strays.flush(this.#connection);
    this.#index.flush();
  }

  /** Something was rolled back. */
  forget(): void {
    this.#strays.forget();
    this.#index.forget();
  }

  /** Called at the start, and when another process has written: what is remembered is not all there is. */
  restart(): void {
    const sinceMs = this.#newestSpannedMs() + 1;
    this.#recent.restart(sinceMs);
    this.#recall(sinceMs);
    this.#index.refresh();
  }

  /** No UUIDv7 of the log has a later time. */
  newestMs(): number {
    const [stray] = this.#connection
      .sql("SELECT max(id) FROM id_index WHERE id >= x'07' AND id < x'08'")
      .get<[Buffer | null]>() ?? [null];
    return Math.max(this.#newestSpannedMs(), stray === null ? 0 : uuidTimeMs(stray, 1));
  }

  /** As `newestMs`, of those without an entry in the index of ids. */
  #newestSpannedMs(): number {
    const [newest, filed] = this.#connection
      .sql(
        "SELECT (SELECT max(min_idt) FROM batch WHERE min_idt IS NOT NULL), (SELECT max(id) FROM filed_id WHERE id < x'08')",
      )
      .get<[newest: number | null, filed: Buffer | null]>() ?? [null, null];
    this.#batches.sheets.refresh();
    const filedMs = filed === null ? 0 : uuidTimeMs(filed, 1);
    return Math.max(newest ?? 0, filedMs, this.#batches.sheets.newestIdMs) + SPAN_MS;
  }

  /** Drafts, by index over all batches, whose id is in the log or came earlier in the same request. */
  duplicates(batches: readonly Batch[], check: "all" | readonly number[]): readonly FoundDuplicate[] {
    const wanted = check === "all" ? undefined : new Set(check);
    const again: SentTwice[] = [];
    const asked: AskedIds = { timed: [], hashed: [] };
    let known: Map<string, number> | undefined;
    let index = -1;
    for (const batch of batches) {
      const cursor = new BatchCursor(batch);
      while (cursor.next()) {
        index++;
        if (known === undefined && this.#isNew(batch, cursor)) continue;
        known ??= idsBefore(batches, index);
        const { id } = cursor;
        const first = known.get(id);
        if (first !== undefined) {
          again.push({ index, first });
          continue;
        }
        known.set(id, index);
        if (wanted?.has(index) !== false) this.#ask(asked, index, batch, cursor);
      }
    }
    const isAsked = asked.timed.length > 0 || asked.hashed.length > 0;
    return isAsked ? withPlaces(again, this.#locateAll(asked)) : again;
  }

  /** Takes note of a batch's ids, in whichever way each is kept. */
  add(part: number, batch: Batch, count: number): IdSpan {
    const { ids } = batch;
    const span = ids.length === ID_BYTES ? this.#spanOfOne(ids) : this.#spanOf(batch);
    let spanned = 0;
    for (let at = 0; at < ids.length; at += ID_BYTES) {
      const timeMs = uuidTimeMs(ids, at);
      if (timeMs < 0) continue;
      const inSpan = isInSpan(span, timeMs);
      if (inSpan) spanned++;
      this.#recent.add(ids, at, inSpan ? timeMs : 0);
    }
    if (spanned < count) this.#addEntries(part, batch, span);
    // Member by member: V8 gives an object that is spread and added to a hidden class of its own.
    const { minIdt, maxIdt } = span;
    return { minIdt, maxIdt, indexed: count - spanned };
  }

  /** Removes the index entry of the event that the cursor stands on, if it has one. */
  remove(part: number, batch: Batch, span: Pick<IdSpan, "minIdt" | "maxIdt">, cursor: BatchCursor): boolean {
    if (isSpanned(batch, span, cursor)) return false;
    this.#strays.flush(this.#connection);
    const key = cursor.indexKey;
    const drop = (index: string): boolean =>
      this.#connection
        .sql(`DELETE FROM ${index} WHERE id = ? AND part = ? AND seq = ?`)
        .run(key, part, cursor.seq) > 0;
    const is7 = isUuid7(batch, cursor);
    if ((is7 || this.#index.index.hasOlder) && drop("id_index")) return true;
    if (is7) drop("filed_id");
    else this.#removeEntry(part, batch, cursor);
    return true;
  }

  /** One below the low of its partition leads nowhere without being told. */
  #removeEntry(part: number, batch: Batch, cursor: BatchCursor): void {
    const { seq } = cursor;
    if (seq < this.#partitions.get(part).low) this.#index.countDead(1);
    else this.#index.remove(this.#index.index.hashOf(batch, cursor), part, seq);
  }

  #isNew(batch: Batch, cursor: BatchCursor): boolean {
    const at = cursor.uuidAt;
    const timeMs = at < 0 ? -1 : uuidTimeMs(batch.ids, at);
    if (timeMs < 0 || !this.#recent.covers(timeMs) || this.#recent.mayHave(batch.ids, at)) return false;
    // So that the same id later in this request is noticed. Its time is noted when it is really added.
    this.#recent.add(batch.ids, at, 0);
    return true;
  }

  #ask({ timed, hashed }: AskedIds, index: number, batch: Batch, cursor: BatchCursor): void {
    const { ids } = batch;
    const at = cursor.uuidAt;
    const timeMs = at < 0 ? -1 : uuidTimeMs(ids, at);
    if (timeMs >= 0) timed.push({ index, ids, at, timeMs });
    else hashed.push({ index, id: cursor.id, hash: this.#index.index.hashOf(batch, cursor) });
  }

  /** The places of those that are in the log, by index. */
  #locateAll({ timed, hashed }: AskedIds): ReadonlyMap<number, Place> {
    // They may have come with an earlier request of the same group.
    this.#rows.flush();
    this.flush();
    const sources = { connection: this.#connection, batches: this.#batches, index: this.#index.index };
    const places = locateTimed(this.#connection, this.#batches, timed);
    const finder = new EventFinder(this.#batches);
    const { hasOlder } = sources.index;
    for (const { index, id, hash } of hasOlder ? hashed : this.#possible(hashed)) {
      const place = hasOlder ? locate(sources, id) : placeOf(finder, sources.index.places(hash), id);
      if (place !== undefined) places.set(index, place);
    }
    return places;
  }

  /** Those that may be in the index: nearly always none. */
  #possible(asked: readonly HashedId[]): readonly HashedId[] {
    if (asked.length === 0) return asked;
    const marks = this.#index.index.marks(Float64Array.from(asked, ({ hash }) => hash));
    return asked.filter((_, i) => marks[i] !== 0);
  }

  /** As `#spanOf`, for a batch with one UUID: among a thousand partitions nearly all are such. */
  #spanOfOne(ids: Buffer): Pick<IdSpan, "minIdt" | "maxIdt"> {
    const timeMs = uuidTimeMs(ids, 0);
    const isNear = timeMs >= 0 && Math.abs(timeMs - this.#now()) <= MAX_CLOCK_GAP_MS;
    return isNear ? { minIdt: timeMs, maxIdt: timeMs } : NO_SPAN;
  }

  #spanOf({ ids }: Batch): Pick<IdSpan, "minIdt" | "maxIdt"> {
    const nowMs = this.#now();
    let maxIdt = -1;
    for (let at = 0; at < ids.length; at += ID_BYTES) {
      const timeMs = uuidTimeMs(ids, at);
      if (timeMs > maxIdt && Math.abs(timeMs - nowMs) <= MAX_CLOCK_GAP_MS) maxIdt = timeMs;
    }
    if (maxIdt < 0) return NO_SPAN;
    let minIdt = maxIdt;
    for (let at = 0; at < ids.length; at += ID_BYTES) {
      const timeMs = uuidTimeMs(ids, at);
      if (timeMs >= maxIdt - SPAN_MS && timeMs < minIdt) minIdt = timeMs;
    }
    return { minIdt, maxIdt };
  }

  #addEntries(part: number, batch: Batch, span: Pick<IdSpan, "minIdt" | "maxIdt">): void {
    const cursor = new BatchCursor(batch);
    while (cursor.next()) {
      if (isSpanned(batch, span, cursor)) continue;
      if (isUuid7(batch, cursor)) this.#strays.add(part, batch, cursor);
      else this.#index.add(this.#index.index.hashOf(batch, cursor), part, cursor.seq);
    }
  }

  /** UUIDv7 that have index entries may be newer than `sinceMs` too: the memory of recent ids must hold them. */
  #recall(sinceMs: number): void {
    this.flush();
    const strays = this.#connection
      .sql("SELECT id FROM id_index WHERE id >= ? AND id < x'08' LIMIT ?")
      .all<[Buffer]>(firstIndexKeyAt(sinceMs), MAX_STRAYS + 1);
    if (strays.length > MAX_STRAYS) this.#recent.restart(Number.POSITIVE_INFINITY);
    else for (const [key] of strays) this.#recent.add(key, 1, 0);
  }
}
