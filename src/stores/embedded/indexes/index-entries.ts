/**
 * Entries of an index: the hash of an id or of a key, and where an event, or a batch, stands. An entry with a negative seq says that the
 * one with that seq is gone: where both meet, neither is kept. They are sorted by hash, then by seq without its sign.
 *
 * In the file, numbers are little-endian and lie by column, so that they are read without a copy of each:
 *
 *   checksum u32 · count u32 · hashes f64 × count · seqs f64 × count · partition numbers u32 × count
 */
import { endianness } from "node:os";
import { crc32 } from "node:zlib";
import { BusError } from "../../../model/errors.js";
import type { IndexTables } from "./index-tables.js";

/** What filters are made for. */
export const MAX_CHUNK = 256;

const HEAD_BYTES = 8;
const ENTRY_BYTES = 20;
/** Numbers are swapped where the machine has them the other way round. */
const IS_BIG_ENDIAN = endianness() === "BE";

export interface Entries {
  readonly length: number;
  readonly hashes: Float64Array;
  readonly seqs: Float64Array;
  readonly parts: Uint32Array;
}

/** Entries one after the other, in a room that grows. */
export class EntryList implements Entries {
  hashes: Float64Array;
  seqs: Float64Array;
  parts: Uint32Array;
  length = 0;

  constructor(room: number) {
    this.hashes = new Float64Array(room);
    this.seqs = new Float64Array(room);
    this.parts = new Uint32Array(room);
  }

  push(hash: number, part: number, seq: number): void {
    if (this.length === this.hashes.length) this.#grow();
    this.set(this.length++, hash, part, seq);
  }

  set(at: number, hash: number, part: number, seq: number): void {
    this.hashes[at] = hash;
    this.seqs[at] = seq;
    this.parts[at] = part;
  }

  #grow(): void {
    const larger = new EntryList(Math.max(16, this.length * 2));
    larger.hashes.set(this.hashes);
    larger.seqs.set(this.seqs);
    larger.parts.set(this.parts);
    this.hashes = larger.hashes;
    this.seqs = larger.seqs;
    this.parts = larger.parts;
  }
}

export function encodeEntries({ hashes, seqs, parts }: Entries, from: number, to: number): Buffer {
  const count = to - from;
  const bytes = Buffer.alloc(HEAD_BYTES + count * ENTRY_BYTES);
  const columns = columnsOf(bytes, count);
  columns.hashes.set(hashes.subarray(from, to));
  columns.seqs.set(seqs.subarray(from, to));
  columns.parts.set(parts.subarray(from, to));
  if (IS_BIG_ENDIAN) swap(bytes, count);
  bytes.writeUInt32LE(count, 4);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

/** Of which index they are, and where they stand: for the error, if they are damaged. */
export function decodeEntries(stored: Buffer, of: IndexTables, where: string): Entries {
  // A row whose shape is damaged may hold anything.
  const count = Buffer.isBuffer(stored) && stored.length >= HEAD_BYTES ? stored.readUInt32LE(4) : -1;
  if (
    count < 0 ||
    stored.length !== HEAD_BYTES + count * ENTRY_BYTES ||
    stored.readUInt32LE(0) !== crc32(stored.subarray(4))
  )
    return damagedEntries(of, where);
  // What comes from the engine may begin anywhere; columns of numbers may not.
  const bytes = Buffer.from(new Uint8Array(stored).buffer);
  if (IS_BIG_ENDIAN) swap(bytes, count);
  return columnsOf(bytes, count);
}

export function damagedEntries({ title }: IndexTables, where: string): never {
  throw new BusError("STORE_DAMAGED", `the index of ${title} is damaged in ${where}; restore a backup`);
}

/** Whether the entry at `at` stands behind one with this hash and seq. */
export function isBehind({ hashes, seqs }: Entries, at: number, hash: number, seq: number): boolean {
  const there = hashes[at] as number;
  return there > hash || (there === hash && Math.abs(seqs[at] as number) > seq);
}

/** Where the first entry stands that is behind all with this hash and seq. */
export function firstBehind(entries: Entries, hash: number, seq: number): number {
  let [from, to] = [0, entries.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (isBehind(entries, middle, hash, seq)) to = middle;
    else from = middle + 1;
  }
  return from;
}

function columnsOf({ buffer, byteOffset }: Buffer, length: number): Entries {
  const hashesAt = byteOffset + HEAD_BYTES;
  const seqsAt = hashesAt + length * 8;
  return {
    length,
    hashes: new Float64Array(buffer, hashesAt, length),
    seqs: new Float64Array(buffer, seqsAt, length),
    parts: new Uint32Array(buffer, seqsAt + length * 8, length),
  };
}

function swap(bytes: Buffer, count: number): void {
  bytes.subarray(HEAD_BYTES, HEAD_BYTES + count * 16).swap64();
  bytes.subarray(HEAD_BYTES + count * 16).swap32();
}
