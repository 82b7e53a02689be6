import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BusError } from "../../../src/model/errors.js";
import type { JsonValue } from "../../../src/model/json.js";
import { normalize, toJsonSchema } from "../../../src/schema/reading/normalize.js";
import type { SchemaInput } from "../../../src/schema/reading/schema-input.js";
import { jsonSchema } from "./json-schemas.js";
import { isUsable, judge } from "./judge.js";
import { valueNear } from "./near-values.js";
import { PROPERTY_TIMEOUT_MS, runs } from "./runs.js";
import { judged } from "./verdicts.js";
import { zodSchema } from "./zod-schemas.js";

/** A Zod schema, its JSON Schema as another process finds it, a JSON Schema, or one of draft 7. */
const anySchema: fc.Arbitrary<SchemaInput> = fc
  .oneof(
    zodSchema,
    zodSchema.map(toJsonSchema).filter(isWithoutCode),
    jsonSchema,
    jsonSchema.map((schema) =>
      typeof schema === "object" ? { ...schema, $schema: "http://json-schema.org/draft-07/schema#" } : schema,
    ),
  )
  .filter(isUsable);

/** What code decides cannot be held against a payload where only the JSON Schema is at hand. */
function isWithoutCode(schema: SchemaInput): boolean {
  return !JSON.stringify(schema).includes('"x-opaque"');
}

/** The other form of the same schema, or of a wider one. */
const FORMS: readonly ((schema: SchemaInput, other: SchemaInput) => SchemaInput)[] = [
  (schema) => toJsonSchema(schema),
  (schema) => ({ anyOf: [unrooted(schema), { type: "null" }] }),
  (_, other) => other,
];

/** Inside another schema its refs to the root would lead elsewhere, and it would be read as of another draft. */
function unrooted(schema: SchemaInput): SchemaInput {
  const json = toJsonSchema(schema);
  return typeof json === "object" && !/"(?:\$ref|\$schema)"/.test(JSON.stringify(json)) ? json : true;
}

const cases = fc.tuple(anySchema, fc.constantFrom(...FORMS), anySchema).chain(([older, form, other]) => {
  const newer = form(older, other);
  const near = fc.oneof(valueNear(normalize(older)), valueNear(normalize(newer)));
  return fc.record({
    older: fc.constant(older),
    newer: fc.constant(newer),
    values: fc.array(near, { minLength: 10, maxLength: 20 }),
  });
});

/** A payload that stops the validator is not taken. */
function takes(schema: SchemaInput): (value: JsonValue) => boolean {
  const accepts = judge(schema);
  return (value) => {
    try {
      return accepts(value);
    } catch (error) {
      if (BusError.is(error, "SCHEMA_VIOLATION")) return false;
      throw error;
    }
  };
}

describe("compatibility of a Zod schema and a JSON Schema, with the validators as judges", () => {
  it(
    "is never claimed where something that was written is refused, and every counter-example is one",
    () => {
      const verdicts = new Map<string, number>();
      fc.assert(
        fc.property(cases, ({ older, newer, values }) => {
          const verdict = judged({ older, newer }, values, takes);
          verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
        }),
        { numRuns: runs(200) },
      );
      const [fitting, breaking] = [verdicts.get("compatible") ?? 0, verdicts.get("incompatible") ?? 0];
      expect(Math.min(fitting, breaking) / runs(200)).toBeGreaterThan(0.1);
    },
    PROPERTY_TIMEOUT_MS,
  );
});
