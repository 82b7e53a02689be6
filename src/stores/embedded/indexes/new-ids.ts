/** Entries of the index of ids on their way into the file, in the writing thread: those of several appends go together. */
import type { Batch, BatchCursor } from "../../batch-codec.js";
import type { Connection } from "../sqlite.js";
import { IndexKeys, insertEntries, placeOf } from "./index-keys.js";

export class NewIds {
  readonly #keys = new IndexKeys();
  #places: string[] = [];

  /** Takes note of the event that the cursor stands on. */
  add(part: number, batch: Batch, cursor: BatchCursor): void {
    const { uuidAt } = cursor;
    if (uuidAt >= 0) this.#keys.addUuid(batch.ids, uuidAt);
    else this.#keys.addText(cursor.id);
    this.#places.push(placeOf(part, cursor.seq));
  }

  flush(connection: Connection): void {
    if (this.#places.length === 0) return;
    insertEntries(connection, "id_index", { keys: this.#keys, places: this.#places, isSorted: false });
    this.forget();
  }

  /** What was noted is not to be written. */
  forget(): void {
    if (this.#places.length === 0) return;
    this.#keys.clear();
    this.#places = [];
  }
}
