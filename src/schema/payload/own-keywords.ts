/** Keywords of JSON Schema that Ajv decides for us in another way than its own. */
import type { FuncKeywordDefinition } from "ajv";
import { canonicalText } from "../../model/json.js";
import { isMultipleOf } from "../tree/multiples.js";

interface Keyword extends FuncKeywordDefinition {
  readonly keyword: string;
}

/** Decided as Zod decides it. */
const MULTIPLE_OF: Keyword = {
  keyword: "multipleOf",
  type: "number",
  schemaType: "number",
  compile: (divisor: number) => (value: number) => isMultipleOf(value, divisor),
  error: { message: ({ schema }) => `must be multiple of ${schema}` },
};

/**
 * By one look at each item, as it will be written: Ajv's own compares each with each, looks only at items of the types that `items` asks for,
 * also where `prefixItems` takes others, and does not see "__proto__" twice.
 */
const UNIQUE_ITEMS: Keyword = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  compile: (unique: boolean) => (items: readonly unknown[]) =>
    !unique || new Set(items.map(writtenText)).size === items.length,
  error: { message: "must NOT have duplicate items" },
};

/** By one look, however many values there are: Ajv compares objects with each of them, by methods that members of the same name hide. */
const ENUM: Keyword = {
  keyword: "enum",
  schemaType: "array",
  compile: isOneOf,
  error: { message: "must be equal to one of the allowed values" },
};

const CONST: Keyword = {
  keyword: "const",
  compile: (value: unknown) => isOneOf([value]),
  error: { message: "must be equal to constant" },
};

function isOneOf(values: readonly unknown[]): (value: unknown) => boolean {
  const simple = new Set(values.filter(isSimple));
  const others = new Set(values.filter((value) => !isSimple(value)).map(canonicalText));
  return (value) => (isSimple(value) ? simple.has(value) : others.size > 0 && others.has(writtenText(value)));
}

function isSimple(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}

function writtenText(value: unknown): string {
  return canonicalText(isSimple(value) ? value : JSON.parse(JSON.stringify(value) ?? "null"));
}

export const OWN_KEYWORDS: readonly Keyword[] = [MULTIPLE_OF, UNIQUE_ITEMS, ENUM, CONST];
