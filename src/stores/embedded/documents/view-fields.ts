/**
 * Fields of documents in SQL. A field's value is ordered by its kind first (rank), then among its kind (value):
 * missing, null, booleans, numbers, strings, and last whatever has no order of its own. Declared indexes are built on
 * these very expressions, so that filters and orders that use them find the index.
 */
import type { ViewIndex } from "../../../ports/documents.js";

export const KEY_FIELD = "_key";

export const RANKS = { missing: 0, null: 1, boolean: 2, number: 3, string: 4, other: 5 } as const;

export interface FieldSql {
  readonly rank: string;
  readonly value: string;
}

/** Expressions for a field of a table whose columns are `key` (UTF-8 bytes) and `fields` (JSON text). */
export function fieldSql(path: string): FieldSql {
  if (path === KEY_FIELD) return { rank: String(RANKS.string), value: "key" };
  const place = jsonPath(path);
  return {
    rank:
      `CASE json_type(fields, ${place}) WHEN 'text' THEN 4 WHEN 'integer' THEN 3 WHEN 'real' THEN 3` +
      ` WHEN 'true' THEN 2 WHEN 'false' THEN 2 WHEN 'null' THEN 1 WHEN 'object' THEN 5 WHEN 'array' THEN 5 ELSE 0 END`,
    value: `CASE WHEN json_type(fields, ${place}) IN ('object', 'array') THEN NULL ELSE json_extract(fields, ${place}) END`,
  };
}

/** Rank of a value from outside, as `fieldSql` ranks those in documents. */
export function rankOf(value: unknown): number {
  if (value === undefined) return RANKS.missing;
  if (value === null) return RANKS.null;
  if (typeof value === "boolean") return RANKS.boolean;
  if (typeof value === "number") return RANKS.number;
  return typeof value === "string" ? RANKS.string : RANKS.other;
}

/** What creates an index on a view's table. A unique one binds only documents that have all its fields. */
export function indexSql(table: string, number: number, index: ViewIndex): string {
  const paths = Object.entries(index.keys);
  const name = `${table}_i${number}`;
  if (index.unique) {
    const values = paths.map(([path]) => `(fields -> ${jsonPath(path)})`);
    const present = paths.map(([path]) => `json_type(fields, ${jsonPath(path)}) IS NOT NULL`);
    return `CREATE UNIQUE INDEX ${name} ON ${table} (${values.join(", ")}) WHERE fields IS NOT NULL AND ${present.join(" AND ")}`;
  }
  const columns = paths.flatMap(([path, direction]) => {
    const { rank, value } = fieldSql(path);
    const order = direction === -1 ? "DESC" : "ASC";
    return path === KEY_FIELD ? [`key ${order}`] : [`${rank} ${order}`, `${value} ${order}`];
  });
  return `CREATE INDEX ${name} ON ${table} (${columns.join(", ")}) WHERE fields IS NOT NULL`;
}

/** The value at a path, or undefined. A dot enters a nested object; arrays are values and are not entered. */
export function valueAt(fields: unknown, path: string): unknown {
  let value = fields;
  for (const name of path.split(".")) {
    if (value === null || typeof value !== "object" || Array.isArray(value) || !Object.hasOwn(value, name)) {
      return undefined;
    }
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** The path as a SQL literal. SQLite ends a quoted name at the first quote, escaped or not: so none may show. */
function jsonPath(path: string): string {
  const names = path
    .split(".")
    .map((name) => `."${JSON.stringify(name).slice(1, -1).replaceAll('\\"', "\\u0022")}"`);
  return `'$${names.join("").replaceAll("'", "''")}'`;
}
