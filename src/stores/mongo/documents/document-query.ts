/**
 * Queries over a view, as filters for MongoDB. Pure.
 *
 * MongoDB looks into arrays, takes missing for null and orders types in its own way; the port does none of that. So each
 * condition is told twice: in the form that an index can serve, which may let through too much, and as an exact
 * expression. For the order, values are read type by type, in the port's order, each of which MongoDB sorts as we do.
 */
import type { Document, Filter } from "mongodb";
import { BusError } from "../../../model/errors.js";
import type { DocumentQuery, FieldCondition, FieldValue } from "../../../ports/documents.js";
import { bsonPath, bsonText, plainText } from "../bson-json.js";
import type { ViewRow } from "../collections.js";

const KEY_FIELD = "_key";
type RowFilter = Filter<ViewRow>;

/** Types in their order; the last one takes in whatever has no order of its own. */
const RANKS = ["missing", "null", "bool", "number", "string", "other"] as const;
type Rank = (typeof RANKS)[number];

/** A place between two documents: where a page ended. */
interface Place {
  readonly rank: Rank;
  readonly value: unknown;
  readonly key: string;
}

/** One query of MongoDB's; the pages of several, one after the other, are the answer. */
export interface Stretch {
  readonly rank: Rank;
  readonly filter: RowFilter;
  readonly sort: Record<string, 1 | -1>;
  /** Of a rank that has lists in it: the same for a view that has none at this path, by an index. */
  readonly withoutLists?: { readonly path: string; readonly filter: RowFilter };
}

/** The queries that together answer `query`, in order. */
export function stretchesOf(query: DocumentQuery): Stretch[] {
  const where: RowFilter = { $and: [{ gone: { $exists: false } }, ...conditionsOf(query.where ?? {})] };
  const field = query.order?.field ?? KEY_FIELD;
  const descending = query.order?.descending === true;
  const direction = descending ? -1 : 1;
  const after = query.after === undefined ? undefined : placeOf(query.after);
  if (field === KEY_FIELD) {
    const filter = after === undefined ? where : { $and: [where, beyondKey(after.key, descending)] };
    return [{ rank: "string", filter, sort: { _id: direction } }];
  }
  const ranks = descending ? RANKS.toReversed() : RANKS;
  const rest = after === undefined ? ranks : ranks.slice(ranks.indexOf(after.rank));
  const path = storedPath(field);
  return rest.map((rank) => {
    const bounds = after?.rank === rank ? [beyond(after, path, descending)] : [];
    const all = (ranked: RowFilter): RowFilter => ({ $and: [where, ranked, ...bounds] });
    const sorted = rank === "bool" || rank === "number" || rank === "string";
    return {
      rank,
      filter: all(ofRank(rank, field)),
      sort: sorted ? { [path]: direction, _id: direction } : { _id: direction },
      ...(rank === "other" && { withoutLists: { path, filter: all(ofOtherWithoutLists(field)) } }),
    };
  });
}

/** Where a page that ends with this document goes on. */
export function tokenAfter(row: ViewRow, rank: Rank, query: DocumentQuery): string {
  const field = query.order?.field ?? KEY_FIELD;
  const value = field === KEY_FIELD || rank === "other" ? null : (valueAt(row, field) ?? null);
  return Buffer.from(JSON.stringify([rank, value, plainText(row._id)]), "utf8").toString("base64url");
}

function placeOf(token: string): Place {
  try {
    const parts: unknown = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
    if (Array.isArray(parts) && RANKS.includes(parts[0]) && typeof parts[2] === "string") {
      return { rank: parts[0], value: parts[1], key: parts[2] };
    }
  } catch {
    // Falls through: whatever is wrong with it, the caller hears the same.
  }
  throw new BusError("INVALID_OPTION", "`after` is not the `next` of an earlier page");
}

function valueAt(row: ViewRow, field: string): unknown {
  let value: unknown = row;
  for (const name of storedPath(field).split(".")) value = (value as Document | undefined)?.[name];
  return typeof value === "object" && value !== null ? plainText(value) : value;
}

function beyondKey(key: string, descending: boolean): RowFilter {
  return { _id: { [descending ? "$lt" : "$gt"]: bsonText(key) } } as RowFilter;
}

