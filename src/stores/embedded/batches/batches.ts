/**
 * Batches out of the file, checked, whether they are rows or still stand in sheets. Nothing of a damaged batch leaves here
 * (P14): a checksum that does not fit ends in STORE_DAMAGED with the place and a way out. Used by the writing thread and
 * by readers alike, each on a connection of its own.
 */
import { BusError } from "../../../model/errors.js";
import type { Seq, StoredEvent } from "../../../model/event.js";
import { type Batch, BatchCursor, checksum } from "../../batch-codec.js";
import { SEQS } from "../schema.js";
import type { Connection } from "../sqlite.js";
import type { Topics } from "../topics.js";
import type { Piece } from "./sheet-codec.js";
import { Sheets } from "./sheets.js";

/** `pos` of a seq; parameters are bound as REAL and must become integers before they are multiplied. */
export const posOf = (part: string, seq: string): string =>
  `(CAST(${part} AS INTEGER) * ${SEQS} + CAST(${seq} AS INTEGER))`;
/** The partition number and the seq in a `pos`. */
export const partIn = (pos: string): string => `${pos} >> 40`;
export const seqIn = (pos: string): string => `${pos} & ${SEQS - 1}`;
export const FIRST_SEQ = seqIn("pos");
export const PART = partIn("pos");

/** What a batch says of itself, without its bytes. */
export interface BatchHead {
  readonly part: number;
  readonly firstSeq: Seq;
  readonly lastSeq: Seq;
  readonly count: number;
  readonly bytes: number;
  readonly maxTs: number;
  readonly runTs: number;
  readonly minIdt: number | null;
  readonly maxIdt: number | null;
  readonly indexed: number;
  readonly crc: number;
}

/** A batch on its way into the file. */
export interface BatchToWrite extends Omit<BatchHead, "crc">, Batch {}

type HeadColumns = [
  part: number,
  firstSeq: number,
  lastSeq: number,
  count: number,
  bytes: number,
  maxTs: number,
  runTs: number,
  minIdt: number | null,
  maxIdt: number | null,
  indexed: number,
  crc: number,
];
const HEAD = `${PART}, ${FIRST_SEQ}, last_seq, count, bytes, max_ts, run_ts, min_idt, max_idt, indexed, crc`;

/** Starts at the batch that holds the seq after ?2, or at the first one above it. */
const FROM_AFTER = `pos >= coalesce(
    (SELECT pos FROM batch WHERE pos > ${posOf("?1", "0")} AND pos <= ${posOf("?1", "?2 + 1")} ORDER BY pos DESC LIMIT 1),
    ${posOf("?1", "0")})
  AND pos < ${posOf("?1 + 1", "0")} AND last_seq > ?2`;

/** Raw bytes of batches kept in memory, so that pages that end inside a batch do not load it again. */
const CACHE_BYTES = 4 * 1_048_576;

type BytesRow = [firstSeq: Seq, ids: Buffer, data: Buffer];
type CachedBatch = Batch & { readonly crc: number };

/** What the batches of a partition come to. */
export interface Totals {
  readonly head: Seq;
  readonly events: number;
  readonly bytes: number;
  /** Batches that end before they begin: whoever goes through them by their ends does not meet those. */
  readonly reversed: number;
}

export type OnDamage = (part: number, firstSeq: Seq, lastSeq: Seq, error: BusError) => void;

export class Batches {
  readonly sheets: Sheets;
  readonly #connection: Connection;
  readonly #topics: Topics;
  readonly #onDamage: OnDamage;
  readonly #cache = new Map<string, CachedBatch>();
  #cachedBytes = 0;

  constructor(connection: Connection, topics: Topics, onDamage: OnDamage) {
    this.#connection = connection;
    this.#topics = topics;
    this.#onDamage = onDamage;
    this.sheets = new Sheets(connection);
  }

  /** Goes through all of them. */
  totals(part: number): Totals {
    let [head, events, bytes, reversed] = this.#connection
      .sql(
        `SELECT coalesce(max(last_seq), 0), coalesce(sum(count), 0), coalesce(sum(bytes), 0),
           coalesce(sum(last_seq < (${FIRST_SEQ})), 0) FROM batch
         WHERE pos > ${posOf("?1", "0")} AND pos < ${posOf("?1 + 1", "0")}`,
      )
      .get<[head: number, events: number, bytes: number, reversed: number]>(part) ?? [0, 0, 0, 0];
    for (const piece of this.sheets.of(part)) {
      head = Math.max(head, piece.lastSeq);
      events += piece.count;
      bytes += piece.bytes;
    }
    return { head, events, bytes, reversed };
  }

