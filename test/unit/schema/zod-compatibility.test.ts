import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonValue } from "../../../src/model/json.js";
import { stripUndeclared } from "../../../src/schema/payload/strip.js";
import { normalize } from "../../../src/schema/reading/normalize.js";
import { changesValue } from "../../../src/schema/reading/zod-view.js";
import { accepts, sameJson } from "../../../src/schema/tree/accept.js";
import { contains } from "../../../src/schema/tree/walk.js";
import { valueNear } from "./near-values.js";
import { PROPERTY_TIMEOUT_MS, runs } from "./runs.js";
import { fail, judged, type Pair } from "./verdicts.js";
import { zodSays, zodSchema } from "./zod-schemas.js";

type Edit = (schema: z.ZodType, other: z.ZodType) => z.ZodType;

const extend =
  (member: (other: z.ZodType) => z.ZodType): Edit =>
  (schema, other) =>
    schema instanceof z.ZodObject ? schema.safeExtend({ added: member(other) }) : schema;

/** Zod makes no partial object of one that is refined. */
const isPlainObject = (schema: z.ZodType): schema is z.ZodObject =>
  schema instanceof z.ZodObject && (schema.def.checks ?? []).length === 0;

const edits: readonly Edit[] = [
  (schema) => schema,
  (schema) => schema.nullable(),
  (schema) => schema.optional(),
  (schema, other) => z.union([schema, other]),
  (schema, other) => z.union([other, schema]),
  extend((other) => other.optional()),
  extend((other) => other),
  extend((other) => other.catch(null)),
  (schema) => (isPlainObject(schema) ? schema.partial() : schema),
  (schema) => (schema instanceof z.ZodObject ? schema.strict() : schema),
  (schema) => (schema instanceof z.ZodObject ? schema.loose() : schema),
  (schema) => (schema instanceof z.ZodString ? schema.max(2) : schema),
  (schema) => (schema instanceof z.ZodNumber ? schema.int() : schema),
  (schema) => schema.refine(() => true),
  (schema) => z.array(schema),
  (_, other) => other,
];

interface Case extends Pair<z.ZodType> {
  readonly values: readonly JsonValue[];
}

const shape = fc.dictionary(fc.constantFrom("a", "b", "kind"), zodSchema, {
  maxKeys: 3,
  noNullPrototype: true,
});
const topLevel = fc.oneof(
  zodSchema,
  shape.map((members) => z.object(members)),
);

const cases: fc.Arbitrary<Case> = fc
  .tuple(topLevel, fc.constantFrom(...edits), zodSchema)
  .chain(([older, edit, other]) => {
    const newer = edit(older, other);
    const near = fc.oneof(valueNear(normalize(older)), valueNear(normalize(newer)));
    return fc.array(near, { minLength: 10, maxLength: 20 }).map((values) => ({ older, newer, values }));
  });

describe("compatibility of random Zod schemas, with Zod as the judge", () => {
  it(
    "is never claimed where something that was written is refused",
    () => {
      const verdicts = new Map<string, number>();
      fc.assert(
        fc.property(cases, (found) => {
          const verdict = judged(found, found.values, (schema) => (value) => zodSays(schema, value));
          verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
        }),
        { numRuns: runs(150) },
      );
      const total = runs(150);
      expect(
        Math.min(verdicts.get("compatible") ?? 0, verdicts.get("incompatible") ?? 0) / total,
      ).toBeGreaterThan(0.02);
    },
    PROPERTY_TIMEOUT_MS,
  );
});

describe("what is written of a value", () => {
  const written = topLevel.chain((schema) =>
    fc.tuple(fc.constant(schema), fc.array(valueNear(normalize(schema)), { minLength: 5, maxLength: 15 })),
  );

  it(
    "is still accepted, is one that the tree writes, and stays as it is the second time",
    () => {
      fc.assert(
        fc.property(written, ([schema, values]) => {
          const tree = normalize(schema);
          for (const value of values.filter((each) => zodSays(schema, each))) {
            const once = stripUndeclared(tree, value);
            const sane =
              zodSays(schema, once) &&
              accepts(tree, once, "write") !== false &&
              stripUndeclared(tree, once) === once;
            if (!sane) fail({ older: schema, newer: schema }, `${JSON.stringify(value)} became`, once);
          }
        }),
        { numRuns: runs(200) },
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    "is what Zod gives back, where Zod gives back what it got",
    () => {
      let compared = 0;
      fc.assert(
        fc.property(written, ([schema, values]) => {
          const tree = normalize(schema);
          if (contains(tree, ({ kind }) => kind === "opaque") || changesValue(schema)) return;
          for (const value of values.filter((each) => zodSays(schema, each))) {
            const once = stripUndeclared(tree, value);
            const parsed = schema.parse(value);
            if (isFilledUp(parsed)) continue;
            const given = JSON.parse(JSON.stringify(parsed)) as JsonValue;
            if (!sameJson(once, given))
              fail({ older: schema, newer: schema }, `Zod gives ${JSON.stringify(given)}, not`, once);
            compared++;
          }
        }),
        { numRuns: runs(200) },
      );
      expect(compared).toBeGreaterThan(100);
    },
    PROPERTY_TIMEOUT_MS,
  );
});

/** Where an item of a tuple may be undefined, Zod gives a shorter list back with undefined in its place: not what it got. */
function isFilledUp(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const members: unknown[] = Object.values(value);
  return (Array.isArray(value) && value.includes(undefined)) || members.some(isFilledUp);
}
