/** Ids that are looked for in the log, many at once: a statement for each would cost several times what its work does. */
import type { Batch, BatchCursor } from "../batch-codec.js";
import { INDEX_KEY_BYTES, uuidTimeMs } from "../id-key.js";
import type { Batches } from "./batches.js";
import { locate, type Place, placeOfEntry } from "./id-lookup.js";
import { IndexKeys } from "./index-keys.js";
import type { Connection } from "./sqlite.js";

const FIND = `
  WITH RECURSIVE asked(number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM asked WHERE number + 1 < CAST(?2 AS INTEGER))
  SELECT number, part, seq FROM asked CROSS JOIN id_index
  WHERE id = substr(?1, number * ${INDEX_KEY_BYTES} + 1, ${INDEX_KEY_BYTES})`;

interface Asked {
  /** Of the draft, in its request. */
  readonly index: number;
  readonly id: string;
}

export class AskedIds {
  /** Those that are in the index of ids, or nowhere. */
  readonly #indexed: Asked[] = [];
  readonly #keys = new IndexKeys();
  readonly #others: Asked[] = [];

  /** The event that the cursor stands on. */
  add(index: number, id: string, batch: Batch, cursor: BatchCursor): void {
    const { uuidAt } = cursor;
    if (uuidAt >= 0 && uuidTimeMs(batch.ids, uuidAt) >= 0) {
      this.#others.push({ index, id });
      return;
    }
    if (uuidAt >= 0) this.#keys.addUuid(batch.ids, uuidAt);
    else this.#keys.addText(id);
    this.#indexed.push({ index, id });
  }

  get length(): number {
    return this.#indexed.length + this.#others.length;
  }

  /** The places of those that are in the log, by index. */
  places(connection: Connection, batches: Batches): Map<number, Place> {
    const places = new Map<number, Place>();
    for (const { index, id } of this.#others) {
      const place = locate(connection, batches, id);
      if (place !== undefined) places.set(index, place);
    }
    const { length } = this.#keys;
    const rows =
      length === 0
        ? []
        : connection
            .sql(FIND)
            .all<[number: number, part: number, seq: number]>(this.#keys.slice(0, length), length);
    for (const [number, part, seq] of rows) {
      const { index, id } = this.#indexed[number] as Asked;
      const place = placeOfEntry(batches, [part, seq], id);
      if (place !== undefined) places.set(index, place);
    }
    return places;
  }
}
