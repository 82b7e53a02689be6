/**
 * Entries of filed ids on their way into the file, in the writing thread. Their keys lie one behind the other in a buffer, and
 * their places in one text: a value that is handed to the engine costs as much as the entry that is made of it.
 */
import { INDEX_KEY_BYTES, uuidTimeMs, writeUuidIndexKey } from "../id-key.js";
import { partIn, seqIn } from "./batches.js";
import { SEQS } from "./schema.js";
import type { Connection } from "./sqlite.js";

/** Entries made by one statement. */
const TOGETHER = 1_024;
const FIRST_ROOM = 1_024;
/** Ids that are farther apart are put down in any order: so a time and an index are one exact number. */
const MAX_SORTED_MS = 2 ** 31;

/** The place of an id is its partition's number and its seq, in one number as in `pos` of a batch. */
const INSERT = `INSERT OR REPLACE INTO filed_id (id, part, seq)
  SELECT substr(?1, key * ${INDEX_KEY_BYTES} + 1, ${INDEX_KEY_BYTES}), ${partIn("value")}, ${seqIn("value")} FROM json_each(?2)`;

export class FiledIds {
  #keys = Buffer.allocUnsafeSlow(FIRST_ROOM * INDEX_KEY_BYTES);
  #places: string[] = [];
  #times: number[] = [];
  #newestMs = 0;
  #isSorted = true;

  /** Takes note of the UUIDv7 at `at`. */
  add(ids: Uint8Array, at: number, part: number, seq: number): void {
    const start = this.#places.length * INDEX_KEY_BYTES;
    if (start === this.#keys.length) this.#keys = Buffer.concat([this.#keys], start * 2);
    writeUuidIndexKey(ids, at, this.#keys, start);
    const timeMs = uuidTimeMs(ids, at);
    if (timeMs < this.#newestMs) this.#isSorted = false;
    else this.#newestMs = timeMs;
    this.#times.push(timeMs);
    this.#places.push(placeOf(part, seq));
  }

  /** Writes their entries, by time, so that neighbours share a page. */
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
    this.#times = [];
    this.#newestMs = 0;
    this.#isSorted = true;
  }

  #sort(): void {
    const { length } = this.#places;
    const [keys, places] = [this.#keys, this.#places];
    const oldestMs = this.#times.reduce((least, timeMs) => Math.min(least, timeMs), Number.POSITIVE_INFINITY);
    // Numbers alone are sorted several times as fast as by a function that compares: each is a time and an index.
    const order = Float64Array.from(
      this.#times,
      (timeMs, i) => Math.min(timeMs - oldestMs, MAX_SORTED_MS) * length + i,
    ).sort();
    this.#keys = Buffer.allocUnsafeSlow(keys.length);
    this.#places = [];
    for (let to = 0; to < length; to++) {
      const from = (order[to] as number) % length;
      for (let i = 0; i < INDEX_KEY_BYTES; i++)
        this.#keys[to * INDEX_KEY_BYTES + i] = keys[from * INDEX_KEY_BYTES + i] as number;
      this.#places.push(places[from] as string);
    }
    this.#isSorted = true;
  }
}

function placeOf(part: number, seq: number): string {
  const place = part * SEQS + seq;
  return Number.isSafeInteger(place) ? String(place) : String(BigInt(part) * BigInt(SEQS) + BigInt(seq));
}
