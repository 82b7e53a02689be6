/** Documents out of the file, as rows: what crosses between threads. */
import type { JsonObject } from "../../../model/json.js";
import type { DocumentPage, DocumentQuery, ViewDocument } from "../../../ports/documents.js";
import { parseFrozen } from "../json-copy.js";
import type { Connection } from "../sqlite.js";
import { findSql, tokenOf } from "./document-query.js";
import { findView } from "./document-view.js";

export type DocumentRow = [key: Uint8Array, version: number, ts: number, fields: string];

/** Rows of a page, and one more if there is one. */
export function findDocuments(connection: Connection, view: string, query: DocumentQuery): DocumentRow[] {
  const row = findView(connection, view);
  if (row === undefined) return [];
  const { text, values } = findSql(row.table, query);
  return connection.prepare(text).all<DocumentRow>(...values);
}

export function getDocuments(connection: Connection, view: string, keys: readonly string[]): DocumentRow[] {
  const row = findView(connection, view);
  if (row === undefined) return [];
  const select = connection.sql(
    `SELECT key, version, ts, fields FROM ${row.table} WHERE key = ? AND fields IS NOT NULL`,
  );
  return keys.flatMap((key) => {
    const found = select.get<DocumentRow>(Buffer.from(key, "utf8"));
    return found === undefined ? [] : [found];
  });
}

export function pageOf(rows: readonly DocumentRow[], query: DocumentQuery): DocumentPage {
  const documents = rows.slice(0, query.limit).map(documentOf);
  const last = documents.at(-1);
  return { documents, next: rows.length > query.limit && last !== undefined ? tokenOf(last, query) : null };
}

export function documentOf([key, version, ts, fields]: DocumentRow): ViewDocument {
  return Object.freeze({
    key: Buffer.from(key).toString("utf8"),
    version,
    ts,
    fields: parseFrozen<JsonObject>(fields),
  });
}
