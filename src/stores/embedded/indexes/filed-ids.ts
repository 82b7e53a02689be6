/** Entries of filed ids on their way into the file, in the writing thread. */
import { uuidTimeMs } from "../../id-key.js";
import type { Connection } from "../sqlite.js";
import { IndexKeys, insertEntries, placeOf } from "./index-keys.js";

/** Ids that are farther apart are put down in any order: so a time and an index are one exact number. */
const MAX_SORTED_MS = 2 ** 31;

export class FiledIds {
  #keys = new IndexKeys();
  #places: string[] = [];
  #times: number[] = [];
  #newestMs = 0;
  #isSorted = true;

  /** Takes note of the UUIDv7 at `at`. */
  add(ids: Uint8Array, at: number, part: number, seq: number): void {
    this.#keys.addUuid(ids, at);
    const timeMs = uuidTimeMs(ids, at);
    if (timeMs < this.#newestMs) this.#isSorted = false;
    else this.#newestMs = timeMs;
    this.#times.push(timeMs);
    this.#places.push(placeOf(part, seq));
  }

  /** Writes their entries, by time, so that neighbours share a page. */
  flush(connection: Connection): void {
    if (this.#places.length === 0) return;
    if (!this.#isSorted) this.#sort();
    insertEntries(connection, "filed_id", { keys: this.#keys, places: this.#places, isSorted: true });
    this.forget();
  }

  /** What was noted is not to be written. */
  forget(): void {
    this.#keys.clear();
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
    this.#keys = new IndexKeys();
    this.#places = [];
    for (let to = 0; to < length; to++) {
      const from = (order[to] as number) % length;
      this.#keys.addFrom(keys, from);
      this.#places.push(places[from] as string);
    }
    this.#isSorted = true;
  }
}
