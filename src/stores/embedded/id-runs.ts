/**
 * Runs of the index of ids, as one connection sees them: entries in the order of their hashes, in chunks. Hashes
 * are spread evenly, so that the chunk of a hash is found by a guess and a step; its filter says, nearly always, that the id is
 * not there. Filters are loaded when they are first asked for, and kept: runs do not change.
 *
 * Runs that are being merged (id-merger) do: entries up to `through` have gone from the inputs to the output.
 */
import { damagedEntries, decodeEntries, type Entries } from "./id-entries.js";
import { mayHold, soundFilter } from "./id-filter.js";
import type { Connection } from "./sqlite.js";

type RunRow = [id: number, count: number, into: number | null, through: number | null];

/** Called with each entry under a hash. */
export type OnEntry = (part: number, seq: number) => void;

export class Run {
  readonly id: number;
  count = 0;
  /** The run that it is being merged into. */
  into: Run | undefined;
  /** While others are merged into it: the last hash that it has. */
  through: number | null = null;
  /** The first hash of each chunk. */
  readonly firsts: number[] = [];
  readonly #filters: (Uint8Array | null)[] = [];

  constructor(id: number) {
    this.id = id;
  }

  /** Whether it is neither being made nor being merged. */
  get isSettled(): boolean {
    return this.into === undefined && this.through === null;
  }

  find(connection: Connection, hash: number, onEntry: OnEntry): void {
    if (this.into !== undefined ? hash <= (this.into.through ?? -1) : hash > (this.through ?? hash)) return;
    const chunk = this.#chunkOf(hash);
    if (chunk < 0) return;
    let filter = this.#filters[chunk];
    if (filter === undefined) {
      filter = this.#loadFilter(connection, chunk);
      this.#filters[chunk] = filter;
    }
    if (!mayHold(filter, hash)) return;
    const first = this.firsts[chunk] as number;
    const entries = loadChunk(connection, this.id, first);
    // One whose last entries have gone to the output is not there any more, though a hash behind them may lead to it.
    if (entries === undefined && this.into !== undefined) return;
    const { hashes, seqs, parts } = entries ?? damagedEntries(placeOfChunk(this.id, first));
    for (let i = firstAtLeast(hashes, hash); hashes[i] === hash; i++)
      onEntry(parts[i] as number, seqs[i] as number);
  }

  /** Which chunk a hash would be in, or -1. */
  #chunkOf(hash: number): number {
    const { firsts } = this;
    const last = firsts.length - 1;
    if (last < 0 || hash < (firsts[0] as number)) return -1;
    let chunk = Math.min(last, Math.floor((hash / (firsts[last] as number)) * last) || 0);
    while ((firsts[chunk] as number) > hash) chunk--;
    while (chunk < last && (firsts[chunk + 1] as number) <= hash) chunk++;
    return chunk;
  }

  #loadFilter(connection: Connection, chunk: number): Uint8Array | null {
    const row = connection
      .sql("SELECT filter FROM id_chunk WHERE run = ? AND first = ?")
      .get<[Buffer]>(this.id, this.firsts[chunk] as number);
    return row === undefined ? null : soundFilter(row[0]);
  }
}

export class IdRuns {
  #runs = new Map<number, Run>();

  all(): IterableIterator<Run> {
    return this.#runs.values();
  }

  /** Brings what is known up to date. */
  refresh(connection: Connection): void {
    const rows = connection.sql("SELECT id, count, into_run, through FROM id_run ORDER BY id").all<RunRow>();
    const known = this.#runs;
    this.#runs = new Map();
    for (const [id, count, , through] of rows) {
      const run = known.get(id) ?? new Run(id);
      // What was loaded of one that is being made may be more by now.
      if (!known.has(id) || run.through !== null) addFirsts(connection, run);
      run.count = count;
      run.through = through;
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

  find(connection: Connection, hash: number, onEntry: OnEntry): void {
    for (const run of this.#runs.values()) run.find(connection, hash, onEntry);
  }
}

/** The chunk that begins with `first`, if it is there. */
export function loadChunk(connection: Connection, run: number, first: number): Entries | undefined {
  const row = connection
    .sql("SELECT entries FROM id_chunk WHERE run = ? AND first = ?")
    .get<[Buffer]>(run, first);
  return row && decodeEntries(row[0], placeOfChunk(run, first));
}

/** For people. */
export function placeOfChunk(run: number, first: number): string {
  return `chunk ${first} of run ${run}`;
}

/** Where the first hash stands that is not below `hash`. */
export function firstAtLeast(hashes: Float64Array, hash: number): number {
  let [from, to] = [0, hashes.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((hashes[middle] as number) < hash) from = middle + 1;
    else to = middle;
  }
  return from;
}

function addFirsts(connection: Connection, { id, firsts }: Run): void {
  const rows = connection
    .sql("SELECT first FROM id_chunk WHERE run = ? AND first > ? ORDER BY first")
    .all<[number]>(id, firsts.at(-1) ?? -1);
  for (const [first] of rows) firsts.push(first);
}
