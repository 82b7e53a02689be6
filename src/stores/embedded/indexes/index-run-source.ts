/** Entries of runs that are being merged, one after the other in their order. */

import type { Connection } from "../sqlite.js";
import { decodeEntries, type Entries, firstBehind } from "./index-entries.js";
import { HASHES } from "./index-hash.js";
import type { RunWriter } from "./index-run-writer.js";
import { type Position, placeOfChunk } from "./index-runs.js";
import type { IndexTables } from "./index-tables.js";

/** Behind the last entry. */
const END = HASHES;

type ChunkRow = [number: number, entries: Buffer];

export class RunSource {
  /** Of the next entry. */
  hash = END;
  seq = 0;
  readonly #connection: Connection;
  readonly #tables: IndexTables;
  readonly #run: number;
  #chunk: Entries | undefined;
  #number = -1;
  #at = 0;

  /** Begins behind the entries at `after`. */
  constructor(connection: Connection, tables: IndexTables, run: number, after: Position) {
    this.#connection = connection;
    this.#tables = tables;
    this.#run = run;
    // What was read before is not there any more: the first one that is holds the next entry, or the one before it.
    this.#load();
    this.#at = this.#chunk === undefined ? 0 : firstBehind(this.#chunk, after.hash, after.seq);
    this.#settle();
  }

  /** Hands over the next entry. */
  moveTo(writer: RunWriter): void {
    writer.addFrom(this.#chunk as Entries, this.#at++);
    this.#settle();
  }

  /** Removes the chunks that have been read to their end. */
  dropRead(): void {
    const { chunk } = this.#tables;
    if (this.#chunk === undefined) this.#connection.sql(`DELETE FROM ${chunk} WHERE run = ?`).run(this.#run);
    else
      this.#connection.sql(`DELETE FROM ${chunk} WHERE run = ? AND number < ?`).run(this.#run, this.#number);
  }

  #settle(): void {
    while (this.#chunk !== undefined && this.#at >= this.#chunk.length) {
      this.#load();
      this.#at = 0;
    }
    this.hash = this.#chunk === undefined ? END : (this.#chunk.hashes[this.#at] as number);
    this.seq = this.#chunk === undefined ? 0 : Math.abs(this.#chunk.seqs[this.#at] as number);
  }

  /** The chunk behind the one that it is at. */
  #load(): void {
    const row = this.#connection
      .sql(
        `SELECT number, entries FROM ${this.#tables.chunk} WHERE run = ? AND number > ? ORDER BY number LIMIT 1`,
      )
      .get<ChunkRow>(this.#run, this.#number);
    this.#chunk = row && decodeEntries(row[1], this.#tables, placeOfChunk(this.#run, row[0]));
    this.#number = row?.[0] ?? this.#number;
  }
}

/** Moves about `count` entries, all that have the last one's hash and seq among them. Where that is; undefined if none is left. */
export function mergeSlice(
  sources: readonly RunSource[],
  writer: RunWriter,
  count: number,
): Position | undefined {
  let [hash, seq] = [-1, 0];
  for (let moved = 0; ; moved++) {
    let least = sources[0] as RunSource;
    for (let i = 1; i < sources.length; i++) {
      const source = sources[i] as RunSource;
      if (source.hash < least.hash || (source.hash === least.hash && source.seq < least.seq)) least = source;
    }
    if (least.hash === END) return undefined;
    if (moved >= count && (least.hash !== hash || least.seq !== seq)) return { hash, seq };
    hash = least.hash;
    seq = least.seq;
    least.moveTo(writer);
  }
}
