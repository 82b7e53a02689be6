/** Edits of schemas: random ones, as people make them, and ones that surely break. */
import fc from "fast-check";
import type { JsonSchema, JsonSchemaObject } from "../../../src/schema/reading/schema-input.js";
import { jsonSchema } from "./json-schemas.js";
import { isUsable } from "./judge.js";

type Edit = (schema: JsonSchemaObject, other: JsonSchema) => JsonSchema;

const record = (value: unknown): Record<string, JsonSchema> => (value ?? {}) as Record<string, JsonSchema>;
const list = (value: unknown): string[] => (Array.isArray(value) ? value : []) as string[];

const EDITS: readonly Edit[] = [
  (_, other) => other,
  (schema) => ({ anyOf: [schema, { type: "null" }] }),
  (schema, other) => ({ anyOf: [schema, other] }),
  (schema, other) => ({ allOf: [schema, other] }),
  (schema, other) => ({ ...schema, properties: { ...record(schema.properties), x1: other } }),
  (schema) => ({ ...schema, required: list(schema.required).slice(1) }),
  (schema) => ({ ...schema, required: [...new Set([...list(schema.required), "a"])] }),
  (schema) => ({ ...schema, additionalProperties: false }),
  (schema) => ({ ...schema, minimum: 1 }),
  (schema) => ({ ...schema, maximum: 10 }),
  (schema) => ({ ...schema, maxLength: 2 }),
  (schema) => ({ ...schema, pattern: "^[a-z]*$" }),
  (schema) => ({ ...schema, maxItems: 2 }),
  (schema) => ({ ...schema, type: schema.type === "integer" ? "number" : (schema.type ?? "string") }),
  (schema) => (Array.isArray(schema.enum) ? { ...schema, enum: [...schema.enum, "new"] } : schema),
  ({ minLength: _, minimum: __, ...schema }) => schema,
];

/** The schema with one place in it edited; `where` says which. */
function editAt(
  schema: JsonSchema,
  where: { left: number },
  edit: (found: JsonSchema) => JsonSchema,
): JsonSchema {
  if (typeof schema !== "object") return schema;
  if (where.left-- === 0) return edit(schema);
  const visit = (inner: unknown): unknown => editAt(inner as JsonSchema, where, edit);
  const copy: Record<string, unknown> = { ...schema };
  for (const keyword of ["items", "additionalProperties"]) {
    if (typeof copy[keyword] === "object") copy[keyword] = visit(copy[keyword]);
  }
  for (const keyword of ["anyOf", "allOf", "oneOf", "prefixItems"]) {
    if (Array.isArray(copy[keyword])) copy[keyword] = copy[keyword].map(visit);
  }
  const properties = Object.entries(record(copy.properties)).map(([name, inner]) => [name, visit(inner)]);
  if (properties.length > 0) copy.properties = Object.fromEntries(properties);
  return copy;
}

/** A schema and an edited copy of it. */
export const edited: fc.Arbitrary<{ older: JsonSchema; newer: JsonSchema }> = fc
  .tuple(jsonSchema, fc.constantFrom(...EDITS), jsonSchema, fc.nat(4))
  .map(([older, edit, other, place]) => {
    const places = { left: -1 };
    editAt(older, places, (found) => found);
    const where = { left: place % Math.max(1, -1 - places.left) };
    return {
      older,
      newer: editAt(older, where, (found) => (typeof found === "object" ? edit(found, other) : other)),
    };
  })
  .filter(({ newer }) => isUsable(newer));

/** Pairs of which the second refuses something that the first takes. */
const BREAKS: readonly (readonly [JsonSchema, JsonSchema])[] = [
  [{ type: "string" }, { type: "number" }],
  [{ type: "number" }, { type: "integer" }],
  [{ type: "number" }, { type: "number", minimum: 0 }],
  [
    { type: "integer", maximum: 10 },
    { type: "integer", maximum: 9 },
  ],
  [
    { type: "number", multipleOf: 2 },
    { type: "number", multipleOf: 4 },
  ],
  [{ type: "string" }, { type: "string", minLength: 1 }],
  [
    { type: "string", maxLength: 5 },
    { type: "string", maxLength: 4 },
  ],
  [
    { type: "string", pattern: "^[a-z]+$" },
    { type: "string", pattern: "^[a-y]+$" },
  ],
  [{ type: "string" }, { type: "string", format: "email" }],
  [
    { type: "string", format: "uri" },
    { type: "string", format: "email" },
  ],
  [{ enum: ["a", "b"] }, { enum: ["a"] }],
  [{ type: ["string", "null"] }, { type: "string" }],
  [{ type: "boolean" }, { const: true }],
  [
    { type: "array", items: { type: "string" } },
    { type: "array", items: { type: "string" }, minItems: 1 },
  ],
  [
    { type: "array", items: { type: "string" } },
    { type: "array", items: { type: "number" } },
  ],
  [{ type: "array" }, { type: "array", uniqueItems: true }],
  [
    { type: "array", prefixItems: [{}, {}] },
    { type: "array", prefixItems: [{}], items: false },
  ],
  [
    { type: "object", properties: { a: {} } },
    { type: "object", properties: { a: {} }, required: ["a"] },
  ],
  [{ type: "object" }, { type: "object", additionalProperties: false }],
  [{ type: "object" }, { type: "object", properties: { a: { type: "string" } } }],
  [
    { type: "object", additionalProperties: { type: "number" } },
    { type: "object", additionalProperties: { type: "integer" } },
  ],
  [
    { type: "object", patternProperties: { "^a": true } },
    { type: "object", patternProperties: { "^a": { type: "string" } } },
  ],
  [{ type: "object" }, { type: "object", propertyNames: { pattern: "^[a-z]+$" } }],
  [{ type: "object" }, { type: "object", maxProperties: 3 }],
  [{ anyOf: [{ type: "string" }, { type: "number" }] }, { anyOf: [{ type: "string" }, { type: "boolean" }] }],
  [{}, { type: "string" }],
];

type Wrap = (inner: JsonSchema, other: JsonSchema) => JsonSchema;

const WRAPS: readonly Wrap[] = [
  (inner, other) => ({ type: "object", properties: { x: inner, other }, required: ["x"] }),
  (inner) => ({ type: "object", properties: { x: inner }, additionalProperties: false }),
  (inner) => ({ type: "array", items: inner }),
  (inner) => ({ type: "array", prefixItems: [{ type: "null" }, inner], minItems: 1 }),
  (inner) => ({ type: "object", additionalProperties: inner }),
  (inner) => ({ type: "object", properties: { tag: { const: "p" }, x: inner }, required: ["tag"] }),
  (inner) => ({
    oneOf: [
      { type: "object", properties: { tag: { const: "p" }, x: inner }, required: ["tag", "x"] },
      { type: "object", properties: { tag: { const: "q" } }, required: ["tag"] },
    ],
  }),
  (inner) => ({ type: "object", properties: { x: inner, again: { $ref: "#" } }, minProperties: 1 }),
];

/** Two versions that surely do not go together, the reason buried a few levels deep. */
export const planted: fc.Arbitrary<{ older: JsonSchema; newer: JsonSchema }> = fc
  .tuple(fc.constantFrom(...BREAKS), fc.array(fc.constantFrom(...WRAPS), { maxLength: 3 }), jsonSchema)
  .map(([[a, b], wraps, other]) => {
    const bury = (inner: JsonSchema): JsonSchema =>
      wraps.reduce((schema, wrap) => wrap(schema, other), inner);
    return { older: bury(a), newer: bury(b) };
  })
  .filter(({ older, newer }) => isUsable(older) && isUsable(newer));
