/**
 * Runs of an index, as one connection sees them: entries in their order, in chunks. The filter of a run says, nearly always, that a hash
 * is not there; it is loaded where it is first asked about, and kept: runs do not change.
 *
 * Runs that are being merged (index-merger) do: entries up to `through` have gone from the inputs to the output, and the inputs lose
 * the chunks that have been read to their end.
 */
import { BusError } from "../../../model/errors.js";
import type { Connection } from "../sqlite.js";
import { damagedEntries, decodeEntries, type Entries, firstBehind } from "./index-entries.js";
import { blocksFor, blocksOf, RunFilter } from "./index-filter.js";
import { HASHES } from "./index-hash.js";
import type { IndexTables } from "./index-tables.js";

type RunRow = [
  id: number,
  count: number,
  into: number | null,
  throughHash: number | null,
  throughSeq: number | null,
];

/** Called with each entry under a hash. */
export type OnEntry = (part: number, seq: number) => void;

/** An entry, or where one would stand. */
export interface Position {
  readonly hash: number;
  readonly seq: number;
}

/** Before all entries. */
export const START: Position = { hash: -1, seq: 0 };

export class Run {
  readonly id: number;
  count = 0;
  /** The run that it is being merged into. */
  into: Run | undefined;
  /** While others are merged into it: up to where it has their entries. */
  through: Position | undefined;
  readonly #connection: Connection;
  readonly #tables: IndexTables;
  /** The first entry of each chunk, and the number of the first of them: the others follow. */
  readonly #hashes: number[] = [];
  readonly #seqs: number[] = [];
  #firstNumber = 0;
  #filter: RunFilter | undefined;
  /** The chunk that was loaded last: who looks for many things does so in the order of their hashes. */
  #loaded: Entries | undefined;
  #loadedChunk = -1;

  constructor(connection: Connection, tables: IndexTables, id: number) {
    this.#connection = connection;
    this.#tables = tables;
    this.id = id;
  }

  /** Whether it is neither being made nor being merged. */
  get isSettled(): boolean {
    return this.into === undefined && this.through === undefined;
  }

  get chunks(): number {
    return this.#hashes.length;
  }

  /** Marks those of many hashes that it may have entries under. */
  mark(hashes: Float64Array, marks: Uint8Array): void {
    if (this.chunks > 0) this.#filterOfAll().mark(hashes, marks, this.#from, this.#to);
  }

  find(hash: number, onEntry: OnEntry): void {
    if (!this.#mayHold(hash)) return;
    for (let chunk = this.#chunkOf(hash, Number.POSITIVE_INFINITY); chunk >= 0; chunk--) {
      const entries = this.#chunk(chunk);
      if (entries !== undefined) {
        const { hashes, seqs, parts } = entries;
        for (let i = firstBehind(entries, hash, -1); hashes[i] === hash; i++)
          onEntry(parts[i] as number, seqs[i] as number);
      }
      if (this.#hashes[chunk] !== hash) return;
    }
  }

  /** Stretches of entries under a hash, each in its chunk: those from `seq` on, or those up to it from the last one on. */
  *stretches(hash: number, seq: number, isDescending: boolean): Generator<Stretch> {
    if (!this.#mayHold(hash)) return;
    const step = isDescending ? -1 : 1;
    const begin = this.#chunkOf(hash, seq);
    for (
      let chunk = isDescending ? begin : Math.max(0, begin);
      chunk >= 0 && chunk < this.chunks;
      chunk += step
    ) {
      if ((this.#hashes[chunk] as number) > hash) return;
      const entries = this.#chunk(chunk);
      if (entries !== undefined) yield stretchOf(entries, hash, seq, isDescending);
      if (isDescending && this.#hashes[chunk] !== hash) return;
    }
  }

  /** What is damaged in one of its chunks throws. */
  check(chunk: number): void {
    if (this.#load(chunk) === undefined) damagedEntries(this.#tables, this.#nameOf(chunk));
  }

  /** Learns of chunks that were added since. */
  refresh(): void {
    const next = this.#firstNumber + this.chunks;
    const rows = this.#connection
      .sql(
        `SELECT number, first_hash, first_seq FROM ${this.#tables.chunk} WHERE run = ? AND number >= ? ORDER BY number`,
      )
      .all<[number: number, hash: number, seq: number]>(this.id, next);
    const [first] = rows;
    if (first === undefined) return;
    // Those in between have come and gone: it was completed since, and is being merged itself.
    if (first[0] !== next) this.#beginAt(first[0]);
    this.#filter?.forget(first[1]);
    for (const [, hash, seq] of rows) {
      this.#hashes.push(hash);
      this.#seqs.push(seq);
    }
  }

  /** Chunks before this one are not there, or not any more. */
  #beginAt(number: number): void {
    this.#hashes.length = 0;
    this.#seqs.length = 0;
    this.#firstNumber = number;
    this.#loadedChunk = -1;
  }

  /** Before that, its entries have gone to the output; */
  get #from(): number {
    return this.into?.through?.hash ?? -1;
  }

  /** behind that, none have come yet. */
  get #to(): number {
    return this.into === undefined && this.through !== undefined ? this.through.hash : HASHES;
  }

  #mayHold(hash: number): boolean {
    return hash >= this.#from && hash <= this.#to && this.chunks > 0 && this.#filterOfAll().mayHold(hash);
  }

  #filterOfAll(): RunFilter {
    this.#filter ??= new RunFilter(this.#filterBlocks(), (filter, from, to) =>
      this.#loadFilter(filter, from, to),
    );
    return this.#filter;
  }

  /** As many as its filter was made for; if that is not told, as many as it should have. */
  #filterBlocks(): number {
    const row = this.#connection
      .sql(`SELECT filter FROM ${this.#tables.chunk} WHERE run = ? ORDER BY number DESC LIMIT 1`)
      .get<[Buffer]>(this.id);
    return blocksOf(row?.[0]) ?? blocksFor(this.count);
  }

