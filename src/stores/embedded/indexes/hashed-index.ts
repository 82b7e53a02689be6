/**
 * An index of what is spread over all there is, as one connection sees it: ids that are no UUIDv7 (P3), and keys. In a tree each new
 * entry changes a page of its own, and the more there are, the more pages. So here nothing is changed in place:
 *
 *   notes, a row for each commit --enough of them--> a run, sorted by hash --several of about one size--> a larger run
 *
 * Everything is written once for each size there is. What is not in it is looked for in memory alone: among the notes, and in a
 * filter of each run.
 *
 * An entry only tells where to look: whoever follows it compares. So one may lead to what is gone, or two ids share a hash.
 */
import { BusError } from "../../../model/errors.js";
import { busError } from "../errors.js";
import type { Connection } from "../sqlite.js";
import { IndexHash, SECRET_BYTES } from "./index-hash.js";
import { IndexNotes, type NotedEntries } from "./index-notes.js";
import { IndexRuns } from "./index-runs.js";
import type { IndexTables } from "./index-tables.js";

type StateRow = [secret: Buffer, version: number, dead: number, oldestNote: number | null];

export class HashedIndex<E extends NotedEntries> {
  readonly tables: IndexTables;
  readonly notes: IndexNotes<E>;
  readonly runs: IndexRuns;
  /** Nobody can say what is not in it, then, and it stays as it is; whatever needs it not goes on (P14). */
  damage: BusError | undefined;
  /** How many entries lead nowhere, about: those who remove events count. */
  dead = 0;
  protected readonly connection: Connection;
  readonly #state: string;
  #hash: IndexHash | undefined;
  /** Counts the changes of runs, by whoever; -1 if nothing is known of them. */
  #version = -1;

  constructor(connection: Connection, tables: IndexTables, entries: E) {
    this.connection = connection;
    this.tables = tables;
    this.notes = new IndexNotes(connection, tables, entries);
    this.runs = new IndexRuns(connection, tables);
    this.#state = `SELECT key, version, dead, (SELECT id FROM ${tables.note} ORDER BY id LIMIT 1) FROM ${tables.state}`;
  }

  /** Makes hashes. */
  get hash(): IndexHash {
    if (this.#hash === undefined && this.damage === undefined) this.refresh();
    if (this.#hash === undefined) throw this.damage ?? this.#notThere();
    return this.#hash;
  }

  /** Brings what is known up to date. To be called in a transaction. */
  refresh(): void {
    try {
      this.load();
      this.damage = undefined;
    } catch (error) {
      const fault = busError(error, this.connection.path);
      if (fault.code !== "STORE_DAMAGED") throw error;
      this.damage = fault;
    }
  }

  /** Throws if it is damaged. */
  protected load(): void {
    const row = this.connection.sql(this.#state).get<StateRow>();
    if (row === undefined || !Buffer.isBuffer(row[0]) || row[0].length !== SECRET_BYTES)
      throw this.#notThere();
    const [secret, version, dead, oldestNote] = row;
    this.#hash ??= new IndexHash(secret);
    this.dead = dead;
    if (version !== this.#version) this.runs.refresh();
    this.#version = version;
    this.notes.refresh(oldestNote ?? 0);
  }

  /** Nothing is known, and what there is was not found to be damaged. */
  get isForgotten(): boolean {
    return this.#version < 0 && this.damage === undefined;
  }

  /** Nothing that is known is certain. */
  forget(): void {
    this.runs.forget();
    this.notes.clear();
    this.#version = -1;
  }

  #notThere(): BusError {
    return new BusError(
      "STORE_DAMAGED",
      `the index of ${this.tables.title} is damaged: its state is not there; restore a backup`,
    );
  }
}
