/**
 * Entries of filed ids on their way into the file, in the writing thread. Their keys lie one behind the other in a buffer, and
 * their places in one text: a value that is handed to the engine costs as much as the entry that is made of it.
 */
import { INDEX_KEY_BYTES, writeUuidIndexKey } from "../id-key.js";
import { partIn, seqIn } from "./batches.js";
import { SEQS } from "./schema.js";
import type { Connection } from "./sqlite.js";

/** Entries made by one statement. */
const TOGETHER = 1_024;
const FIRST_ROOM = 1_024;

/** The place of an id is its partition's number and its seq, in one number as in `pos` of a batch. */
const INSERT = `INSERT OR REPLACE INTO filed_id (id, part, seq)
  SELECT substr(?1, key * ${INDEX_KEY_BYTES} + 1, ${INDEX_KEY_BYTES}), ${partIn("value")}, ${seqIn("value")} FROM json_each(?2)`;

export class FiledIds {
  #keys = Buffer.allocUnsafeSlow(FIRST_ROOM * INDEX_KEY_BYTES);
  #places: string[] = [];
  #isSorted = true;

  /** Takes note of the UUIDv7 at `at`. */
  add(ids: Uint8Array, at: number, part: number, seq: number): void {
    const start = this.#places.length * INDEX_KEY_BYTES;
    if (start === this.#keys.length) this.#keys = Buffer.concat([this.#keys], start * 2);
    writeUuidIndexKey(ids, at, this.#keys, start);
    this.#isSorted &&= start === 0 || compareKeys(this.#keys, start - INDEX_KEY_BYTES, start) < 0;
    this.#places.push(placeOf(part, seq));
  }

  /** Writes their entries, in order, so that neighbours share a page. */
  flush(connection: Connection): void {
    const count = this.#places.length;
    if (count === 0) return;
    if (!this.#isSorted) this.#sort();
    const insert = connection.sql(INSERT);
    for (let from = 0; from < count; from += TOGETHER) {
      const to = Math.min(from + TOGETHER, count);
      const keys = this.#keys.subarray(from * INDEX_KEY_BYTES, to * INDEX_KEY_BYTES);
      insert.run(keys, `[${this.#places.slice(from, to).join()}]`);
    }
    this.forget();
  }

  /** What was noted is not to be written. */
  forget(): void {
    this.#places = [];
    this.#isSorted = true;
  }

  #sort(): void {
    const { length } = this.#places;
    const [keys, places] = [this.#keys, this.#places];
    const order = Array.from({ length }, (_, i) => i);
    order.sort((a, b) => compareKeys(keys, a * INDEX_KEY_BYTES, b * INDEX_KEY_BYTES));
    this.#keys = Buffer.allocUnsafeSlow(keys.length);
    order.forEach((from, to) => {
      for (let i = 0; i < INDEX_KEY_BYTES; i++)
        this.#keys[to * INDEX_KEY_BYTES + i] = keys[from * INDEX_KEY_BYTES + i] as number;
    });
    this.#places = order.map((from) => places[from] as string);
    this.#isSorted = true;
  }
}

function compareKeys(keys: Uint8Array, a: number, b: number): number {
  for (let i = 0; i < INDEX_KEY_BYTES; i++) {
    const difference = (keys[a + i] as number) - (keys[b + i] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

function placeOf(part: number, seq: number): string {
  const place = part * SEQS + seq;
  return Number.isSafeInteger(place) ? String(place) : String(BigInt(part) * BigInt(SEQS) + BigInt(seq));
}
