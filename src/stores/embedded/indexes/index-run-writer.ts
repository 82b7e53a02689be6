/** Writes entries, which come in their order, as chunks of a run. */

import type { Connection } from "../sqlite.js";
import { type Entries, EntryList, encodeEntries } from "./index-entries.js";
import { filterOf } from "./index-filter.js";
import type { IndexTables } from "./index-tables.js";

/** Whether what an entry leads to is gone, as far as that is told by other things than entries. */
export type IsGone = (part: number, seq: number) => boolean;

export interface RunWriterParts {
  readonly connection: Connection;
  readonly tables: IndexTables;
  readonly isGone: IsGone;
  /** Entries of a chunk. */
  readonly chunk: number;
}

export class RunWriter {
  /** Entries that were written. */
  count = 0;
  readonly #parts: RunWriterParts;
  readonly #run: number;
  readonly #blocks: number;
  #number: number;
  readonly #chunk: EntryList;
  /** Where the entries with the last one's hash and seq begin. */
  #sameFrom = 0;

  /** `blocks`: those of the run's filter. */
  constructor(parts: RunWriterParts, run: number, blocks: number) {
    const { connection, tables, chunk } = parts;
    this.#parts = parts;
    this.#run = run;
    this.#blocks = blocks;
    const last = connection.sql(`SELECT max(number) FROM ${tables.chunk} WHERE run = ?`).get(run)?.[0];
    this.#number = Number(last ?? 0);
    this.#chunk = new EntryList(chunk);
  }

  addFrom({ hashes, parts, seqs }: Entries, at: number): void {
    const hash = hashes[at] as number;
    const part = parts[at] as number;
    const seq = seqs[at] as number;
    if (this.#parts.isGone(part, Math.abs(seq))) return;
    const chunk = this.#chunk;
    const last = chunk.length - 1;
    if (last < 0 || chunk.hashes[last] !== hash || Math.abs(chunk.seqs[last] as number) !== Math.abs(seq)) {
      // Entries of one place stay together: those that cancel each other meet.
      if (chunk.length >= this.#parts.chunk) this.flush();
      this.#sameFrom = this.#chunk.length;
    } else if (this.#meets(part, seq)) return;
    this.#chunk.push(hash, part, seq);
  }

  flush(): void {
    const { length, hashes, seqs } = this.#chunk;
    if (length === 0) return;
    const { connection, tables } = this.#parts;
    connection
      .sql(
        `INSERT INTO ${tables.chunk} (run, number, first_hash, first_seq, filter, entries) VALUES (?, ?, ?, ?, ?, ?)`,
      )
      .run(
        this.#run,
        ++this.#number,
        hashes[0] as number,
        Math.abs(seqs[0] as number),
        filterOf(hashes, length, this.#blocks),
        encodeEntries(this.#chunk, 0, length),
      );
    this.count += length;
    this.#chunk.length = 0;
  }

  /** Whether the same entry is there already, or one that it cancels: that one goes. */
  #meets(part: number, seq: number): boolean {
    const chunk = this.#chunk;
    const last = chunk.length - 1;
    for (let at = this.#sameFrom; at <= last; at++) {
      if (chunk.parts[at] !== part) continue;
      if (chunk.seqs[at] === seq) return true;
      chunk.set(at, chunk.hashes[last] as number, chunk.parts[last] as number, chunk.seqs[last] as number);
      chunk.length--;
      return true;
    }
    return false;
  }
}
