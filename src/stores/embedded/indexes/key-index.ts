/**
 * The index by key, for topics that ask for it: see hashed-index. There is one entry per key and batch, so that a key that comes often costs
 * little: it leads to the first seq of the batch, which is searched for the key.
 */
import type { Seq } from "../../../model/event.js";
import type { Connection } from "../sqlite.js";
import { HashedIndex } from "./hashed-index.js";
import type { Place } from "./id-index.js";
import type { Stretch } from "./index-runs.js";
import { KEY_TABLES } from "./index-tables.js";
import { KeyNotes } from "./key-notes.js";

export class KeyIndex extends HashedIndex<KeyNotes> {
  constructor(connection: Connection) {
    super(connection, KEY_TABLES, new KeyNotes());
  }

  /** Where batches begin that may hold the key with a hash: from `seq` on, or up to it from the last one on; of one seq in order of partitions. */
  *places(hash: number, seq: Seq, newestFirst: boolean): Generator<Place> {
    if (this.damage !== undefined) throw this.damage;
    const noted = this.notes.entries.stretches(hash, seq, newestFirst);
    const sources = [
      ...noted.map((stretch) => new Source([stretch].values(), newestFirst)),
      ...[...this.runs.all()].map((run) => new Source(run.stretches(hash, seq, newestFirst), newestFirst)),
    ];
    for (;;) {
      const next = nearest(sources, newestFirst);
      if (next === undefined) return;
      const parts = presentAt(sources, next).sort((a, b) => (newestFirst ? b - a : a - b));
      for (const part of parts) yield { part, seq: next };
    }
  }
}

/** Entries under a hash in one of the places where they are kept, one after the other. */
class Source {
  /** Of the entry that it stands on, without its sign; undefined behind the last. */
  seq: Seq | undefined;
  part = 0;
  isRemoval = false;
  readonly #stretches: Iterator<Stretch>;
  readonly #newestFirst: boolean;
  #stretch: Stretch | undefined;
  #at = 0;

  constructor(stretches: Iterator<Stretch>, newestFirst: boolean) {
    this.#stretches = stretches;
    this.#newestFirst = newestFirst;
    this.next();
  }

  next(): void {
    this.#at += this.#newestFirst ? -1 : 1;
    while (this.#stretch === undefined || this.#at < this.#stretch.from || this.#at >= this.#stretch.to) {
      const next = this.#stretches.next();
      if (next.done === true) {
        this.seq = undefined;
        return;
      }
      this.#stretch = next.value;
      this.#at = this.#newestFirst ? next.value.to - 1 : next.value.from;
    }
    const { seqs, parts } = this.#stretch.entries;
    const seq = seqs[this.#at] as number;
    this.seq = Math.abs(seq);
    this.part = parts[this.#at] as number;
    this.isRemoval = seq < 0;
  }
}

function nearest(sources: readonly Source[], newestFirst: boolean): Seq | undefined {
  let found: Seq | undefined;
  for (const { seq } of sources)
    if (seq !== undefined && (found === undefined || (newestFirst ? seq > found : seq < found))) found = seq;
  return found;
}

/** Moves all sources past a seq; which partitions have an entry there that was not taken back. */
function presentAt(sources: readonly Source[], seq: Seq): number[] {
  const isPresent = new Map<number, boolean>();
  for (const source of sources)
    for (; source.seq === seq; source.next())
      isPresent.set(source.part, !source.isRemoval && isPresent.get(source.part) !== false);
  return [...isPresent].filter(([, present]) => present).map(([part]) => part);
}
