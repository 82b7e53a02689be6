/** Random JSON Schemas, and values that have a fair chance to fit them. */
import fc from "fast-check";
import type { JsonValue } from "../../../src/model/json.js";
import type { JsonSchema } from "../../../src/schema/reading/schema-input.js";
import { isUsable } from "./judge.js";

const NAMES = ["a", "b", "kind", "x1"] as const;
const TEXTS = [
  "",
  "a",
  "b",
  "ab",
  "abc",
  "x1",
  "0",
  "12",
  "2020-01-01",
  "a@example.org",
  "A-1",
  " ",
  "😀",
  "a😀",
] as const;
const NUMBERS = [-3, -1, 0, 0.3, 0.5, 1, 1.5, 2, 3, 4, 6, 10, 12, 100, 3e21] as const;
const PATTERNS = [
  "^a",
  "^[a-z]+$",
  "^[a-z]*$",
  "^[ab]{1,2}$",
  "\\d",
  "^[^b]*$",
  "^(?!b)",
  "^.$",
  "^.{2}$",
] as const;

const name = fc.constantFrom(...NAMES);
export const text = fc.constantFrom(...TEXTS);
export const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.constantFrom(...NUMBERS),
  text,
);

export const anyValue: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 4, arbitrary: scalar },
    { weight: 1, arbitrary: fc.array(tie("value"), { maxLength: 3 }) },
    { weight: 2, arbitrary: fc.dictionary(name, tie("value"), { maxKeys: 3, noNullPrototype: true }) },
  ),
})).value;

const bounds = (low: string, high: string, limit: fc.Arbitrary<number>): fc.Arbitrary<object> =>
  fc.record({ [low]: limit, [high]: limit }, { requiredKeys: [] });
const count = fc.nat(3);

const numberSchema = fc
  .tuple(
    fc.constantFrom("number", "integer"),
    bounds("minimum", "maximum", fc.constantFrom(...NUMBERS)),
    bounds("exclusiveMinimum", "exclusiveMaximum", fc.constantFrom(...NUMBERS)),
    fc.record({ multipleOf: fc.constantFrom(1, 2, 3, 4, 0.5, 0.1) }, { requiredKeys: [] }),
    fc.nat(3),
  )
  .map(([type, a, b, c, pick]) => ({ type, ...(pick > 0 && a), ...(pick === 2 && b), ...(pick === 3 && c) }));

const stringSchema = fc
  .record(
    {
      minLength: count,
      maxLength: count,
      pattern: fc.constantFrom(...PATTERNS),
      format: fc.constantFrom("date", "email", "uri", "unheard-of"),
    },
    { requiredKeys: [] },
  )
  .map((keywords) => ({ type: "string", ...keywords }));

const enumSchema = fc.oneof(
  fc.array(scalar, { minLength: 1, maxLength: 4 }).map((values) => ({ enum: values })),
  anyValue.map((value) => ({ const: value })),
  fc.constantFrom(
    { type: "null" },
    { type: "boolean" },
    { type: ["string", "null"] },
    { type: ["integer", "boolean"] },
    { type: "string", nullable: true },
    { type: "integer", minimum: 0, nullable: true },
  ),
);

const unsupported = fc.constantFrom<JsonSchema>(
  { not: { type: "string" } },
  { contains: { type: "string" } },
  { dependentRequired: { a: ["b"] } },
  { if: { required: ["a"] }, else: { required: ["b"] } },
);

function arraySchema(item: fc.Arbitrary<JsonSchema>): fc.Arbitrary<JsonSchema> {
  return fc
    .record(
      {
        items: item,
        prefixItems: fc.array(item, { minLength: 1, maxLength: 2 }),
        minItems: count,
        maxItems: count,
        uniqueItems: fc.boolean(),
      },
      { requiredKeys: ["items"] },
    )
    .map((keywords) => ({ type: "array", ...keywords }));
}

function objectSchema(member: fc.Arbitrary<JsonSchema>): fc.Arbitrary<JsonSchema> {
  const properties = fc.dictionary(name, member, { maxKeys: 3, noNullPrototype: true });
  const rare = fc.record(
    {
      patternProperties: fc
        .tuple(fc.constantFrom("^a", "b", "\\d"), member)
        .map(([p, schema]) => ({ [p]: schema })),
      propertyNames: fc.oneof(
        fc.constantFrom<JsonSchema>(
          { enum: ["a", "b"] },
          { pattern: "^[a-z]" },
          { maxLength: 1 },
          { type: "string" },
        ),
      ),
      minProperties: count,
      maxProperties: count,
    },
    { requiredKeys: [] },
  );
  return fc
    .tuple(
      properties,
      fc.subarray([...NAMES]),
      fc.oneof(fc.constantFrom(undefined, undefined, false, true), member),
      rare,
      fc.nat(3),
    )
    .map(([props, required, additionalProperties, others, pick]) => ({
      type: "object",
      properties: props,
      required: required.slice(0, 2),
      ...(additionalProperties !== undefined && { additionalProperties }),
      ...(pick === 0 && others),
    }));
}

function discriminated(member: fc.Arbitrary<JsonSchema>): fc.Arbitrary<JsonSchema> {
  const branch = (tag: string): fc.Arbitrary<JsonSchema> =>
    member.map((x) => ({ type: "object", properties: { kind: { const: tag }, a: x }, required: ["kind"] }));
  return fc.tuple(branch("a"), branch("b"), branch("ab")).map(([a, b, c]) => ({ oneOf: [a, b, c] }));
}

/** Refs in it lead to itself, not to what is around it. */
function withOwnId([schema, id]: readonly [JsonSchema, string]): JsonSchema {
  const $id = `https://example.org/${id}`;
  return { $id, anyOf: [schema, { type: "object", properties: { b: { $ref: "#" } }, maxProperties: 1 }] };
}

/** Schemas over a few names, texts and numbers, so that two of them have something to say to each other. */
export const jsonSchema: fc.Arbitrary<JsonSchema> = fc
  .letrec<{ schema: JsonSchema; leaf: JsonSchema }>((tie) => ({
    leaf: fc.oneof(
      numberSchema,
      stringSchema,
      enumSchema,
      fc.constantFrom<JsonSchema>(true, {}, { minLength: 1 }, { minimum: 0 }),
    ),
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { weight: 4, arbitrary: tie("leaf") },
      { weight: 2, arbitrary: arraySchema(tie("schema")) },
      { weight: 4, arbitrary: objectSchema(tie("schema")) },
      {
        weight: 1,
        arbitrary: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
      },
      {
        weight: 1,
        arbitrary: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }).map((allOf) => ({ allOf })),
      },
      { weight: 1, arbitrary: discriminated(tie("schema")) },
      {
        weight: 1,
        arbitrary: fc.array(tie("leaf"), { minLength: 2, maxLength: 3 }).map((oneOf) => ({ oneOf })),
      },
      { weight: 1, arbitrary: fc.constant({ $ref: "#" }).map((ref) => ({ type: "array", items: ref })) },
      { weight: 1, arbitrary: fc.tuple(tie("schema"), fc.noShrink(fc.uuid())).map(withOwnId) },
      { weight: 1, arbitrary: fc.tuple(tie("schema"), unsupported).map((allOf) => ({ allOf })) },
    ),
  }))
  .schema.filter(isUsable);