  #loadFilter(filter: RunFilter, from: number, to: number): void {
    const [first, last] = [Math.max(0, this.#chunkOf(from, -1)), this.#chunkOf(to, -1)];
    const rows = this.#connection
      .sql(`SELECT number, filter FROM ${this.#tables.chunk} WHERE run = ? AND number >= ? AND number <= ?`)
      .all<[number: number, filter: Buffer]>(this.id, this.#firstNumber + first, this.#firstNumber + last);
    const stored = new Map(rows);
    for (let chunk = first; chunk <= last; chunk++) {
      const part = stored.get(this.#firstNumber + chunk);
      if (part === undefined || !filter.add(part)) this.#restoreFilter(filter, chunk);
    }
  }

  /** From the entries of a chunk, if they can be read; whoever is let through finds out. */
  #restoreFilter(filter: RunFilter, chunk: number): void {
    try {
      const entries = this.#load(chunk);
      if (entries !== undefined) {
        filter.addHashes(entries.hashes);
        return;
      }
    } catch (error) {
      if (!BusError.is(error, "STORE_DAMAGED")) throw error;
    }
    filter.open(this.#hashes[chunk] as number, this.#hashes[chunk + 1] ?? HASHES - 1);
  }

  /** The last chunk that begins at a hash and seq, or before them; -1 if all are behind. */
  #chunkOf(hash: number, seq: number): number {
    let [from, to] = [0, this.chunks];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#isBehind(middle, hash, seq)) to = middle;
      else from = middle + 1;
    }
    return from - 1;
  }

  #isBehind(chunk: number, hash: number, seq: number): boolean {
    const there = this.#hashes[chunk] as number;
    return there > hash || (there === hash && (this.#seqs[chunk] as number) > seq);
  }

  #chunk(chunk: number): Entries | undefined {
    if (this.#loadedChunk === chunk) return this.#loaded;
    this.#loadedChunk = -1;
    this.#loaded = this.#load(chunk);
    // One whose last entries have gone to the output is not there any more, though a hash behind them may lead to it.
    if (this.#loaded === undefined && this.into === undefined)
      damagedEntries(this.#tables, this.#nameOf(chunk));
    this.#loadedChunk = chunk;
    return this.#loaded;
  }

  #load(chunk: number): Entries | undefined {
    const row = this.#connection
      .sql(`SELECT entries FROM ${this.#tables.chunk} WHERE run = ? AND number = ?`)
      .get<[Buffer]>(this.id, this.#firstNumber + chunk);
    return row && decodeEntries(row[0], this.#tables, this.#nameOf(chunk));
  }

  #nameOf(chunk: number): string {
    return placeOfChunk(this.id, this.#firstNumber + chunk);
  }
}

/** Entries from one place to before another. */
export interface Stretch {
  readonly entries: Entries;
  readonly from: number;
  readonly to: number;
}

/** Of sorted entries: those under a hash, from a seq on or up to it. */
export function stretchOf(entries: Entries, hash: number, seq: number, isDescending: boolean): Stretch {
  return isDescending
    ? { entries, from: firstBehind(entries, hash, -1), to: firstBehind(entries, hash, seq) }
    : {
        entries,
        from: firstBehind(entries, hash, seq - 1),
        to: firstBehind(entries, hash, Number.POSITIVE_INFINITY),
      };
}

export class IndexRuns {
  readonly #connection: Connection;
  readonly #tables: IndexTables;
  #runs = new Map<number, Run>();

  constructor(connection: Connection, tables: IndexTables) {
    this.#connection = connection;
    this.#tables = tables;
  }

  all(): IterableIterator<Run> {
    return this.#runs.values();
  }

  /** Brings what is known up to date. */
  refresh(): void {
    const rows = this.#connection
      .sql(`SELECT id, count, into_run, through_hash, through_seq FROM ${this.#tables.run} ORDER BY id`)
      .all<RunRow>();
    const known = this.#runs;
    this.#runs = new Map();
    for (const [id, count, , hash, seq] of rows) {
      const run = known.get(id) ?? new Run(this.#connection, this.#tables, id);
      // What was loaded of one that is being made may be more by now.
      if (!known.has(id) || run.through !== undefined) run.refresh();
      run.count = count;
      run.through = hash === null || seq === null ? undefined : { hash, seq };
      this.#runs.set(id, run);
    }
    for (const [id, , into] of rows) {
      const run = this.#runs.get(id) as Run;
      run.into = into === null ? undefined : this.#runs.get(into);
    }
  }

  forget(): void {
    this.#runs = new Map();
  }

  mark(hashes: Float64Array, marks: Uint8Array): void {
    for (const run of this.#runs.values()) run.mark(hashes, marks);
  }

  find(hash: number, onEntry: OnEntry): void {
    for (const run of this.#runs.values()) run.find(hash, onEntry);
  }
}

/** For people. */
export function placeOfChunk(run: number, number: number): string {
  return `chunk ${number} of run ${run}`;
}
