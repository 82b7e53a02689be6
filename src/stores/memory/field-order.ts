/** What a field path finds in a document, and how such values are ordered. */
import type { JsonObject } from "../../model/json.js";
import { compareText } from "./text-order.js";

/** The value at a path, or undefined. A dot enters a nested object; arrays are values and are not entered. */
export function valueAt(fields: JsonObject, path: string): unknown {
  let value: unknown = fields;
  for (const name of path.split(".")) {
    if (value === null || typeof value !== "object" || Array.isArray(value) || !Object.hasOwn(value, name)) {
      return undefined;
    }
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** Missing, null, booleans, numbers, strings, and last whatever has no order of its own. */
export function rankOf(value: unknown): number {
  if (value === undefined) return 0;
  if (value === null) return 1;
  if (typeof value === "boolean") return 2;
  if (typeof value === "number") return 3;
  return typeof value === "string" ? 4 : 5;
}

export function compareValues(a: unknown, b: unknown): number {
  const rank = rankOf(a);
  const difference = rank - rankOf(b);
  if (difference !== 0) return difference;
  if (rank === 4) return compareText(a as string, b as string);
  return rank === 2 || rank === 3 ? Number(a) - Number(b) : 0;
}
