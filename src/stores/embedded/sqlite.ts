/**
 * The one file that knows the SQLite engine. Everything above it sees connections, statements and rows as arrays,
 * so that another engine (`node:sqlite`) can take its place here and nowhere else.
 *
 * What the engine at hand does differently from what one expects, and who copes with it:
 * - every number is bound as REAL: integer columns convert it back, sums and products in SQL need CAST (callers);
 * - a boolean parameter ends the process: it is refused here, whatever types say of what came from callers;
 * - a missing one counts as NULL: rows are written with as many values as there are question marks (callers);
 * - between it and the operating system stands a layer for encrypted files that takes a read that failed for one that succeeded: what
 *   happened to be in memory is the page then, and is written into the file. `addressOf` goes past it;
 * - text comes back cut at its first NUL: names that users choose are kept as BLOB (callers);
 * - a statement keeps its connection open after `close` until it is collected: `close` here lets go of them all.
 */
import { pathToFileURL } from "node:url";
import Database from "libsql";

/** What a column of SQLite holds. */
export type SqlValue = number | string | Uint8Array | null;
export type Row = readonly SqlValue[];

/** An error of the engine; `code` is SQLite's name for it, such as "SQLITE_FULL". */
export class SqliteFault extends Error {
  override readonly name = "SqliteFault";
  readonly code: string;

  constructor(code: string, message: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** Places for the values of so many rows in one statement. */
export function rowsOf(count: number, row: string): string {
  return new Array<string>(count).fill(row).join(", ");
}

function bindable(values: readonly unknown[]): readonly unknown[] {
  for (let i = 0; i < values.length; i++)
    if (typeof values[i] === "boolean")
      throw new SqliteFault(
        "SQLITE_MISMATCH",
        "a boolean stands where a number or a text belongs",
        undefined,
      );
  return values;
}

export class Statement {
  readonly #inner: Database.Statement;

  constructor(inner: Database.Statement) {
    this.#inner = inner;
  }

  /** Returns how many rows changed. */
  run(...values: SqlValue[]): number {
    try {
      return this.#inner.run(bindable(values)).changes;
    } catch (error) {
      throw fault(error);
    }
  }

  /** Returns the number that the new row was given. */
  insert(...values: SqlValue[]): number {
    try {
      return Number(this.#inner.run(bindable(values)).lastInsertRowid);
    } catch (error) {
      throw fault(error);
    }
  }

  get<T extends Row>(...values: SqlValue[]): T | undefined {
    try {
      return this.#inner.get(bindable(values)) as T | undefined;
    } catch (error) {
      throw fault(error);
    }
  }

  all<T extends Row>(...values: SqlValue[]): T[] {
    try {
      return this.#inner.all(bindable(values)) as T[];
    } catch (error) {
      throw fault(error);
    }
  }
}

export class Connection {
  readonly path: string;
  #database: Database.Database | undefined;
  readonly #statements = new Map<string, Statement>();

  constructor(path: string, o: { busyTimeoutMs: number }) {
    this.path = path;
    try {
      this.#database = new Database(addressOf(path), { timeout: o.busyTimeoutMs });
    } catch (error) {
      throw fault(error);
    }
  }

  /** Prepared once per text and connection. For texts the program is made of, never for texts made of data. */
  sql(text: string): Statement {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }

  /** Prepared for this caller, who keeps it as long as needed. */
  prepare(text: string): Statement {
    try {
      const inner = this.#open.prepare(text);
      // Rows as arrays cost less than half of rows as objects. Statements that give no rows refuse the call.
      if (inner.reader) inner.raw(true);
      return new Statement(inner);
    } catch (error) {
      throw fault(error);
    }
  }

  exec(text: string): void {
    try {
      this.#open.exec(text);
    } catch (error) {
      throw fault(error);
    }
  }

  pragma(name: string): SqlValue {
    return this.prepare(`PRAGMA ${name}`).get()?.[0] ?? null;
  }

  get inTransaction(): boolean {
    return this.#open.inTransaction;
  }

  /** Runs `work` on one state of the file, whatever others commit meanwhile. */
  snapshot<T>(work: () => T): T {
    this.exec("BEGIN");
    try {
      return work();
    } finally {
      // A device that failed has ended it, and what it said is what counts.
      if (this.inTransaction) this.exec("COMMIT");
    }
  }

  close(): void {
    this.#statements.clear();
    const database = this.#database;
    this.#database = undefined;
    database?.close();
  }

  get #open(): Database.Database {
    if (this.#database === undefined) throw new SqliteFault("CLOSED", "the connection is closed", undefined);
    return this.#database;
  }
}

/** Of a file, with the engine's own way to the operating system. */
function addressOf(path: string): string {
  return `${pathToFileURL(path).href}?vfs=${process.platform === "win32" ? "win32" : "unix"}`;
}

/** A file that cannot be opened is told without a code: its number stands at the end of the words, in its lowest byte. */
function codeOfOpening(message: string): string {
  const number = Number(/: (\d+)\D*$/.exec(message)?.[1]) & 255;
  return number === 14 ? "SQLITE_CANTOPEN" : number === 10 ? "SQLITE_IOERR" : "SQLITE_ERROR";
}

function fault(error: unknown): Error {
  if (error instanceof SqliteFault) return error;
  if (error instanceof Error && "code" in error && typeof error.code === "string") {
    return new SqliteFault(error.code || codeOfOpening(error.message), error.message, error);
  }
  return error instanceof Error ? error : new Error(String(error));
}
