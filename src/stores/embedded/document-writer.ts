/**
 * Views, in the writing thread: a table each, documents as JSON text, tombstones as rows without fields. A call is one
 * step of a transaction: all of it happens, with its cursor, or nothing does (P9).
 */
import { BusError } from "../../model/errors.js";
import type { JsonObject, JsonValue } from "../../model/json.js";
import type { ViewIndex, WriteResult } from "../../ports/documents.js";
import type { LeaseWriter } from "./lease-writer.js";
import type { ArgumentOf, Operations, TextWrite } from "./protocol.js";
import { type Connection, SqliteFault } from "./sqlite.js";
import { indexSql } from "./view-fields.js";

export interface ViewRow {
  readonly id: number;
  readonly name: string;
  readonly table: string;
  readonly indexes: readonly ViewIndex[];
  readonly documents: number;
}

export function findView(connection: Connection, name: string): ViewRow | undefined {
  const row = connection
    .sql("SELECT id, indexes, documents FROM view WHERE name = ?")
    .get<[id: number, indexes: string, documents: number]>(name);
  return row === undefined
    ? undefined
    : { id: row[0], name, table: `doc_${row[0]}`, indexes: JSON.parse(row[1]), documents: row[2] };
}

interface Present {
  readonly version: number;
  readonly isDocument: boolean;
}

type DocumentOperations = Pick<Operations, "defineView" | "writeDocuments" | "dropView" | "purgeView">;

export class DocumentWriter implements DocumentOperations {
  readonly #connection: Connection;
  readonly #leases: LeaseWriter;

  constructor(connection: Connection, leases: LeaseWriter) {
    this.#connection = connection;
    this.#leases = leases;
  }

  defineView({ view: name, indexes }: ArgumentOf<"defineView">): void {
    const view = this.#ensure(name);
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
    for (const { view: name, writes } of parts) {
      const view = this.#ensure(name);
      let added = 0;
      for (const write of writes) {
        const change = this.#apply(view, write);
        if (change === undefined) stale++;
        else {
          applied++;
          added += change;
        }
      }
      if (added !== 0) {
        this.#connection.sql("UPDATE view SET documents = documents + ? WHERE id = ?").run(added, view.id);
      }
    }
    if (cursor !== undefined) this.#leases.commit(cursor);
    return { applied, stale };
  }

  dropView({ view: name }: ArgumentOf<"dropView">): void {
    const view = findView(this.#connection, name);
    if (view === undefined) return;
    this.#connection.exec(`DROP TABLE ${view.table}`);
    this.#connection.sql("DELETE FROM view WHERE id = ?").run(view.id);
  }

  purgeView({ view: name, beforeTs }: ArgumentOf<"purgeView">): number {
    const view = findView(this.#connection, name);
    if (view === undefined) return 0;
    return this.#connection.sql(`DELETE FROM ${view.table} WHERE fields IS NULL AND ts < ?`).run(beforeTs);
  }

  /** How the number of documents changed; undefined if the write was stale. */
  #apply(view: ViewRow, write: TextWrite): number | undefined {
    const key = Buffer.from(write.key, "utf8");
    const present = this.#present(view, key);
    checkExpected(view, write, present);
    const version = write.version ?? (present?.version ?? 0) + 1;
    if (present !== undefined && version <= present.version) return undefined;
    const fields = write.op === "increment" ? this.#incremented(view, key, write) : (write.fields ?? null);
    this.#guardUnique(view, () =>
      this.#connection
        .sql(
          `INSERT INTO ${view.table} (key, version, ts, fields) VALUES (?, ?, ?, ?)
           ON CONFLICT (key) DO UPDATE SET version = excluded.version, ts = excluded.ts, fields = excluded.fields`,
        )
        .run(key, version, write.ts, fields),
    );
    return Number(fields !== null) - Number(present?.isDocument ?? false);
  }

  #present(view: ViewRow, key: Buffer): Present | undefined {
    const row = this.#connection
      .sql(`SELECT version, fields IS NOT NULL FROM ${view.table} WHERE key = ?`)
      .get<[version: number, isDocument: number]>(key);
    return row === undefined ? undefined : { version: row[0], isDocument: row[1] === 1 };
  }

  #incremented(view: ViewRow, key: Buffer, { by }: TextWrite): string {
    const text = this.#connection
      .sql(`SELECT fields FROM ${view.table} WHERE key = ?`)
      .get<[string | null]>(key)?.[0];
    const sums = new Map<string, JsonValue>(Object.entries(JSON.parse(text ?? "{}") as JsonObject));
    for (const [name, amount] of Object.entries(by ?? {})) {
      const present = sums.get(name);
      sums.set(name, (typeof present === "number" ? present : 0) + amount);
    }
    // fromEntries defines members, so that `__proto__` is one like any other.
    return JSON.stringify(Object.fromEntries(sums));
  }

  #ensure(name: string): ViewRow {
    const view = findView(this.#connection, name);
    if (view !== undefined) return view;
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

function checkExpected(view: ViewRow, write: TextWrite, present: Present | undefined): void {
  if (write.expected === undefined) return;
  const version = present?.isDocument ? present.version : null;
  if (version === write.expected) return;
  throw new BusError(
    "WRITE_CONFLICT",
    `document "${write.key}" of view "${view.name}" is at version ${version}, not at ${write.expected}`,
    { details: { view: view.name, key: write.key, version } },
  );
}
