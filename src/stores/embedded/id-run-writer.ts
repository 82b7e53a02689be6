/** Writes entries, which come in the order of their hashes, as chunks of a run. */
import { type Entries, EntryList, encodeEntries } from "./id-entries.js";
import { filterOf } from "./id-filter.js";
import type { PartitionState, Partitions } from "./partitions.js";
import type { Connection } from "./sqlite.js";

export class RunWriter {
  /** Entries that were written. */
  count = 0;
  readonly #connection: Connection;
  readonly #run: number;
  readonly #partitions: Partitions;
  readonly #chunkSize: number;
  #chunk: EntryList;
  /** Where the entries with the last hash begin. */
  #sameFrom = 0;
  #partition: PartitionState | undefined;

  constructor(connection: Connection, run: number, o: { partitions: Partitions; chunk: number }) {
    this.#connection = connection;
    this.#run = run;
    this.#partitions = o.partitions;
    this.#chunkSize = o.chunk;
    this.#chunk = new EntryList(o.chunk);
  }

  addFrom({ hashes, parts, seqs }: Entries, at: number): void {
    const hash = hashes[at] as number;
    const part = parts[at] as number;
    const seq = seqs[at] as number;
    if (this.#isGone(part, Math.abs(seq))) return;
    const chunk = this.#chunk;
    if (chunk.length === 0 || chunk.hashes[chunk.length - 1] !== hash) {
      // Entries with one hash stay together: a look at one chunk finds them all.
      if (chunk.length >= this.#chunkSize) this.flush();
      this.#sameFrom = this.#chunk.length;
    } else if (this.#meets(part, seq)) return;
    this.#chunk.push(hash, part, seq);
  }

  flush(): void {
    const { length, hashes } = this.#chunk;
    if (length === 0) return;
    this.#connection
      .sql("INSERT INTO id_chunk (run, first, filter, entries) VALUES (?, ?, ?, ?)")
      .run(this.#run, hashes[0] as number, filterOf(hashes, length), encodeEntries(this.#chunk, 0, length));
    this.count += length;
    this.#chunk = new EntryList(this.#chunkSize);
    this.#sameFrom = 0;
  }

  #isGone(part: number, seq: number): boolean {
    if (this.#partition?.part !== part) this.#partition = this.#partitions.get(part);
    return seq < this.#partition.low;
  }

  /** Whether the same entry is there already, or one that it cancels: that one goes. */
  #meets(part: number, seq: number): boolean {
    const chunk = this.#chunk;
    const last = chunk.length - 1;
    for (let at = this.#sameFrom; at <= last; at++) {
      if (chunk.parts[at] !== part || Math.abs(chunk.seqs[at] as number) !== Math.abs(seq)) continue;
      if (chunk.seqs[at] === seq) return true;
      chunk.set(at, chunk.hashes[last] as number, chunk.parts[last] as number, chunk.seqs[last] as number);
      chunk.length--;
      return true;
    }
    return false;
  }
}
