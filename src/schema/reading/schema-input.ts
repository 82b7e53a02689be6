/** What may be given as a schema: a Zod 4 schema, or a JSON Schema as a plain value. */
import type { z } from "zod";
import { BusError } from "../../model/errors.js";

/** A JSON Schema that is an object of keywords. */
export interface JsonSchemaObject {
  readonly [keyword: string]: unknown;
}

/** A JSON Schema. */
export type JsonSchema = boolean | JsonSchemaObject;

/** A schema as it is given: of Zod 4, or a JSON Schema. */
export type SchemaInput<T = unknown> = z.core.$ZodType<T> | JsonSchema;

/**
 * Keywords of ours, beside JSON Schema's own. Other validators ignore them.
 * - `x-opaque`: [{ why, key? }]: the set is smaller than the other keywords say, by code that JSON cannot carry.
 * - `x-undeclared`: "strip": members that are not declared are accepted, and left out of what is written.
 * - `x-unsure`: names of properties of which code decides whether they may be absent.
 */
export const OPAQUE = "x-opaque";
export const UNDECLARED = "x-undeclared";
export const UNSURE = "x-unsure";

export interface OpaqueMark {
  readonly why: string;
  readonly key?: string;
}

export function isZodSchema(schema: unknown): schema is z.core.$ZodType {
  return typeof schema === "object" && schema !== null && "_zod" in schema;
}

export function isJsonSchema(schema: unknown): schema is JsonSchema {
  if (typeof schema === "boolean") return true;
  return typeof schema === "object" && schema !== null && !Array.isArray(schema) && !("_def" in schema);
}

/** Drafts 6 and 7, by which some keywords mean something else, or nothing. Without a word it is 2020-12. */
export function isOlderDraft(schema: JsonSchema): boolean {
  return typeof schema === "object" && /draft-0[67]/.test(String(schema.$schema));
}

/** Throws INVALID_OPTION unless it is one of the two kinds. */
export function checkSchemaInput(schema: unknown): asserts schema is SchemaInput {
  if (isZodSchema(schema) || isJsonSchema(schema)) return;
  const zod3 = typeof schema === "object" && schema !== null && "_def" in schema;
  throw new BusError(
    "INVALID_OPTION",
    zod3
      ? "this is a Zod 3 schema; schemas of topics are Zod 4 schemas or JSON Schemas"
      : "a schema is a Zod 4 schema or a JSON Schema (an object or a boolean)",
  );
}
