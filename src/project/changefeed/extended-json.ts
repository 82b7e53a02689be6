/**
 * Extended JSON, which tells all types of MongoDB's apart, of whatever a server holds. The driver's own refuses a document with a field
 * `_bsontype`, which it takes for one of its types, and writes a double beyond 2^53 as a whole number that is not quite the same.
 */
import { BSON, Double } from "mongodb";
import type { JsonValue } from "../../model/json.js";

const { EJSON } = BSON;

/** Never the same for two values that a server tells apart. */
export function exactText(value: unknown): string {
  return isOdd(value) ? JSON.stringify(byMembers(value, false)) : EJSON.stringify(value, { relaxed: false });
}

export function ofExactText(text: string): unknown {
  // Relaxed, a long would become the nearest number, which may be another one.
  return EJSON.parse(text, { relaxed: false });
}

/** Numbers as they are written in JSON. */
export function relaxedJson(value: unknown): JsonValue {
  return isOdd(value) ? byMembers(value, true) : EJSON.serialize(value, { relaxed: true });
}

/** A value of one of the driver's types. */
export function isKind(value: object): value is { readonly _bsontype: string } {
  return "_bsontype" in value && !Object.hasOwn(value, "_bsontype");
}

function isOdd(value: unknown): boolean {
  if (!isTree(value)) return isLargeDouble(value);
  return Object.hasOwn(value, "_bsontype") || Object.values(value).some(isOdd);
}

/** Longs that are as large do not come as numbers. */
function isLargeDouble(value: unknown): value is number {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** A list or a document. */
function isTree(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return Array.isArray(value) || !(isKind(value) || value instanceof Date || value instanceof RegExp);
}

function byMembers(value: unknown, relaxed: boolean): JsonValue {
  if (Array.isArray(value)) return value.map((item) => byMembers(item, relaxed));
  if (isTree(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    // fromEntries defines members, so that `__proto__` is one like any other.
    return Object.fromEntries(members.map(([name, member]) => [name, byMembers(member, relaxed)]));
  }
  const told = isLargeDouble(value) ? new Double(value) : value;
  return EJSON.serialize({ told }, { relaxed }).told as JsonValue;
}