  /** Heads of the batches with events above `after`, in order. */
  above(part: number, after: Seq, limit: number): BatchHead[] {
    const rows = this.#connection
      .sql(`SELECT ${HEAD} FROM batch WHERE ${FROM_AFTER} ORDER BY pos LIMIT ?3`)
      .all<HeadColumns>(part, after, limit)
      .map(headOf);
    const pieces = this.sheets.of(part).filter(({ lastSeq }) => lastSeq > after);
    return pieces.length === 0 ? rows : [...rows, ...pieces].sort(bySeq).slice(0, limit);
  }

  /** The batch whose span holds `seq`, if there is one. */
  holding(part: number, seq: Seq): BatchHead | undefined {
    const piece = this.sheets.of(part).find(({ firstSeq, lastSeq }) => firstSeq <= seq && lastSeq >= seq);
    if (piece !== undefined) return piece;
    const row = this.#connection
      .sql(
        `SELECT ${HEAD} FROM batch WHERE pos > ${posOf("?1", "0")} AND pos <= ${posOf("?1", "?2")} ORDER BY pos DESC LIMIT 1`,
      )
      .get<HeadColumns>(part, seq);
    const head = row === undefined ? undefined : headOf(row);
    return head !== undefined && head.lastSeq >= seq ? head : undefined;
  }

  /** The first batch that starts at `seq` or above it. */
  startingAt(part: number, seq: Seq): BatchHead | undefined {
    const row = this.#connection
      .sql(
        `SELECT ${HEAD} FROM batch WHERE pos >= ${posOf("?1", "?2")} AND pos < ${posOf("?1 + 1", "0")} ORDER BY pos LIMIT 1`,
      )
      .get<HeadColumns>(part, seq);
    const piece = this.sheets.of(part).find(({ firstSeq }) => firstSeq >= seq);
    return firstOf(row === undefined ? undefined : headOf(row), piece);
  }

  /** The newest batch that starts below `seq`. */
  below(part: number, seq: Seq): BatchHead | undefined {
    const row = this.#connection
      .sql(
        `SELECT ${HEAD} FROM batch WHERE pos > ${posOf("?1", "0")} AND pos < ${posOf("?1", "?2")} ORDER BY pos DESC LIMIT 1`,
      )
      .get<HeadColumns>(part, seq);
    const piece = this.sheets.of(part).findLast(({ firstSeq }) => firstSeq < seq);
    return lastOf(row === undefined ? undefined : headOf(row), piece);
  }

