/**
 * Where UUIDv7 stand, many at once. Those of a request are mostly neighbours in time, and so is what the file has of that time:
 * one look at each way of keeping them serves all, where a look for each would cost more than to store the event.
 *
 * If the file has much more of their time than there are ids, these are far apart: each half is looked for by itself.
 */
import { BatchCursor } from "../../batch-codec.js";
import { ID_BYTES, readUuid, uuidIndexKey, uuidTimeMs } from "../../id-key.js";
import { type Batches, type BatchHead, FIRST_SEQ, PART, posOf } from "../batches/batches.js";
import { EventFinder } from "../batches/event-finder.js";
import { SPAN_MS } from "../batches/id-span.js";
import type { Connection } from "../sqlite.js";
import type { Place } from "./id-index.js";

/** A UUIDv7 that is looked for. */
export interface TimedId {
  /** Its place is told under this. */
  readonly index: number;
  readonly ids: Buffer;
  readonly at: number;
  readonly timeMs: number;
}

/** Rows of their time, for each id and besides, beyond which ids are far apart. */
const ROWS_PER_ID = 4;
const ROWS_BESIDES = 64;

/** The places of those that are in the log, by index. */
export function locateTimed(
  connection: Connection,
  batches: Batches,
  wanted: readonly TimedId[],
): Map<number, Place> {
  const places = new Map<number, Place>();
  if (wanted.length > 0) new TimedLookup(connection, batches, places).find([...wanted].sort(byBytes));
  return places;
}

/** The bytes of a UUIDv7 begin with its time. */
function byBytes(a: TimedId, b: TimedId): number {
  return a.timeMs - b.timeMs || a.ids.compare(b.ids, b.at, b.at + ID_BYTES, a.at, a.at + ID_BYTES);
}

/** Ids in order, to be met by what the file has of their time. */
class Stretch {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly #wanted: readonly TimedId[];
  readonly #byText: ReadonlyMap<string, TimedId>;

  constructor(wanted: readonly TimedId[]) {
    this.#wanted = wanted;
    this.firstMs = this.first.timeMs;
    this.lastMs = this.last.timeMs;
    this.#byText = new Map(wanted.map((id) => [textAt(id.ids, id.at), id]));
  }

  get first(): TimedId {
    return this.#wanted[0] as TimedId;
  }

  get last(): TimedId {
    return this.#wanted.at(-1) as TimedId;
  }

  /** Whether one of them has a time in a span. */
  meets(minMs: number, maxMs: number): boolean {
    let [low, high] = [0, this.#wanted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#wanted[middle] as TimedId).timeMs < minMs) low = middle + 1;
      else high = middle;
    }
    const next = this.#wanted[low];
    return next !== undefined && next.timeMs <= maxMs;
  }

  /** The one whose bytes stand at a place. */
  at(ids: Buffer, at: number): TimedId | undefined {
    const timeMs = uuidTimeMs(ids, at);
    return timeMs < this.firstMs || timeMs > this.lastMs ? undefined : this.#byText.get(textAt(ids, at));
  }
}

class TimedLookup {
  readonly #connection: Connection;
  readonly #batches: Batches;
  readonly #finder: EventFinder;
  readonly #places: Map<number, Place>;

  constructor(connection: Connection, batches: Batches, places: Map<number, Place>) {
    this.#connection = connection;
    this.#batches = batches;
    this.#finder = new EventFinder(batches);
    this.#places = places;
  }

  /** `wanted`: in the order of their bytes. */
  find(wanted: readonly TimedId[]): void {
    const stretch = new Stretch(wanted);
    const mayFind = wanted.length === 1 ? -1 : wanted.length * ROWS_PER_ID + ROWS_BESIDES;
    const isDone =
      this.#inRows(stretch, mayFind) &&
      this.#byEntry("filed_id", stretch, mayFind) &&
      this.#byEntry("id_index", stretch, mayFind);
    if (isDone) this.#inSheets(stretch);
    else {
      const middle = wanted.length >>> 1;
      this.find(wanted.slice(0, middle));
      this.find(wanted.slice(middle));
    }
  }

  /** In rows that note a span of times. False, as below, if there are too many to look at. */
  #inRows(stretch: Stretch, mayFind: number): boolean {
    const rows = this.#connection
      .sql(
        `SELECT ${PART}, ${FIRST_SEQ}, min_idt, max_idt FROM batch
          WHERE min_idt >= ? AND min_idt <= ? AND max_idt >= ? LIMIT ?`,
      )
      .all<[part: number, firstSeq: number, minIdt: number, maxIdt: number]>(
        stretch.firstMs - SPAN_MS,
        stretch.lastMs,
        stretch.firstMs,
        mayFind,
      );
    if (rows.length === mayFind) return false;
    for (const [part, firstSeq, minIdt, maxIdt] of rows) {
      if (!stretch.meets(minIdt, maxIdt)) continue;
      const row = this.#connection
        .sql(`SELECT ids FROM batch WHERE pos = ${posOf("?1", "?2")}`)
        .get<[Buffer]>(part, firstSeq);
      // A row whose shape is damaged may hold anything.
      if (Buffer.isBuffer(row?.[0]))
        this.#among(row[0], stretch, () => this.#batches.holding(part, firstSeq));
    }
    return true;
  }

  #inSheets(stretch: Stretch): void {
    const { sheets } = this.#batches;
    for (const piece of sheets.spanning(stretch.firstMs, stretch.lastMs)) {
      const ids = sheets.open(piece.sheet)?.data.subarray(piece.idsFrom, piece.idsTo);
      if (ids !== undefined) this.#among(ids, stretch, () => piece);
    }
  }

  /** In a batch, which is loaded if one of them is among its ids. */
  #among(ids: Buffer, stretch: Stretch, head: () => BatchHead | undefined): void {
    const found = new Map<number, TimedId>();
    for (let at = 0; at < ids.length; at += ID_BYTES) {
      const id = stretch.at(ids, at);
      if (id !== undefined) found.set(at, id);
    }
    const there = found.size === 0 ? undefined : head();
    if (there === undefined) return;
    const cursor = new BatchCursor(this.#batches.load(there));
    while (cursor.next()) this.#note(found.get(cursor.uuidAt), { part: there.part, seq: cursor.seq });
  }

  /** In an index. Entries may lead nowhere, or to another event. */
  #byEntry(index: "filed_id" | "id_index", stretch: Stretch, mayFind: number): boolean {
    const { first, last } = stretch;
    const rows = this.#connection
      .sql(`SELECT id, part, seq FROM ${index} WHERE id >= ? AND id <= ? LIMIT ?`)
      .all<[key: Buffer, part: number, seq: number]>(
        uuidIndexKey(first.ids, first.at),
        uuidIndexKey(last.ids, last.at),
        mayFind,
      );
    if (rows.length === mayFind) return false;
    for (const [key, part, seq] of rows) {
      const id = stretch.at(key, 1);
      if (id === undefined || this.#places.has(id.index)) continue;
      if (this.#finder.at(part, seq)?.id === readUuid(id.ids, id.at)) this.#note(id, { part, seq });
    }
    return true;
  }

  #note(id: TimedId | undefined, place: Place): void {
    if (id !== undefined && !this.#places.has(id.index)) this.#places.set(id.index, place);
  }
}

/** A string of the bytes of a UUID, to be looked up by. */
function textAt(ids: Buffer, at: number): string {
  return ids.toString("latin1", at, at + ID_BYTES);
}
