import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonValue } from "../../model/json.js";
import { normalize, toJsonSchema } from "../reading/normalize.js";
import type { SchemaInput } from "../reading/schema-input.js";
import { changesValue, hasRivals } from "../reading/zod-view.js";
import { quickFit } from "./quick-fit.js";
import { stripUndeclared } from "./strip.js";
import { parserOf } from "./validator.js";

const quick = (schema: SchemaInput): ((payload: unknown) => boolean) => {
  const fits = quickFit(normalize(schema));
  if (fits === null) throw new Error("there is no quick look");
  return fits;
};

const Process = z.object({
  host: z.string().min(2).max(20),
  pid: z.int().nonnegative(),
  status: z.enum(["alive", "stale"]),
  load: z.number().min(0).max(1),
  labels: z.record(z.string(), z.string()),
  tags: z.array(z.string()).max(3),
  note: z.string().optional(),
  parent: z.object({ pid: z.int() }).nullable(),
});
const whole = {
  host: "host-1",
  pid: 7,
  status: "alive",
  load: 0.5,
  labels: { zone: "a" },
  tags: ["x", "y"],
  parent: { pid: 1 },
};

describe("a quick look at a payload", () => {
  it.each([
    ["all that is declared", whole],
    ["optional ones too", { ...whole, note: "n" }],
    ["null where it may be", { ...whole, parent: null }],
    ["members in another order", Object.fromEntries(Object.entries(whole).reverse())],
    ["no prototype", Object.assign(Object.create(null), whole)],
  ])("says yes: %s", (_, payload) => {
    expect(quick(Process)(payload)).toBe(true);
    expect(quick(toJsonSchema(Process))(payload)).toBe(true);
  });

  it.each([
    ["a member that is left out", { ...whole, more: 1 }],
    ["one inside that is", { ...whole, parent: { pid: 1, more: 1 } }],
    ["a member is missing", { ...whole, pid: undefined }],
    ["it is there, and undefined", { ...whole, note: undefined }],
    ["another type", { ...whole, pid: "7" }],
    ["not whole", { ...whole, pid: 7.5 }],
    ["too large", { ...whole, load: 1.01 }],
    ["not a number", { ...whole, load: Number.NaN }],
    ["too long", { ...whole, host: "x".repeat(21) }],
    ["one character of two units", { ...whole, host: "😀" }],
    ["too many", { ...whole, tags: ["a", "b", "c", "d"] }],
    ["holes", { ...whole, tags: Object.assign(["a"], { length: 3 }) }],
    ["not listed", { ...whole, status: "gone" }],
    ["of another type inside", { ...whole, labels: { zone: 1 } }],
    ["a list", [whole]],
    ["of a class", Object.assign(new (class Box {})(), whole)],
    ["with a form of its own", { ...whole, toJSON: () => "x" }],
    ["null", null],
    ["a text", "x"],
    [
      "hidden members that stand for others",
      Object.defineProperty({ ...whole, pid: undefined, x: 1 }, "pid", { value: 7, enumerable: false }),
    ],
    [
      "what throws",
      Object.defineProperty({ ...whole }, "host", {
        enumerable: true,
        get: () => {
          throw new Error("no");
        },
      }),
    ],
  ])("leaves it to the validator: %s", (_, payload) => {
    expect(quick(Process)(payload)).toBe(false);
  });

  it("knows alternatives by a member of their own, and leaves others to the validator", () => {
    const Made = z.object({ type: z.literal("made"), by: z.string() });
    const Gone = z.object({ type: z.enum(["gone", "lost"]), at: z.number() });
    const fits = quick(z.discriminatedUnion("type", [Made, Gone]));
    expect(fits({ type: "made", by: "a" })).toBe(true);
    expect(fits({ type: "lost", at: 1 })).toBe(true);
    expect(fits({ type: "gone", by: "a" })).toBe(false);
    // The first that fits is meant, and leaves out what only the second one declares.
    const loose = z.union([z.object({ a: z.string() }), z.object({ a: z.string(), b: z.string() })]);
    expect(quickFit(normalize(loose))).toBeNull();
  });

  it("goes into what contains its own kind, and gives up on what contains itself", () => {
    type Tree = { name: string; below: Tree[] };
    const Branch: z.ZodType<Tree> = z.object({ name: z.string(), below: z.array(z.lazy(() => Branch)) });
    const fits = quick(Branch);
    const endless: Tree = { name: "a", below: [] };
    endless.below.push(endless);
    expect(fits({ name: "a", below: [{ name: "b", below: [] }] })).toBe(true);
    expect(fits({ name: "a", below: [{ name: "b", below: [{}] }] })).toBe(false);
    expect(fits(endless)).toBe(false);
  });

  it.each([
    ["refinements", z.object({ a: z.number() }).refine(({ a }) => a > 0)],
    ["code", z.object({ a: z.custom<string>(() => true) })],
    ["tuples", z.object({ a: z.tuple([z.string(), z.number()]) })],
    ["an unknown format", { type: "string", format: "colour", "x-opaque": [{ why: "code" }] }],
    ["negation", { type: "string", not: { const: "x" } }],
  ])("there is none where only the validator can tell: %s", (_, schema) => {
    expect(quickFit(normalize(schema))).toBeNull();
  });

  it("takes names that every object knows as the validator does", () => {
    const schema = z.object({ constructor: z.string().optional(), toString: z.any() });
    expect(z.safeParse(schema, {}).success).toBe(false);
    expect(quick(schema)({})).toBe(false);
    expect(z.safeParse(schema, { constructor: "a" }).success).toBe(true);
    expect(quick(schema)({ constructor: "a" })).toBe(true);
  });

  it("there is none where code may not be made from text", () => {
    const forbidden = (): never => {
      throw new EvalError("Code generation from strings disallowed for this context");
    };
    expect(quickFit(normalize(Process), forbidden)).toBeNull();
  });
});

