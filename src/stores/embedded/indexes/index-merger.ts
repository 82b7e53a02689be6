/**
 * Keeps an index in order, in the writing thread, a slice at a time, so that appends are not kept waiting: notes become runs,
 * and runs of about one size become one. Each slice is part of one commit, and the file says how far it came; any process may go on
 * from there.
 *
 *   settled --a merge begins--> into another, loses its chunks from the front --`through` has reached the end--> gone
 *   (output) through = -1, ... , settled
 *
 * Entries of what is gone are left out: those that `isGone` tells of, and those that meet an entry that says so.
 */
import { BusError } from "../../../model/errors.js";
import type { Connection } from "../sqlite.js";
import type { HashedIndex } from "./hashed-index.js";
import { MAX_CHUNK } from "./index-entries.js";
import { blocksFor } from "./index-filter.js";
import type { NotedEntries } from "./index-notes.js";
import { mergeSlice, RunSource } from "./index-run-source.js";
import { type IsGone, RunWriter } from "./index-run-writer.js";
import { type Run, START } from "./index-runs.js";

export interface IndexSizes {
  /** Notes that become a run. */
  readonly notes: number;
  /** Entries of a chunk of a run; a few more, where the last ones have one place. */
  readonly chunk: number;
  /** Runs of about one size that become one, and how much larger the next size is. */
  readonly fanout: number;
  /** Entries that are merged at a time, at least, */
  readonly slice: number;
  /** and for each that is new: that much keeps up with as many sizes of runs. */
  readonly mergedPerNew: number;
}

export const INDEX_SIZES: IndexSizes = {
  notes: 65_536,
  chunk: MAX_CHUNK,
  fanout: 8,
  slice: 8_192,
  mergedPerNew: 4,
};

/** However many are new, no more slices than this are merged at once: appends wait meanwhile. */
const MAX_SLICES = 4;

export interface IndexMergerParts {
  readonly connection: Connection;
  readonly index: HashedIndex<NotedEntries>;
  readonly isGone: IsGone;
  readonly sizes: IndexSizes;
}

export class IndexMerger {
  readonly #connection: Connection;
  readonly #index: HashedIndex<NotedEntries>;
  readonly #isGone: IsGone;
  readonly #sizes: IndexSizes;
  /** False once a merge has met damage, and then until the file is opened again: notes go on becoming runs. */
  #canMerge = true;

  constructor({ connection, index, isGone, sizes }: IndexMergerParts) {
    this.#connection = connection;
    this.#index = index;
    this.#isGone = isGone;
    this.#sizes = sizes;
  }

  get isDue(): boolean {
    return this.#index.damage === undefined && (this.#isRunDue || this.#toMerge() !== undefined);
  }

