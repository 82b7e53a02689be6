/** A view as the writing thread knows it: its table, what is remembered of its documents, and how they are put down. */
import type { ViewIndex } from "../../../ports/documents.js";
import { type Connection, rowsOf, type Statement } from "../sqlite.js";
import { DocumentMemory } from "./document-memory.js";

export interface ViewRow {
  readonly id: number;
  readonly name: string;
  readonly table: string;
  readonly indexes: readonly ViewIndex[];
}

export function findView(connection: Connection, name: string): ViewRow | undefined {
  const row = connection
    .sql("SELECT id, indexes FROM view WHERE name = ?")
    .get<[id: number, indexes: string]>(name);
  return row === undefined
    ? undefined
    : { id: row[0], name, table: `doc_${row[0]}`, indexes: JSON.parse(row[1]) };
}

/** Rows of one statement, largest first: any number of them takes few statements, and few are prepared. */
const ROWS = [64, 16, 4, 1] as const;

export class KnownView implements ViewRow {
  readonly id: number;
  readonly name: string;
  readonly table: string;
  readonly indexes: readonly ViewIndex[];
  readonly memory = new DocumentMemory();
  /** Statements that put down so many rows of (key, version, ts, fields). */
  readonly puts: readonly { readonly rows: number; readonly statement: Statement }[];

  constructor(connection: Connection, { id, name, table, indexes }: ViewRow) {
    this.id = id;
    this.name = name;
    this.table = table;
    this.indexes = indexes;
    this.puts = ROWS.map((rows) => ({ rows, statement: connection.sql(putSql(table, rows)) }));
  }
}

/** Keys are bound as text where that gives the same bytes: it costs less than a buffer for each. */
function putSql(table: string, rows: number): string {
  const places = rowsOf(rows, "(CAST(? AS BLOB), ?, ?, ?)");
  return `INSERT INTO ${table} (key, version, ts, fields) VALUES ${places}
    ON CONFLICT (key) DO UPDATE SET version = excluded.version, ts = excluded.ts, fields = excluded.fields`;
}
