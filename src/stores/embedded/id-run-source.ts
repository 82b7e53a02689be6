/** Entries of runs that are being merged, one after the other by hash. */
import { decodeEntries, type Entries } from "./id-entries.js";
import { HASHES } from "./id-hash.js";
import type { RunWriter } from "./id-run-writer.js";
import { firstAtLeast, placeOfChunk } from "./id-runs.js";
import type { Connection } from "./sqlite.js";

/** Behind the last entry. */
const END = HASHES;

type ChunkRow = [first: number, entries: Buffer];

export class RunSource {
  /** The hash of the next entry. */
  hash = END;
  readonly #connection: Connection;
  readonly #run: number;
  #chunk: Entries | undefined;
  #first = END;
  #at = 0;

  /** Begins behind the entries with the hash `after`. */
  constructor(connection: Connection, run: number, after: number) {
    this.#connection = connection;
    this.#run = run;
    // What was read before is not there any more: the first one that is holds the next entry, or the one before it.
    this.#load(-1);
    this.#at = this.#chunk === undefined ? 0 : firstAtLeast(this.#chunk.hashes, after + 1);
    this.#settle();
  }

  /** Hands over the next entry. */
  moveTo(writer: RunWriter): void {
    writer.addFrom(this.#chunk as Entries, this.#at++);
    this.#settle();
  }

  /** Removes the chunks that have been read to their end. */
  dropRead(): void {
    this.#connection.sql("DELETE FROM id_chunk WHERE run = ? AND first < ?").run(this.#run, this.#first);
  }

  #settle(): void {
    while (this.#chunk !== undefined && this.#at >= this.#chunk.length) {
      this.#load(this.#first);
      this.#at = 0;
    }
    this.hash = this.#chunk === undefined ? END : (this.#chunk.hashes[this.#at] as number);
  }

  /** The first chunk behind the one that begins with `after`. */
  #load(after: number): void {
    const row = this.#connection
      .sql("SELECT first, entries FROM id_chunk WHERE run = ? AND first > ? ORDER BY first LIMIT 1")
      .get<ChunkRow>(this.#run, after);
    this.#chunk = row && decodeEntries(row[1], placeOfChunk(this.#run, row[0]));
    this.#first = row?.[0] ?? END;
  }
}

/** Moves about `count` entries, all that have the last one's hash among them. The last hash, or undefined if none is left. */
export function mergeSlice(
  sources: readonly RunSource[],
  writer: RunWriter,
  count: number,
): number | undefined {
  let last = -1;
  for (let moved = 0; ; moved++) {
    let least = sources[0] as RunSource;
    for (let i = 1; i < sources.length; i++) {
      const source = sources[i] as RunSource;
      if (source.hash < least.hash) least = source;
    }
    const { hash } = least;
    if (hash === END) return undefined;
    if (moved >= count && hash !== last) return last;
    least.moveTo(writer);
    last = hash;
  }
}