  get #isRunDue(): boolean {
    return this.#index.notes.entries.count >= this.#sizes.notes;
  }

  /** `added`: how many entries are new since the last one. */
  slice(added: number): void {
    if (this.#isRunDue) this.#makeRun();
    const inputs = this.#toMerge();
    if (inputs === undefined) return;
    const { slice, mergedPerNew } = this.#sizes;
    const count = Math.min(Math.max(slice, mergedPerNew * added), MAX_SLICES * slice);
    try {
      this.#merge(inputs, count);
    } catch (error) {
      if (BusError.is(error, "STORE_DAMAGED")) this.#canMerge = false;
      throw error;
    }
  }

  /** All notes become a run. They go first: there may be no room for both. */
  #makeRun(): void {
    const { notes, tables } = this.#index;
    const entries = notes.entries.sorted();
    notes.drop();
    const run = this.#connection.sql(`INSERT INTO ${tables.run} (count) VALUES (0)`).insert();
    const writer = this.#writer(run, entries.length);
    for (let i = 0; i < entries.length; i++) writer.addFrom(entries, i);
    writer.flush();
    if (writer.count === 0) this.#drop(run);
    else this.#connection.sql(`UPDATE ${tables.run} SET count = ? WHERE id = ?`).run(writer.count, run);
    this.#changed();
  }

  /** The runs that are being merged, or are to be; of several merges the one of the smallest runs. */
  #toMerge(): Run[] | undefined {
    if (!this.#canMerge) return undefined;
    const groups = new Map<number, Run[]>();
    const settled: Run[] = [];
    let total = 0;
    for (const run of this.#index.runs.all()) {
      total += run.count;
      if (run.into !== undefined) add(groups, -run.into.id, run);
      else if (run.isSettled) {
        add(groups, this.#sizeOf(run), run);
        settled.push(run);
      }
    }
    const due = [...groups]
      .filter(([key, runs]) => key < 0 || runs.length >= this.#sizes.fanout)
      .map(([, runs]) => runs);
    if (due.length > 0) return due.sort((a, b) => this.#sizeOf(a[0] as Run) - this.#sizeOf(b[0] as Run))[0];
    const isMostlyDead = this.#index.dead >= this.#sizes.notes && this.#index.dead * 2 > total;
    return isMostlyDead && settled.length > 0 ? settled : undefined;
  }

  #merge(inputs: readonly Run[], count: number): void {
    const output = inputs[0]?.into ?? this.#beginMerge(inputs);
    const entries = inputs.reduce((all, run) => all + run.count, 0);
    const writer = this.#writer(output.id, entries);
    const { tables } = this.#index;
    const after = output.through ?? START;
    const sources = inputs.map((run) => new RunSource(this.#connection, tables, run.id, after));
    const last = mergeSlice(sources, writer, count);
    writer.flush();
    for (const source of sources) source.dropRead();
    if (last === undefined) this.#endMerge(output.id, output.count + writer.count);
    else
      this.#connection
        .sql(`UPDATE ${tables.run} SET count = count + ?, through_hash = ?, through_seq = ? WHERE id = ?`)
        .run(writer.count, last.hash, last.seq, output.id);
    this.#changed();
  }

  #beginMerge(inputs: readonly Run[]): Pick<Run, "id" | "count" | "through"> {
    const { run: table, state } = this.#index.tables;
    const id = this.#connection
      .sql(`INSERT INTO ${table} (count, through_hash, through_seq) VALUES (0, ?, ?)`)
      .insert(START.hash, START.seq);
    for (const run of inputs)
      this.#connection.sql(`UPDATE ${table} SET into_run = ? WHERE id = ?`).run(id, run.id);
    const isEverything = [...this.#index.runs.all()].every((run) => inputs.includes(run));
    if (isEverything) this.#connection.sql(`UPDATE ${state} SET dead = 0`).run();
    return { id, count: 0, through: START };
  }

  #endMerge(output: number, count: number): void {
    const { run } = this.#index.tables;
    this.#connection.sql(`DELETE FROM ${run} WHERE into_run = ?`).run(output);
    if (count === 0) this.#drop(output);
    else
      this.#connection
        .sql(`UPDATE ${run} SET count = ?, through_hash = NULL, through_seq = NULL WHERE id = ?`)
        .run(count, output);
  }

  #drop(run: number): void {
    this.#connection.sql(`DELETE FROM ${this.#index.tables.run} WHERE id = ?`).run(run);
  }

  /** `entries`: how many the run may get, from the beginning to the end. */
  #writer(run: number, entries: number): RunWriter {
    const parts = {
      connection: this.#connection,
      tables: this.#index.tables,
      isGone: this.#isGone,
      chunk: this.#sizes.chunk,
    };
    return new RunWriter(parts, run, blocksFor(entries));
  }

  /** About which size a run has: 0 is that of one made of notes. One that lost less than half when it was made counts as larger ones. */
  #sizeOf({ count }: Run): number {
    const { notes, fanout } = this.#sizes;
    return Math.max(0, Math.floor(Math.log((2 * count) / notes) / Math.log(fanout)));
  }

  #changed(): void {
    this.#connection.sql(`UPDATE ${this.#index.tables.state} SET version = version + 1`).run();
    this.#index.refresh();
  }
}

function add<K>(groups: Map<K, Run[]>, key: K, run: Run): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [run]);
  else group.push(run);
}
