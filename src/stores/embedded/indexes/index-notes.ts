/**
 * The newest entries of an index, as one connection sees them: in the file a row for those of each commit, in memory as the index
 * needs them.
 */

import type { Connection } from "../sqlite.js";
import { decodeEntries, type Entries, type EntryList } from "./index-entries.js";
import type { IndexTables } from "./index-tables.js";

/** Entries in memory. */
export interface NotedEntries {
  readonly count: number;
  add(hash: number, part: number, seq: number): void;
  /** All of them, in the order of a run. */
  sorted(): Entries;
  clear(): void;
}

export class IndexNotes<E extends NotedEntries> {
  readonly entries: E;
  readonly #connection: Connection;
  readonly #tables: IndexTables;
  /** Number of the last row that is known, and of the first of all. */
  #through = 0;
  #oldest = 0;

  constructor(connection: Connection, tables: IndexTables, entries: E) {
    this.#connection = connection;
    this.#tables = tables;
    this.entries = entries;
  }

  get through(): number {
    return this.#through;
  }

  /** What comes after this row is not known, after all. That some of it is known nevertheless does no harm. */
  unlearn(through: number): void {
    this.#through = through;
  }

  /** Writes entries as one row, and adds them. */
  write(row: Buffer, entries: EntryList): void {
    this.#through = this.#connection.sql(`INSERT INTO ${this.#tables.note} (entries) VALUES (?)`).insert(row);
    this.#oldest ||= this.#through;
    this.#addAll(entries);
  }

  /** Brings what is known up to date. */
  refresh(oldest: number): void {
    // Those from the first on have become a run.
    if (oldest !== this.#oldest) this.clear();
    this.#oldest = oldest;
    const rows = this.#connection
      .sql(`SELECT id, entries FROM ${this.#tables.note} WHERE id > ? ORDER BY id`)
      .all<[id: number, entries: Buffer]>(this.#through);
    for (const [id, entries] of rows) {
      this.#addAll(decodeEntries(entries, this.#tables, `note ${id}`));
      this.#through = id;
    }
  }

  /** They have all gone elsewhere. */
  drop(): void {
    this.#connection.sql(`DELETE FROM ${this.#tables.note}`).run();
    this.clear();
  }

  /** Nothing is known, or there is nothing. */
  clear(): void {
    this.entries.clear();
    this.#through = 0;
    this.#oldest = 0;
  }

  #addAll({ hashes, parts, seqs, length }: Entries): void {
    for (let i = 0; i < length; i++)
      this.entries.add(hashes[i] as number, parts[i] as number, seqs[i] as number);
  }
}
