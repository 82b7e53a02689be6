/**
 * Keeps the index of ids in order, in the writing thread, a slice at a time, so that appends are not kept waiting: notes become runs,
 * and runs of about one size become one. Each slice is part of one commit, and the file says how far it came; any process may go on
 * from there.
 *
 *   settled --a merge begins--> into another, loses its chunks from the front --`through` has reached the end--> gone
 *   (output) through = -1, ... , settled
 *
 * Entries whose events are gone are left out: those below the low of their partition, and those that meet an entry that says so.
 */
import { BusError } from "../../model/errors.js";
import { MAX_CHUNK } from "./id-entries.js";
import type { IdIndex } from "./id-index.js";
import { mergeSlice, RunSource } from "./id-run-source.js";
import { RunWriter } from "./id-run-writer.js";
import type { Run } from "./id-runs.js";
import type { Partitions } from "./partitions.js";
import type { Connection } from "./sqlite.js";

export interface IdSizes {
  /** Notes that become a run. */
  readonly notes: number;
  /** Entries of a chunk of a run; a few more, where the hashes of the last ones are the same. */
  readonly chunk: number;
  /** Runs of about one size that become one, and how much larger the next size is. */
  readonly fanout: number;
  /** Entries that are merged at a time, at least, */
  readonly slice: number;
  /** and for each that is new: that much keeps up with as many sizes of runs. */
  readonly mergedPerNew: number;
}

export const ID_SIZES: IdSizes = {
  notes: 32_768,
  chunk: MAX_CHUNK,
  fanout: 8,
  slice: 8_192,
  mergedPerNew: 4,
};

export interface IdMergerParts {
  readonly connection: Connection;
  readonly index: IdIndex;
  readonly partitions: Partitions;
  readonly sizes: IdSizes;
}

export class IdMerger {
  readonly #connection: Connection;
  readonly #index: IdIndex;
  readonly #partitions: Partitions;
  readonly #sizes: IdSizes;
  /** False once a merge has met damage, and then until the file is opened again: notes go on becoming runs. */
  #canMerge = true;

  constructor({ connection, index, partitions, sizes }: IdMergerParts) {
    this.#connection = connection;
    this.#index = index;
    this.#partitions = partitions;
    this.#sizes = sizes;
  }

  get isDue(): boolean {
    return this.#index.damage === undefined && (this.#isRunDue || this.#toMerge() !== undefined);
  }

  get #isRunDue(): boolean {
    return this.#index.notes.count >= this.#sizes.notes;
  }

  /** `added`: how many entries are new since the last one. */
  slice(added: number): void {
    if (this.#isRunDue) this.#makeRun();
    const inputs = this.#toMerge();
    const { slice, mergedPerNew } = this.#sizes;
    const count = Math.max(slice, mergedPerNew * added);
    if (inputs === undefined) return;
    try {
      this.#merge(inputs, count);
    } catch (error) {
      if (BusError.is(error, "STORE_DAMAGED")) this.#canMerge = false;
      throw error;
    }
  }

  /** All notes become a run. They go first: there may be no room for both. */
  #makeRun(): void {
    const { notes } = this.#index;
    const entries = notes.sorted();
    this.#connection.sql("DELETE FROM id_note").run();
    notes.clear();
    const run = this.#connection.sql("INSERT INTO id_run (count) VALUES (0)").insert();
    const writer = this.#writer(run);
    for (let i = 0; i < entries.length; i++) writer.addFrom(entries, i);
    writer.flush();
    if (writer.count === 0) this.#drop(run);
    else this.#connection.sql("UPDATE id_run SET count = ? WHERE id = ?").run(writer.count, run);
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
    const writer = this.#writer(output.id);
    const sources = inputs.map((run) => new RunSource(this.#connection, run.id, output.through ?? -1));
    const last = mergeSlice(sources, writer, count);
    writer.flush();
    for (const source of sources) source.dropRead();
    if (last === undefined) this.#endMerge(output.id, output.count + writer.count);
    else
      this.#connection
        .sql("UPDATE id_run SET count = count + ?, through = ? WHERE id = ?")
        .run(writer.count, last, output.id);
    this.#changed();
  }

  #beginMerge(inputs: readonly Run[]): Pick<Run, "id" | "count" | "through"> {
    const id = this.#connection.sql("INSERT INTO id_run (count, through) VALUES (0, -1)").insert();
    for (const run of inputs)
      this.#connection.sql("UPDATE id_run SET into_run = ? WHERE id = ?").run(id, run.id);
    const isEverything = [...this.#index.runs.all()].every((run) => inputs.includes(run));
    if (isEverything) this.#connection.sql("UPDATE id_state SET dead = 0").run();
    return { id, count: 0, through: -1 };
  }

  #endMerge(output: number, count: number): void {
    this.#connection.sql("DELETE FROM id_run WHERE into_run = ?").run(output);
    if (count === 0) this.#drop(output);
    else this.#connection.sql("UPDATE id_run SET count = ?, through = NULL WHERE id = ?").run(count, output);
  }

  #drop(run: number): void {
    this.#connection.sql("DELETE FROM id_run WHERE id = ?").run(run);
  }

  #writer(run: number): RunWriter {
    return new RunWriter(this.#connection, run, { partitions: this.#partitions, chunk: this.#sizes.chunk });
  }

  /** About which size a run has: 0 is that of one made of notes. One that lost less than half when it was made counts as larger ones. */
  #sizeOf({ count }: Run): number {
    const { notes, fanout } = this.#sizes;
    return Math.max(0, Math.floor(Math.log((2 * count) / notes) / Math.log(fanout)));
  }

  #changed(): void {
    this.#connection.sql("UPDATE id_state SET version = version + 1").run();
    this.#index.refresh();
  }
}

function add<K>(groups: Map<K, Run[]>, key: K, run: Run): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [run]);
  else group.push(run);
}
