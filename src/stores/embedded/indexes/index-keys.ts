/**
 * Keys of an index of ids, one behind the other in a buffer, and how many entries are made of them at once: a value that is handed
 * to the engine costs as much as the entry that is made of it.
 */
import { INDEX_KEY_BYTES, writeTextIndexKey, writeUuidIndexKey } from "../../id-key.js";
import { partIn, seqIn } from "../batches/batches.js";
import { SEQS } from "../schema.js";
import type { Connection } from "../sqlite.js";

/** Entries made by one statement. */
const TOGETHER = 1_024;
const FIRST_ROOM = 64;

export class IndexKeys {
  #bytes = Buffer.allocUnsafeSlow(FIRST_ROOM * INDEX_KEY_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  addUuid(ids: Uint8Array, at: number): void {
    const to = this.#nextPlace();
    writeUuidIndexKey(ids, at, this.#bytes, to);
  }

  addText(id: string): void {
    const to = this.#nextPlace();
    writeTextIndexKey(id, this.#bytes, to);
  }

  addFrom(others: IndexKeys, index: number): void {
    const to = this.#nextPlace();
    const from = index * INDEX_KEY_BYTES;
    // So few bytes are copied faster than a view of them is made.
    for (let i = 0; i < INDEX_KEY_BYTES; i++) this.#bytes[to + i] = others.#bytes[from + i] as number;
  }

  /** A view, good until the next one is added. */
  slice(from: number, to: number): Buffer {
    return this.#bytes.subarray(from * INDEX_KEY_BYTES, to * INDEX_KEY_BYTES);
  }

  clear(): void {
    this.#length = 0;
  }

  /** Makes room for one more; only then it is certain which buffer it goes to. */
  #nextPlace(): number {
    const place = this.#length++ * INDEX_KEY_BYTES;
    if (place === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], place * 2);
    return place;
  }
}

/** The place of an id is its partition's number and its seq, in one number as in `pos` of a batch. */
export function placeOf(part: number, seq: number): string {
  const place = part * SEQS + seq;
  return Number.isSafeInteger(place) ? String(place) : String(BigInt(part) * BigInt(SEQS) + BigInt(seq));
}

/** Neighbours share a page: unless they come in the order of their keys, each statement sorts its own. */
export function insertEntries(
  connection: Connection,
  index: "id_index" | "filed_id",
  { keys, places, isSorted }: { keys: IndexKeys; places: readonly string[]; isSorted: boolean },
): void {
  const insert = connection.sql(
    `INSERT OR REPLACE INTO ${index} (id, part, seq)
      SELECT substr(?1, key * ${INDEX_KEY_BYTES} + 1, ${INDEX_KEY_BYTES}), ${partIn("value")}, ${seqIn("value")}
      FROM json_each(?2)${isSorted ? "" : " ORDER BY 1"}`,
  );
  for (let from = 0; from < places.length; from += TOGETHER) {
    const to = Math.min(from + TOGETHER, places.length);
    insert.run(keys.slice(from, to), `[${places.slice(from, to).join()}]`);
  }
}
