/** Each rule of compatibility with both answers, and with Zod or Ajv confirming the counter-examples. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonValue } from "../../../src/model/json.js";
import { checkCompat } from "../../../src/schema/compatibility.js";
import { isZodSchema, type SchemaInput } from "../../../src/schema/schema-input.js";
import { judge } from "./judge.js";

interface Rule {
  readonly name: string;
  /** Takes more than `narrow`, and takes all that `narrow` takes. */
  readonly wide: SchemaInput;
  readonly narrow: SchemaInput;
  readonly path?: string;
  readonly rule: RegExp;
  readonly example?: unknown;
}

const open = (properties: object, required: string[] = []): SchemaInput => ({
  type: "object",
  properties,
  required,
});

const RULES: readonly Rule[] = [
  {
    name: "the type of a value",
    wide: z.union([z.string(), z.number()]),
    narrow: z.string(),
    rule: /allows a number, .* only a string/,
    example: 0,
  },
  {
    name: "null",
    wide: z.string().nullable(),
    narrow: z.string(),
    rule: /allows null, .* only a string/,
    example: null,
  },
  {
    name: "any value",
    wide: z.any(),
    narrow: z.string(),
    rule: /allows any value, .* only a string/,
    example: null,
  },
  { name: "nothing", wide: z.string(), narrow: z.never(), rule: /takes nothing here/, example: "a" },
  {
    name: "a literal",
    wide: z.boolean(),
    narrow: z.literal(true),
    rule: /allows false, .* only true/,
    example: false,
  },
  {
    name: "an enum",
    wide: z.enum(["a", "b", "c"]),
    narrow: z.enum(["a", "c"]),
    rule: /allows "b", .* only one of "a", "c"/,
    example: "b",
  },
  {
    name: "a string and an enum",
    wide: z.string(),
    narrow: z.enum(["a", "b"]),
    rule: /allows a string, .* only one of "a", "b"/,
  },
  {
    name: "integers",
    wide: z.number(),
    narrow: { type: "integer" },
    rule: /takes integers only/,
    example: 0.5,
  },
  {
    name: "a lower bound",
    wide: z.number().min(1),
    narrow: z.number().min(2),
    rule: /starts at 2, the older one at 1/,
    example: 1.5,
  },
  {
    name: "an exclusive lower bound",
    wide: z.number().min(1),
    narrow: z.number().gt(1),
    rule: /starts above 1, the older one at 1/,
    example: 1,
  },
  {
    name: "an upper bound",
    wide: z.number(),
    narrow: z.number().max(2),
    rule: /ends at 2, the older one has no upper bound/,
    example: 2.5,
  },
  {
    name: "bounds of integers",
    wide: z.number().int().gt(0),
    narrow: z.number().int().min(2),
    rule: /starts at 2, the older one at 1/,
    example: 1,
  },
  { name: "safe integers", wide: { type: "integer" }, narrow: z.int(), rule: /starts at -9007199254740991/ },
  {
    name: "multiples",
    wide: z.number().multipleOf(2),
    narrow: z.number().multipleOf(6),
    rule: /multiples of 6 only/,
    example: 2,
  },
  {
    name: "a shortest length",
    wide: z.string(),
    narrow: z.string().min(1),
    rule: /at least 1 characters/,
    example: "",
  },
  {
    name: "a greatest length",
    wide: z.string().max(4),
    narrow: z.string().max(3),
    rule: /at most 3 characters/,
    example: "aaaa",
  },
  {
    name: "a pattern",
    wide: z.string().regex(/^[a-z]+$/),
    narrow: z.string().regex(/^[a-f]+$/),
    rule: /a match of \/\^\[a-f\]\+\$\//,
    example: "x",
  },
  {
    name: "a pattern that says a length",
    wide: z.string().max(3),
    narrow: z.string().regex(/^[a-z]{1,3}$/),
    rule: /a match of/,
    example: "",
  },
  {
    name: "a prefix",
    wide: z.string().startsWith("user"),
    narrow: z.string().startsWith("user-"),
    rule: /a match of/,
    example: "user",
  },
  {
    name: "a format",
    wide: z.string(),
    narrow: { type: "string", format: "email" },
    rule: /the format email/,
    example: "a",
  },
  { name: "a Zod format", wide: z.guid(), narrow: z.uuid(), rule: /a match of/ },
  {
    name: "the items of an array",
    wide: z.array(z.union([z.string(), z.number()])),
    narrow: z.array(z.string()),
    path: "payload[]",
    rule: /allows a number/,
    example: [0],
  },
  {
    name: "the fewest items",
    wide: z.array(z.string()),
    narrow: z.array(z.string()).min(1),
    rule: /at least 1 items, the older one allows 0/,
    example: [],
  },
  {
    name: "the most items",
    wide: z.array(z.string()),
    narrow: z.array(z.string()).max(1),
    rule: /at most 1 items, the older one allows any number/,
    example: ["a", "a"],
  },
  {
    name: "items that differ",
    wide: { type: "array" },
    narrow: { type: "array", uniqueItems: true },
    rule: /items that differ/,
    example: [null, null],
  },
  {
    name: "a place in a tuple",
    wide: z.tuple([z.string(), z.string().nullable()]),
    narrow: z.tuple([z.string(), z.string()]),
    path: "payload[1]",
    rule: /allows null/,
    example: ["a", null],
  },
  {
    name: "an optional place in a tuple",
    wide: z.tuple([z.string(), z.number().optional()]),
    narrow: z.tuple([z.string()]),
    rule: /at most 1 items/,
    example: ["a", 0],
  },
  {
    name: "the rest of a tuple",
    wide: z.tuple([z.string()], z.number()),
    narrow: z.tuple([z.string()]),
    rule: /at most 1 items/,
    example: ["a", 0],
  },
  {
    name: "an array and a tuple",
    wide: z.array(z.string()),
    narrow: z.tuple([z.string(), z.string()]),
    rule: /at least 2 items/,
    example: [],
  },
  {
    name: "a required member",
    wide: z.object({ a: z.string().optional() }),
    narrow: z.object({ a: z.string() }),
    path: "payload.a",
    rule: /requires "a", the older one may leave it out/,
    example: {},
  },
  {
    name: "a member with a default",
    wide: z.object({ a: z.string().default("x") }),
    narrow: z.object({ a: z.string() }),
    path: "payload.a",
    rule: /requires "a"/,
    example: {},
  },
  {
    name: "a nested member",
    wide: z.object({ a: z.object({ "b-c": z.number() }) }),
    narrow: z.object({ a: z.object({ "b-c": z.number().max(0) }) }),
    path: 'payload.a["b-c"]',
    rule: /ends at 0/,
    example: { a: { "b-c": 0.5 } },
  },
  {
    name: "a closed object",
    wide: open({ a: {} }),
    narrow: { ...(open({ a: {} }) as object), additionalProperties: false },
    path: "payload.*",
    rule: /closed to them/,
    example: { other: null },
  },
  {
    name: "undeclared members with a schema",
    wide: { type: "object", additionalProperties: { type: "number" } },
    narrow: { type: "object", additionalProperties: { type: "integer" } },
    path: "payload.*",
    rule: /integers only/,
    example: { other: 0.5 },
  },
  {
    name: "a declared member of an open object",
    wide: open({}),
    narrow: open({ a: { type: "string" } }),
    path: "payload.a",
    rule: /does not declare "a" and lets it pass: .* only a string/,
    example: { a: null },
  },
  {
    name: "a record's values",
    wide: z.record(z.string(), z.number()),
    narrow: z.record(z.string(), z.int32()),
    path: "payload.*",
    rule: /integers only/,
  },
  {
    name: "a record's names",
    wide: z.record(z.string(), z.number()),
    narrow: z.record(z.string().regex(/^[a-z]+$/), z.number()),
    path: "payload.*",
    rule: /closed to them/,
    example: { "": 0 },
  },
  {
    name: "a record of listed names",
    wide: z.partialRecord(z.enum(["a", "b"]), z.number()),
    narrow: z.record(z.enum(["a", "b"]), z.number()),
    path: "payload.a",
    rule: /requires "a"/,
    example: {},
  },
  {
    name: "a record and an object",
    wide: z.record(z.string(), z.number()),
    narrow: z.strictObject({ a: z.number().optional() }),
    path: "payload.*",
    rule: /closed to them/,
    example: { other: 0 },
  },
  {
    name: "names by pattern",
    wide: { type: "object", patternProperties: { "^x-": { type: ["string", "null"] } } },
    narrow: { type: "object", patternProperties: { "^x-": { type: "string" } } },
    path: "payload.*",
    rule: /allows null/,
    example: { "x-": null },
  },
  {
    name: "the number of members",
    wide: { type: "object" },
    narrow: { type: "object", minProperties: 1 },
    rule: /at least 1 members/,
    example: {},
  },
  {
    name: "the greatest number of members",
    wide: { type: "object" },
    narrow: { type: "object", maxProperties: 1 },
    rule: /at most 1 members/,
  },
  {
    name: "an alternative",
    wide: z.union([z.string(), z.number(), z.null()]),
    narrow: z.union([z.string(), z.null()]),
    rule: /allows a number/,
    example: 0,
  },
  {
    name: "a branch of a discriminated union",
    wide: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), n: z.number() }),
      z.object({ kind: z.literal("b") }),
    ]),
    narrow: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), n: z.number().min(0) }),
      z.object({ kind: z.literal("b") }),
    ]),
    path: "payload.n",
    rule: /starts at 0/,
    example: { kind: "a", n: -0.5 },
  },
  {
    name: "a whole branch",
    wide: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a") }),
      z.object({ kind: z.literal("b") }),
    ]),
    narrow: z.object({ kind: z.literal("a") }),
    path: "payload.kind",
    rule: /allows "b", .* only "a"/,
    example: { kind: "b" },
  },
  {
    name: "an object whose tag was split into alternatives",
    wide: z.object({ kind: z.enum(["a", "b"]), n: z.number() }),
    narrow: z.union([
      z.object({ kind: z.literal("a"), n: z.number() }),
      z.object({ kind: z.literal("b"), n: z.int32() }),
    ]),
    path: "payload.n",
    rule: /integers only/,
    example: { kind: "b", n: 0.5 },
  },
  {
    name: "an intersection",
    wide: z.object({ a: z.string() }),
    narrow: z.object({ a: z.string() }).and(z.object({ b: z.string() })),
    path: "payload.b",
    rule: /requires "b"/,
    example: { a: "a" },
  },
];

