/** Queries of views as they stand in a URL. */
import type { DocumentQuery, FieldCondition, FieldValue } from "../../ports/documents.js";
import { HubError } from "../problem.js";

const FILTER = /^where\.(.+?)(?:\[(eq|ne|in|gt|gte|lt|lte|prefix|exists)\])?$/;

/**
 * `where.<field>=<value>` and `where.<field>[gte]=<value>`. A value that reads as a number, true, false or null is one; in
 * double quotes it is text.
 */
export function whereOf(query: Readonly<Record<string, unknown>>): NonNullable<DocumentQuery["where"]> {
  const where: Record<string, FieldCondition> = Object.create(null) as Record<string, FieldCondition>;
  for (const [name, given] of Object.entries(query)) {
    if (!name.startsWith("where.")) continue;
    const [, field, operator = "eq"] = FILTER.exec(name) ?? [];
    // A misspelt operator must not pass for a field.
    if (field === undefined || field.endsWith("]") || typeof given !== "string")
      throw new HubError(
        "BAD_REQUEST",
        `${name.slice(0, 80)}: write where.<field>=<value> or where.<field>[<operator>]=<value>, once for each`,
      );
    where[field] = { ...where[field], ...condition(name, operator, given) };
  }
  return where;
}

function condition(name: string, operator: string, text: string): FieldCondition {
  switch (operator) {
    case "in":
      return { in: text.split(",").map(literalOf) };
    case "prefix":
      return { prefix: text };
    case "exists":
      return { exists: text !== "false" };
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      const value = literalOf(text);
      if (typeof value === "string" || typeof value === "number") return { [operator]: value };
      throw new HubError("BAD_REQUEST", `${name.slice(0, 80)}: compares with a number or a text`);
    }
    default:
      return { [operator]: literalOf(text) };
  }
}

function literalOf(text: string): FieldValue {
  if (!/^(-?\d|true$|false$|null$|")/.test(text)) return text;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? text : (value as FieldValue);
  } catch {
    return text;
  }
}

/** "field" or "-field". */
export function orderOf(text: string): NonNullable<DocumentQuery["order"]> {
  return text.startsWith("-") ? { field: text.slice(1), descending: true } : { field: text };
}