  /** The bytes of a batch, checked. */
  load(head: BatchHead): Batch {
    if (isPiece(head)) {
      const batch = this.sheets.load(head);
      if (batch === undefined) throw this.#damaged(head);
      return batch;
    }
    const name = nameOf(head);
    const cached = this.#cache.get(name);
    if (cached !== undefined && cached.crc === head.crc) return cached;
    const [row] = this.#bytesBetween(head, head);
    if (row === undefined || !this.#fits(head, row)) throw this.#damaged(head);
    return this.#keep(head, row);
  }

  /** Loads the bytes of consecutive batches with one query. Damage shows when the batch is asked for. */
  prefetch(heads: readonly BatchHead[]): void {
    const missing = heads.filter((head) => !isPiece(head) && this.#cache.get(nameOf(head))?.crc !== head.crc);
    const bytes = missing.reduce((sum, head) => sum + head.bytes, 0);
    const [first, last] = [missing[0], missing.at(-1)];
    if (first === undefined || last === undefined || first === last || bytes > CACHE_BYTES / 2) return;
    const byFirstSeq = new Map(missing.map((head) => [head.firstSeq, head]));
    for (const row of this.#bytesBetween(first, last)) {
      const head = byFirstSeq.get(row[0]);
      if (head !== undefined && this.#fits(head, row)) this.#keep(head, row);
    }
  }

  /** The event at a place, or undefined if it was removed. */
  event(part: number, seq: Seq): StoredEvent | undefined {
    const head = this.holding(part, seq);
    if (head === undefined) return undefined;
    const cursor = new BatchCursor(this.load(head));
    while (cursor.next()) if (cursor.seq === seq) return this.present(head, cursor);
    return undefined;
  }

  /** The event that a cursor stands on. */
  present(head: BatchHead, cursor: BatchCursor): StoredEvent {
    const { topic, partition } = this.#topics.owner(head.part);
    return cursor.event(topic, partition);
  }

  forget(): void {
    this.#cache.clear();
    this.#cachedBytes = 0;
  }

  #bytesBetween(first: BatchHead, last: BatchHead): BytesRow[] {
    return this.#connection
      .sql(
        `SELECT ${FIRST_SEQ}, ids, data FROM batch WHERE pos >= ${posOf("?1", "?2")} AND pos <= ${posOf("?1", "?3")} ORDER BY pos`,
      )
      .all<BytesRow>(first.part, first.firstSeq, last.firstSeq);
  }

  #fits({ part, lastSeq, count, crc }: BatchHead, [firstSeq, ids, data]: BytesRow): boolean {
    // A row whose shape is damaged may hold anything.
    if (!Buffer.isBuffer(ids) || !Buffer.isBuffer(data)) return false;
    return checksum(part, lastSeq, count, { firstSeq, ids, data }) === crc;
  }

  /** Says that events which must be there cannot be found. */
  missing(part: number, firstSeq: Seq, lastSeq: Seq): BusError {
    return this.#damaged({ part, firstSeq, lastSeq });
  }

  #damaged({ part, firstSeq, lastSeq }: Pick<BatchHead, "part" | "firstSeq" | "lastSeq">): BusError {
    const { topic, partition } = this.#topics.owner(part);
    const error = damagedError(this.#connection.path, topic, partition, firstSeq, lastSeq);
    this.#onDamage(part, firstSeq, lastSeq, error);
    return error;
  }

  #keep(head: BatchHead, [firstSeq, ids, data]: BytesRow): Batch {
    const name = nameOf(head);
    const replaced = this.#cache.get(name);
    if (replaced !== undefined) this.#drop(name, replaced);
    const batch = { firstSeq, ids, data, crc: head.crc };
    this.#cache.set(name, batch);
    this.#cachedBytes += sizeOf(batch);
    for (const [oldest, old] of this.#cache) {
      if (this.#cachedBytes <= CACHE_BYTES || old === batch) break;
      this.#drop(oldest, old);
    }
    return batch;
  }

  #drop(name: string, batch: Batch): void {
    this.#cache.delete(name);
    this.#cachedBytes -= sizeOf(batch);
  }
}

/** It stands in a sheet and is no row yet. */
export function isPiece(head: BatchHead): head is Piece {
  return "sheet" in head;
}

function bySeq(a: BatchHead, b: BatchHead): number {
  return a.firstSeq - b.firstSeq;
}

function firstOf(a: BatchHead | undefined, b: BatchHead | undefined): BatchHead | undefined {
  return a === undefined || (b !== undefined && b.firstSeq < a.firstSeq) ? b : a;
}

function lastOf(a: BatchHead | undefined, b: BatchHead | undefined): BatchHead | undefined {
  return a === undefined || (b !== undefined && b.firstSeq > a.firstSeq) ? b : a;
}

function nameOf({ part, firstSeq }: BatchHead): string {
  return `${part}:${firstSeq}`;
}

export function damagedError(path: string, topic: string, partition: number, from: Seq, to: Seq): BusError {
  return new BusError(
    "STORE_DAMAGED",
    `${path}: events ${from} to ${to} of partition ${partition} of "${topic}" are damaged; restore the file from a backup, or give them up by trimming the partition through ${to}`,
    { details: { path, topic, partition, firstSeq: from, lastSeq: to } },
  );
}

function sizeOf(batch: Batch): number {
  return batch.data.length + batch.ids.length + 100;
}

function headOf(c: HeadColumns): BatchHead {
  return {
    part: c[0],
    firstSeq: c[1],
    lastSeq: c[2],
    count: c[3],
    bytes: c[4],
    maxTs: c[5],
    runTs: c[6],
    minIdt: c[7],
    maxIdt: c[8],
    indexed: c[9],
    crc: c[10],
  };
}