/** What the owner of the schema says of a value: Zod of a Zod schema, Ajv of a JSON Schema. */
function says(schema: SchemaInput, value: JsonValue): boolean {
  return isZodSchema(schema) ? z.safeParse(schema, value).success : judge(schema)(value);
}

describe("what may change between two versions", () => {
  it.each(RULES)(
    "$name: may be widened, not narrowed, for readers of old events",
    ({ wide, narrow, path = "payload", rule, example }) => {
      expect(checkCompat(narrow, wide, "backward")).toMatchObject({ verdict: "compatible", findings: [] });
      const refused = checkCompat(wide, narrow, "backward");
      expect(refused.verdict).toBe("incompatible");
      const finding = refused.findings.find((each) => rule.test(each.rule));
      expect(finding, JSON.stringify(refused.findings)).toMatchObject({
        verdict: "incompatible",
        path,
        side: "newer",
      });
      if (example !== undefined) expect(finding?.counterExample).toEqual(example);
      for (const { counterExample = null } of refused.findings) {
        expect(says(wide, counterExample)).toBe(true);
        expect(says(narrow, counterExample)).toBe(false);
      }
    },
  );

  it.each(RULES)("$name: may be narrowed, not widened, for old readers", ({ wide, narrow }) => {
    expect(checkCompat(wide, narrow, "forward").verdict).toBe("compatible");
    const refused = checkCompat(narrow, wide, "forward");
    expect(refused.verdict).toBe("incompatible");
    expect(refused.findings.filter(({ side }) => side !== "older")).toEqual([]);
  });

  it.each(RULES)(
    "$name: may not change where both directions count, and anything may where none does",
    ({ wide, narrow }) => {
      expect(checkCompat(wide, narrow, "full").verdict).toBe("incompatible");
      expect(checkCompat(narrow, wide, "full").verdict).toBe("incompatible");
      expect(checkCompat(wide, wide, "full").verdict).toBe("compatible");
      expect(checkCompat(wide, narrow, "none")).toMatchObject({ verdict: "compatible", findings: [] });
    },
  );
});
