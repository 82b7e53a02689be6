/**
 * The index by key, for topics that ask for it: one entry per key and batch, so that a key that comes often costs
 * little. A batch is found by the entry and searched for the key. Entries are written in the commit of their batch.
 */

import { type Batch, BatchCursor } from "../batch-codec.js";
import type { Batches } from "./batches.js";
import type { Connection } from "./sqlite.js";

export class KeyIndex {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  add(topic: number, part: number, batch: Batch): void {
    const insert = this.#connection.sql(
      "INSERT OR IGNORE INTO key_index (topic, key, first_seq, part) VALUES (?, ?, ?, ?)",
    );
    for (const key of keysOf(batch).values()) insert.run(topic, key, batch.firstSeq, part);
  }

  /** Removes the entries of a batch for keys that `rest` no longer has. */
  remove(topic: number, part: number, batch: Batch, rest: Batch | null): void {
    const kept = rest === null ? undefined : keysOf(rest);
    const drop = this.#connection.sql(
      "DELETE FROM key_index WHERE topic = ? AND key = ? AND first_seq = ? AND part = ?",
    );
    for (const [name, key] of keysOf(batch)) {
      if (!kept?.has(name)) drop.run(topic, key, batch.firstSeq, part);
    }
  }

  clear(topic: number): void {
    this.#connection.sql("DELETE FROM key_index WHERE topic = ?").run(topic);
  }

  /** Adds entries for batches above `after` that were there before the index; the last seq covered, or null at the end. */
  fill(topic: number, part: number, after: number, batches: Batches, limit: number): number | null {
    const heads = batches.above(part, after, limit);
    for (const head of heads) this.add(topic, part, batches.load(head));
    return heads.at(-1)?.lastSeq ?? null;
  }
}

/** Distinct keys of a batch. Latin-1 gives every byte a character, so it tells apart what UTF-8 would mend. */
function keysOf(batch: Batch): Map<string, Buffer> {
  const keys = new Map<string, Buffer>();
  const cursor = new BatchCursor(batch);
  while (cursor.next()) {
    const key = cursor.keyBytes;
    if (key !== undefined) keys.set(key.toString("latin1"), key);
  }
  return keys;
}
