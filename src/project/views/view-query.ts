/** What people ask of a view, checked: a condition that is misspelt must not pass for one that always holds. */
import { BusError } from "../../model/errors.js";
import type { FieldCondition } from "../../ports/documents.js";

const isValue = (value: unknown): boolean =>
  value === null || ["string", "number", "boolean"].includes(typeof value);
const isOrdered = (value: unknown): boolean => typeof value === "string" || typeof value === "number";

const CONDITIONS: Readonly<Record<keyof FieldCondition, (value: unknown) => boolean>> = {
  eq: isValue,
  ne: isValue,
  in: (value) => Array.isArray(value) && value.every(isValue),
  gt: isOrdered,
  gte: isOrdered,
  lt: isOrdered,
  lte: isOrdered,
  prefix: (value) => typeof value === "string",
  exists: (value) => typeof value === "boolean",
};

/** Throws INVALID_OPTION that names what is wrong. */
export function checkQuery(query: { readonly where?: unknown; readonly order?: unknown }): void {
  const { where, order } = query;
  if (where !== undefined) {
    if (!isPlain(where)) throw wrong('where must be conditions by field: { host: "a", cpu: { gt: 50 } }');
    for (const [field, condition] of Object.entries(where)) checkCondition(field, condition);
  }
  if (order === undefined) return;
  const { field, descending } = (isPlain(order) ? order : {}) as { field?: unknown; descending?: unknown };
  if (typeof field !== "string" || (descending !== undefined && typeof descending !== "boolean"))
    throw wrong("order must be { field, descending? }");
}

export function checkKey(key: unknown): asserts key is string {
  if (typeof key !== "string") throw wrong("the key of a document is a string");
}

function checkCondition(field: string, condition: unknown): void {
  if (isValue(condition)) return;
  const known = Object.keys(CONDITIONS).join(", ");
  if (!isPlain(condition))
    throw wrong(`where.${field} must be a string, a number, a boolean, null, or an object with ${known}`);
  for (const [name, value] of Object.entries(condition)) {
    if (!Object.hasOwn(CONDITIONS, name)) throw wrong(`where.${field} knows no "${name}"; it takes ${known}`);
    const fits = CONDITIONS[name as keyof FieldCondition](value);
    if (!fits) throw wrong(`where.${field}.${name} has a value that it cannot be compared with`);
  }
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wrong(message: string): BusError {
  return new BusError("INVALID_OPTION", message);
}
