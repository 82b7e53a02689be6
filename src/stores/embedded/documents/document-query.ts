/**
 * A document query as SQL. Pure. Values from outside are always bound, never part of the text; field paths are, as
 * quoted literals.
 *
 * A page ends at a place (rank and value of the order field, and key), not at a number of documents, so that writes
 * between two pages neither repeat nor hide the documents that stay where they are.
 */
import { BusError } from "../../../model/errors.js";
import type { DocumentQuery, FieldCondition, FieldValue, ViewDocument } from "../../../ports/documents.js";
import type { SqlValue } from "../sqlite.js";
import { type FieldSql, fieldSql, KEY_FIELD, RANKS, rankOf, valueAt } from "./view-fields.js";

export interface FindSql {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/** Asks for one document more than the page holds, to see whether there is a next one. */
export function findSql(table: string, query: DocumentQuery): FindSql {
  const where = new Conditions();
  for (const [path, wanted] of Object.entries(query.where ?? {})) addField(where, path, wanted);
  const field = query.order?.field ?? KEY_FIELD;
  const direction = query.order?.descending ? "DESC" : "ASC";
  if (query.after !== undefined) addPlace(where, field, direction, placeOf(query.after));
  const { rank, value } = fieldSql(field);
  const order =
    field === KEY_FIELD
      ? `key ${direction}`
      : `${rank} ${direction}, ${value} ${direction}, key ${direction}`;
  return {
    text: `SELECT key, version, ts, fields FROM ${table} WHERE ${where.text} ORDER BY ${order} LIMIT ?`,
    values: [...where.values, query.limit + 1],
  };
}

/** Where a page that ends with this document goes on. */
export function tokenOf(document: ViewDocument, query: DocumentQuery): string {
  const field = query.order?.field ?? KEY_FIELD;
  const value = field === KEY_FIELD ? undefined : valueAt(document.fields, field);
  const rank = rankOf(value);
  const parts =
    rank === RANKS.missing || rank === RANKS.other ? [document.key, rank] : [document.key, rank, value];
  return Buffer.from(JSON.stringify(parts), "utf8").toString("base64url");
}

interface Place {
  readonly key: string;
  readonly rank: number;
  readonly value: FieldValue;
}

class Conditions {
  readonly #texts = ["fields IS NOT NULL"];
  readonly values: SqlValue[] = [];

  add(text: string, ...values: SqlValue[]): void {
    this.#texts.push(`(${text})`);
    this.values.push(...values);
  }

  get text(): string {
    return this.#texts.join(" AND ");
  }
}

function addField(where: Conditions, path: string, wanted: FieldValue | FieldCondition): void {
  const isKey = path === KEY_FIELD;
  const sql = fieldSql(path);
  const condition: FieldCondition = wanted === null || typeof wanted !== "object" ? { eq: wanted } : wanted;
  const { eq, ne, prefix, exists } = condition;
  if (eq !== undefined) where.add(...equality(sql, eq, isKey));
  if (ne !== undefined) {
    const [text, ...values] = equality(sql, ne, isKey);
    where.add(`NOT (${text})`, ...values);
  }
  if (condition.in !== undefined) addIn(where, sql, condition.in, isKey);
  for (const [name, operator] of COMPARISONS) {
    const bound = condition[name];
    if (bound !== undefined) {
      where.add(`${sql.rank} = ${rankOf(bound)} AND ${sql.value} ${operator} ?`, bind(bound, isKey));
    }
  }
  if (prefix !== undefined) addPrefix(where, sql, prefix, isKey);
  if (exists !== undefined) where.add(`${sql.rank} ${exists ? "<>" : "="} ${RANKS.missing}`);
}

const COMPARISONS = [
  ["gt", ">"],
  ["gte", ">="],
  ["lt", "<"],
  ["lte", "<="],
] as const;

function equality({ rank, value }: FieldSql, wanted: FieldValue, isKey: boolean): [string, ...SqlValue[]] {
  if (wanted === null) return [`${rank} = ${RANKS.null}`];
  return [`${rank} = ${rankOf(wanted)} AND ${value} = ?`, bind(wanted, isKey)];
}

function addIn(where: Conditions, sql: FieldSql, wanted: readonly FieldValue[], isKey: boolean): void {
  const parts = wanted.map((one) => equality(sql, one, isKey));
  const text = parts.map(([part]) => `(${part})`).join(" OR ");
  where.add(text === "" ? "0" : text, ...parts.flatMap(([, ...values]) => values));
}

function addPrefix(where: Conditions, { rank, value }: FieldSql, prefix: string, isKey: boolean): void {
  where.add(`${rank} = ${RANKS.string} AND ${value} >= ?`, bind(prefix, isKey));
  const end = afterPrefix(prefix);
  if (end !== undefined) where.add(`${value} < ?`, bind(end, isKey));
}

/** The least string above all that begin with `prefix`; undefined if there is none. */
function afterPrefix(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0) as number);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    // Surrogates are no characters of their own: what follows U+D7FF is U+E000.
    if (last < 0x10ffff) return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
  }
  return undefined;
}

function addPlace(where: Conditions, field: string, direction: "ASC" | "DESC", place: Place): void {
  const beyond = direction === "ASC" ? ">" : "<";
  const key = Buffer.from(place.key, "utf8");
  if (field === KEY_FIELD) {
    where.add(`key ${beyond} ?`, key);
    return;
  }
  const { rank, value } = fieldSql(field);
  const { rank: placeRank, value: placeValue } = place;
  // Within a rank that has no values, the key alone decides.
  if (placeRank < RANKS.boolean || placeRank > RANKS.string) {
    where.add(`${rank} ${beyond}= ? AND (${rank} ${beyond} ? OR key ${beyond} ?)`, placeRank, placeRank, key);
    return;
  }
  const bound = bind(placeValue, false);
  where.add(
    `${rank} ${beyond}= ? AND (${rank} ${beyond} ? OR ${value} ${beyond} ? OR (${value} = ? AND key ${beyond} ?))`,
    placeRank,
    placeRank,
    bound,
    bound,
    key,
  );
}

function bind(value: FieldValue, isKey: boolean): SqlValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  return isKey && typeof value === "string" ? Buffer.from(value, "utf8") : value;
}

function placeOf(token: string): Place {
  try {
    const parts: unknown = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
    if (Array.isArray(parts) && typeof parts[0] === "string" && typeof parts[1] === "number") {
      return { key: parts[0], rank: parts[1], value: scalar(parts[2]) };
    }
  } catch {
    // Falls through: whatever is wrong with it, the caller hears the same.
  }
  throw new BusError("INVALID_OPTION", "`after` is not the `next` of an earlier page");
}

function scalar(value: unknown): FieldValue {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
}