/** Documents of the place's own type that come after it. */
function beyond(place: Place, path: string, descending: boolean): RowFilter {
  const byKey = beyondKey(place.key, descending);
  if (place.rank !== "bool" && place.rank !== "number" && place.rank !== "string") return byKey;
  const value = typeof place.value === "string" ? bsonText(place.value) : place.value;
  return {
    $or: [{ [path]: { [descending ? "$lt" : "$gt"]: value } }, { $and: [{ [path]: { $eq: value } }, byKey] }],
  } as RowFilter;
}

function ofRank(rank: Rank, field: string): RowFilter {
  const path = storedPath(field);
  const type = { $type: exactValue(field) };
  switch (rank) {
    case "missing":
      // To an index, what is missing is null. Where a path leads through a list it is not, and only the expression tells.
      return {
        ...(!field.includes(".") && { [path]: null }),
        $expr: { $eq: [type, "missing"] },
      } as RowFilter;
    case "null":
      return { [path]: null, $expr: { $eq: [type, "null"] } } as RowFilter;
    case "bool":
    case "string":
      return { [path]: { $type: rank }, $expr: { $eq: [type, rank] } } as RowFilter;
    case "number":
      return { [path]: { $type: "number" }, $expr: { $isNumber: exactValue(field) } } as RowFilter;
    case "other":
      return { $expr: { $in: [type, ["object", "array", "binData"]] } };
  }
}

function ofOtherWithoutLists(field: string): RowFilter {
  const types = ["object", "binData"] as const;
  return {
    [storedPath(field)]: { $type: types },
    $expr: { $in: [{ $type: exactValue(field) }, types] },
  } as RowFilter;
}

function conditionsOf(where: NonNullable<DocumentQuery["where"]>): RowFilter[] {
  return Object.entries(where).flatMap(([field, wanted]) => {
    const condition = wanted === null || typeof wanted !== "object" ? { eq: wanted } : wanted;
    return conditionFilters(field, condition);
  });
}

function conditionFilters(field: string, condition: FieldCondition): RowFilter[] {
  const path = storedPath(field);
  const value = exactValue(field);
  const filters: Document[] = [];
  const { eq, ne, prefix, exists } = condition;
  if (eq !== undefined) {
    filters.push({ [path]: { $eq: stored(eq) }, $expr: { $eq: [value, { $literal: stored(eq) }] } });
  }
  if (ne !== undefined) filters.push({ $expr: { $ne: [value, { $literal: stored(ne) }] } });
  if (condition.in !== undefined) {
    const list = condition.in.map(stored);
    filters.push({ [path]: { $in: list }, $expr: { $in: [value, { $literal: list }] } });
  }
  for (const name of ["gt", "gte", "lt", "lte"] as const) {
    const bound = condition[name];
    if (bound === undefined) continue;
    const sameType = typeof bound === "number" ? { $isNumber: value } : { $eq: [{ $type: value }, "string"] };
    filters.push({ [path]: { [`$${name}`]: stored(bound) }, $expr: sameType });
  }
  if (prefix !== undefined) {
    const end = behindPrefix(prefix);
    const range = { $gte: stored(prefix), ...(end !== undefined && { $lt: end }) };
    filters.push({ [path]: range, $expr: { $eq: [{ $type: value }, "string"] } });
  }
  if (exists !== undefined)
    filters.push({ $expr: { [exists ? "$ne" : "$eq"]: [{ $type: value }, "missing"] } });
  return filters as RowFilter[];
}

/** The first string behind all that begin like this; none if there is no such. A pattern could hold neither a NUL nor any length. */
function behindPrefix(prefix: string): string | undefined {
  const last = [...prefix].at(-1);
  const point = last?.codePointAt(0);
  if (last === undefined || point === undefined) return undefined;
  const rest = prefix.slice(0, -last.length);
  if (point === 0x10ffff) return behindPrefix(rest);
  return rest + String.fromCodePoint(point === 0xd7ff ? 0xe000 : point + 1);
}

function stored(value: FieldValue): unknown {
  return typeof value === "string" ? bsonText(value) : value;
}

function storedPath(field: string): string {
  return field === KEY_FIELD ? "_id" : `fields.${bsonPath(field)}`;
}

/** The value at a path as an expression: missing where the path leads through an array. */
function exactValue(field: string): unknown {
  if (field === KEY_FIELD) return "$_id";
  const names = storedPath(field).split(".");
  const value = `$${names.join(".")}`;
  if (names.length <= 2) return value;
  const above = names.slice(2).map((_, i) => ({ $isArray: `$${names.slice(0, i + 2).join(".")}` }));
  return { $cond: [{ $or: above }, "$$REMOVE", value] };
}
