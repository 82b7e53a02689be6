/**
 * Batches out of the file, checked. Nothing of a damaged batch leaves here (P14): a checksum that does not fit ends in
 * STORE_DAMAGED with the place and a way out. Used by the writing thread and by readers alike, each on a connection
 * of its own.
 */
import { BusError } from "../../model/errors.js";
import type { Seq, StoredEvent } from "../../model/event.js";
import { type Batch, BatchCursor, checksum } from "./codec.js";
import { SEQS } from "./schema.js";
import type { Connection } from "./sqlite.js";
import type { Topics } from "./topics.js";

/** `pos` of a seq; parameters are bound as REAL and must become integers before they are multiplied. */
export const posOf = (part: string, seq: string): string =>
  `(CAST(${part} AS INTEGER) * ${SEQS} + CAST(${seq} AS INTEGER))`;
const FIRST_SEQ = `pos & ${SEQS - 1}`;
const PART = "pos >> 40";

/** What a batch row says of itself, without its bytes. */
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

export type OnDamage = (part: number, firstSeq: Seq, lastSeq: Seq, error: BusError) => void;

export class Batches {
  readonly #connection: Connection;
  readonly #topics: Topics;
  readonly #onDamage: OnDamage;
  readonly #cache = new Map<string, Batch & { crc: number }>();
  #cachedBytes = 0;

  constructor(connection: Connection, topics: Topics, onDamage: OnDamage) {
    this.#connection = connection;
    this.#topics = topics;
    this.#onDamage = onDamage;
  }

  /** Heads of the batches with events above `after`, in order. */
  above(part: number, after: Seq, limit: number): BatchHead[] {
    return this.#connection
      .sql(`SELECT ${HEAD} FROM batch WHERE ${FROM_AFTER} ORDER BY pos LIMIT ?3`)
      .all<HeadColumns>(part, after, limit)
      .map(headOf);
  }

  /** The batch whose span holds `seq`, if there is one. */
  holding(part: number, seq: Seq): BatchHead | undefined {
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
    return row === undefined ? undefined : headOf(row);
  }

  /** The newest batch that starts below `seq`. */
  below(part: number, seq: Seq): BatchHead | undefined {
    const row = this.#connection
      .sql(
        `SELECT ${HEAD} FROM batch WHERE pos > ${posOf("?1", "0")} AND pos < ${posOf("?1", "?2")} ORDER BY pos DESC LIMIT 1`,
      )
      .get<HeadColumns>(part, seq);
    return row === undefined ? undefined : headOf(row);
  }

  /** The bytes of a batch, checked. */
  load(head: BatchHead): Batch {
    const name = `${head.part}:${head.firstSeq}`;
    const cached = this.#cache.get(name);
    if (cached !== undefined && cached.crc === head.crc) return cached;
    const row = this.#connection
      .sql(`SELECT ids, data FROM batch WHERE pos = ${posOf("?1", "?2")}`)
      .get<[Buffer, Buffer]>(head.part, head.firstSeq);
    const batch = {
      firstSeq: head.firstSeq,
      ids: row?.[0] as Buffer,
      data: row?.[1] as Buffer,
      crc: head.crc,
    };
    if (row === undefined || !this.#fits(head, batch)) throw this.#damaged(head);
    this.#remember(name, batch, cached);
    return batch;
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

  #fits(head: BatchHead, batch: Batch): boolean {
    return checksum(head.part, head.lastSeq, head.count, batch) === head.crc;
  }

  #damaged(head: BatchHead): BusError {
    const { part, firstSeq, lastSeq } = head;
    const { topic, partition } = this.#topics.owner(part);
    const error = damagedError(this.#connection.path, topic, partition, firstSeq, lastSeq);
    this.#onDamage(part, firstSeq, lastSeq, error);
    return error;
  }

  #remember(name: string, batch: Batch & { crc: number }, replaced: Batch | undefined): void {
    if (replaced !== undefined) this.#drop(name, replaced);
    this.#cache.set(name, batch);
    this.#cachedBytes += sizeOf(batch);
    for (const [oldest, old] of this.#cache) {
      if (this.#cachedBytes <= CACHE_BYTES || old === batch) break;
      this.#drop(oldest, old);
    }
  }

  #drop(name: string, batch: Batch): void {
    this.#cache.delete(name);
    this.#cachedBytes -= sizeOf(batch);
  }
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