const alternatives = (one: z.ZodObject, other: z.ZodObject): z.ZodType =>
  z.discriminatedUnion("a", [one.extend({ a: z.literal("a") }), other.extend({ a: z.enum(["ab", "b"]) })]);

/** Schemas whose payloads may be looked at quickly, most of them, and a few that may not. */
const { schema } = fc.letrec<{ schema: z.ZodType; object: z.ZodObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<z.ZodType>(
      z.string(),
      z.string().min(2).max(4),
      z.string().regex(/^[a-c]+$/),
      z.email(),
      z.number(),
      z.int(),
      z.number().multipleOf(2),
      z.number().gt(0).lt(3),
      z.boolean(),
      z.null(),
      z.literal(["a", 1]),
      z.enum(["a", "b"]),
      z.unknown(),
      z.string().trim(),
      z.number().default(1),
      z.string().refine((text) => text !== "a"),
    ),
    tie("object"),
    tie("schema").map((inner) => inner.nullable()),
    tie("schema").map((inner) => z.array(inner)),
    tie("schema").map((inner) => z.array(inner).min(1).max(2)),
    tie("schema").map((inner) => z.record(z.string(), inner)),
    tie("schema").map((inner) => z.record(z.enum(["a", "b"]), inner)),
    fc.tuple(tie("schema"), tie("schema")).map((sides) => z.union(sides)),
    fc.tuple(tie("object"), tie("object")).map(([one, other]) => alternatives(one, other)),
    fc.tuple(tie("object"), tie("object")).map(([a, b]) => z.intersection(a, b)),
  ),
  object: fc
    .tuple(
      fc.dictionary(
        fc.constantFrom("a", "b", "c"),
        fc
          .tuple(tie("schema"), fc.boolean())
          .map(([inner, optional]) => (optional ? inner.optional() : inner)),
      ),
      fc.constantFrom(z.object, z.strictObject, z.looseObject),
    )
    .map(([shape, make]) => make(shape)),
}));

const leaf = fc.constantFrom<JsonValue>(
  "",
  "a",
  "ab",
  "abcde",
  "😀",
  "x@y.org",
  " a",
  0,
  1,
  2,
  -1,
  0.5,
  2.5,
  1e300,
  true,
  null,
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c", "d", "__proto__"), tie("value")),
  ),
}));

describe("whenever a quick look says yes", () => {
  it("Zod and Ajv accept the payload, nothing is left out, and a reader makes the same of it", () => {
    let yes = 0;
    fc.assert(
      fc.property(schema, fc.array(value, { minLength: 30, maxLength: 30 }), (zod, payloads) => {
        const tree = normalize(zod);
        const fits = changesValue(zod) || hasRivals(zod) ? null : quickFit(tree);
        const byAjv = parserOf(toJsonSchema(zod));
        for (const payload of payloads) {
          if (fits?.(payload) !== true) continue;
          yes++;
          expect(z.safeParse(zod, payload)).toEqual({ success: true, data: payload });
          expect(byAjv(payload).fits).toBe(true);
          expect(stripUndeclared(tree, payload as JsonValue)).toBe(payload);
        }
      }),
      { numRuns: 500 },
    );
    expect(yes).toBeGreaterThan(100);
  }, 60_000);
});
