/**
 * Views, in the writing thread: a table each, documents as JSON text, tombstones as rows without fields. A call is one
 * step of a transaction: all of it happens, with its cursor, or nothing does (P9).
 */
import { BusError } from "../../../model/errors.js";
import type { WriteResult } from "../../../ports/documents.js";
import type { LeaseWriter } from "../lease-writer.js";
import type { ArgumentOf, Operations } from "../protocol.js";
import { type Connection, SqliteFault } from "../sqlite.js";
import { DocumentBatch } from "./document-batch.js";
import { type TextWrite, unpackWrites } from "./document-message.js";
import { findView, KnownView, type ViewRow } from "./document-view.js";
import { indexSql } from "./view-fields.js";

/** Views whose documents are remembered. */
const MAX_KNOWN = 4;

type DocumentOperations = Pick<Operations, "defineView" | "writeDocuments" | "dropView" | "purgeView">;

export class DocumentWriter implements DocumentOperations {
  readonly #connection: Connection;
  readonly #leases: LeaseWriter;
  readonly #known = new Map<string, KnownView>();

  constructor(connection: Connection, leases: LeaseWriter) {
    this.#connection = connection;
    this.#leases = leases;
  }

  /** What is known may be wrong: another process has written, or something was rolled back. */
  forget(): void {
    this.#known.clear();
  }

  defineView({ view: name, indexes }: ArgumentOf<"defineView">): void {
    const view = this.#ensure(name);
    this.#known.delete(name);
    const all = [...view.indexes];
    for (const index of indexes) {
      const text = JSON.stringify(index.keys);
      if (all.some((i) => JSON.stringify(i.keys) === text && !i.unique === !index.unique)) continue;
      this.#guardUnique(view, () => this.#connection.exec(indexSql(view.table, all.length, index)));
      all.push(index);
    }
    if (all.length === view.indexes.length) return;
    this.#connection.sql("UPDATE view SET indexes = ? WHERE id = ?").run(JSON.stringify(all), view.id);
  }

  writeDocuments({ parts, cursor }: ArgumentOf<"writeDocuments">): WriteResult {
    if (cursor !== undefined) this.#leases.check(cursor);
    let applied = 0;
    let stale = 0;
    for (const part of parts) {
      const result = this.#write(this.#ensure(part.view), unpackWrites(part));
      applied += result.applied;
      stale += result.stale;
    }
    if (cursor !== undefined) this.#leases.commit(cursor);
    return { applied, stale };
  }

  dropView({ view: name }: ArgumentOf<"dropView">): void {
    this.#known.delete(name);
    const view = findView(this.#connection, name);
    if (view === undefined) return;
    this.#connection.exec(`DROP TABLE ${view.table}`);
    this.#connection.sql("DELETE FROM view WHERE id = ?").run(view.id);
  }

  purgeView({ view: name, beforeTs }: ArgumentOf<"purgeView">): number {
    this.#known.delete(name);
    const view = findView(this.#connection, name);
    if (view === undefined) return 0;
    return this.#connection.sql(`DELETE FROM ${view.table} WHERE fields IS NULL AND ts < ?`).run(beforeTs);
  }

  #write(view: KnownView, writes: readonly TextWrite[]): WriteResult {
    const batch = new DocumentBatch(this.#connection, view);
    const each = view.indexes.some((index) => index.unique);
    this.#guardUnique(view, () => batch.run(writes, { each }));
    const { added, ...result } = batch.result;
    if (added !== 0) {
      this.#connection.sql("UPDATE view SET documents = documents + ? WHERE id = ?").run(added, view.id);
    }
    return result;
  }

  #ensure(name: string): KnownView {
    let view = this.#known.get(name);
    if (view !== undefined) return view;
    view = new KnownView(this.#connection, findView(this.#connection, name) ?? this.#make(name));
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(name, view);
    return view;
  }

  #make(name: string): ViewRow {
    this.#connection.sql("INSERT INTO view (name, indexes, documents) VALUES (?, '[]', 0)").run(name);
    const made = findView(this.#connection, name);
    if (made === undefined) throw new Error(`view "${name}" was not made`);
    this.#connection.exec(
      `CREATE TABLE ${made.table} (key BLOB PRIMARY KEY, version INTEGER NOT NULL, ts INTEGER NOT NULL, fields TEXT) WITHOUT ROWID`,
    );
    return made;
  }

  #guardUnique(view: ViewRow, work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof SqliteFault) || !error.code.startsWith("SQLITE_CONSTRAINT")) throw error;
      throw notUnique(view, error);
    }
  }
}

function notUnique(view: ViewRow, cause: unknown): BusError {
  return new BusError(
    "WRITE_CONFLICT",
    `two documents of view "${view.name}" have the same values in fields that must be unique`,
    { cause, retryable: false, details: { view: view.name } },
  );
}
