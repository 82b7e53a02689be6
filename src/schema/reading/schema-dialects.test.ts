/** Keywords that mean more, less or something else by draft, by validator or by where they stand: verdicts agree with the validator. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkCompat } from "../compare/compatibility.js";
import { parserOf } from "../payload/validator.js";
import { SchemaRegistry } from "../registry/registry.js";
import { toJsonSchema } from "./normalize.js";
import type { SchemaInput } from "./schema-input.js";

const DRAFT_7 = "http://json-schema.org/draft-07/schema#";
const text = { type: "string" };
const number = { type: "number" };

/** Held against both versions by the product's own validators. */
function says(older: SchemaInput, newer: SchemaInput, value: unknown): readonly [boolean, boolean] {
  return [parserOf(older)(value).fits, parserOf(newer)(value).fits];
}

const embedded = (inner: SchemaInput, outer: SchemaInput): SchemaInput => ({
  $id: "https://example.org/root",
  $defs: { x: outer },
  type: "object",
  properties: {
    a: { $id: "part", $defs: { x: inner }, type: "object", properties: { b: { $ref: "#/$defs/x" } } },
    c: { $ref: "#/properties/a/properties/b" },
  },
});

describe("a version that takes what the next one refuses", () => {
  it.each<[string, SchemaInput, SchemaInput, unknown]>([
    ["nullable, OpenAPI's word for null", { ...text, nullable: true }, text, null],
    [
      "prefixItems, which draft 7 does not have",
      { $schema: DRAFT_7, type: "array", prefixItems: [text] },
      { type: "array", prefixItems: [text] },
      [1],
    ],
    [
      "dependentRequired, which draft 7 does not have",
      { $schema: DRAFT_7, dependentRequired: { a: ["b"] } },
      { dependentRequired: { a: ["b"] } },
      { a: 1 },
    ],
    [
      "minContains, which draft 7 does not have",
      { $schema: DRAFT_7, contains: text, minContains: 2 },
      { contains: text, minContains: 2 },
      ["a"],
    ],
    [
      "refs within a part that has an id of its own",
      embedded(text, number),
      { properties: { a: { properties: { b: number } } } },
      { a: { b: "x" } },
    ],
    [
      "refs through a part that has an id of its own",
      embedded(text, number),
      { properties: { c: number } },
      { c: "x" },
    ],
    [
      "names that may not be, and must",
      { type: "object", maxProperties: 0 },
      { type: "object", propertyNames: false, required: ["a"] },
      {},
    ],
    [
      "a bound under a condition",
      z.string().check(z.minLength(2, { when: () => false } as object)),
      z.string().min(2),
      "a",
    ],
    ["an expression that gets the u flag", z.string().regex(/^..$/), z.string().regex(/^..$/u), "😀"],
    [
      "a pattern that becomes an expression without it",
      { ...text, pattern: "^.$" },
      z.string().regex(/^.$/),
      "😀",
    ],
    ["an expression that becomes a pattern", z.string().regex(/^..$/), { ...text, pattern: "^..$" }, "😀"],
    [
      "a template that becomes a pattern",
      z.templateLiteral([z.string().length(2)]),
      { ...text, pattern: "^[^]{2}$" },
      "😀",
    ],
  ])("%s: is not called compatible", (_, older, newer, value) => {
    expect(says(older, newer, value)).toEqual([true, false]);
    expect(checkCompat(older, newer, "backward").verdict).not.toBe("compatible");
  });
});

describe("versions that take the same", () => {
  it.each<[string, SchemaInput, SchemaInput, unknown]>([
    ["nullable and a type of null", { ...text, nullable: true }, { type: ["string", "null"] }, null],
    [
      "a tuple of draft 7 and one of 2020",
      { $schema: DRAFT_7, type: "array", items: [text], additionalItems: number },
      { type: "array", prefixItems: [text], items: number },
      ["a", 1],
    ],
    [
      "a keyword that both drafts read alike",
      { $schema: DRAFT_7, ...text, not: { const: "a" } },
      { ...text, not: { const: "a" } },
      "b",
    ],
    [
      "refs within a part that has an id of its own",
      embedded(text, number),
      embedded(text, text),
      { a: { b: "x" }, c: "x" },
    ],
    [
      "an expression and the JSON Schema made of it",
      z.string().regex(/^.{1,80}$/),
      toJsonSchema(z.string().regex(/^.{1,80}$/)),
      "😀".repeat(40),
    ],
    [
      "an expression that counts further",
      z.string().regex(/^.{1,80}$/),
      z.string().regex(/^.{1,90}$/),
      "😀".repeat(40),
    ],
    [
      "a few integers and a list of them",
      { type: "integer", minimum: 1, maximum: 3 },
      { enum: [1, 2, 3] },
      2,
    ],
    [
      "a text that is trimmed before it is checked",
      toJsonSchema(z.string().trim().min(1)),
      z.string().trim().min(1),
      " a",
    ],
    ["tenths", z.number().multipleOf(0.1), { ...number, multipleOf: 0.1 }, 0.3],
    ["multiples beyond what parseInt reads", { type: "integer" }, { ...number, multipleOf: 1 }, 1e21],
    [
      "a list of one and lists without repeats",
      { type: "array", maxItems: 1 },
      { type: "array", uniqueItems: true },
      [1],
    ],
    [
      "members that have to be there, and as many of them",
      { type: "object", properties: { a: text, b: text }, required: ["a", "b"] },
      { type: "object", properties: { a: text, b: text }, minProperties: 2 },
      { a: "", b: "" },
    ],
    [
      "a closed object and as many members as it declares",
      { type: "object", properties: { a: text }, additionalProperties: false },
      { type: "object", properties: { a: text }, additionalProperties: false, maxProperties: 1 },
      { a: "" },
    ],
    [
      "a format that both want",
      { ...text, format: "date", maxLength: 10 },
      { ...text, format: "date" },
      "2026-01-31",
    ],
    ["multiples of multiples", { ...number, multipleOf: 4 }, { ...number, multipleOf: 2 }, 3e21],
  ])("%s: are compatible", (_, older, newer, value) => {
    expect(says(older, newer, value)).toEqual([true, true]);
    expect(checkCompat(older, newer, "backward").verdict).toBe("compatible");
  });

  it("what breaks in one item of a list that has to be longer is shown", () => {
    const three = { type: "array", minItems: 3 };
    const report = checkCompat(
      { ...three, items: { type: ["string", "number"] } },
      { ...three, items: text },
      "backward",
    );
    expect(report.verdict).toBe("incompatible");
    expect(report.findings[0]?.counterExample).toHaveLength(3);
  });

  it("what is no multiple is told with the divisor", () => {
    expect(parserOf({ ...number, multipleOf: 0.1 })(0.35)).toMatchObject({
      violations: [{ path: "payload", message: "must be multiple of 0.1", value: "0.35" }],
    });
  });
});

describe("a list without repeats", () => {
  const once = { type: "array", uniqueItems: true };
  it.each<[string, SchemaInput, unknown[], unknown[]]>([
    ["of anything", once, [1, "1", null, [1], { a: 1, b: 2 }], [{ a: 1, b: 2 }, 5, { b: 2, a: 1 }]],
    [
      "in items before those that `items` is about",
      { ...once, prefixItems: [true], items: number },
      ["a", 1],
      [1, 1],
    ],
    [
      "in none of the items before",
      { ...once, prefixItems: [true, true], items: number },
      [null, 1],
      [null, null],
    ],
    [
      "of names that every object has",
      { ...once, items: text },
      ["__proto__", "x"],
      ["__proto__", "__proto__"],
    ],
    ["of times that are not written yet", once, [new Date(1), new Date(2)], [new Date(1), new Date(1)]],
  ])("%s: takes what differs and refuses what does not", (_, schema, different, same) => {
    const fits = parserOf(schema);
    expect(fits(different)).toMatchObject({ fits: true });
    expect(fits(same)).toMatchObject({
      violations: [{ path: "payload", message: "must NOT have duplicate items" }],
    });
    expect(parserOf({ ...(schema as object), uniqueItems: false })(same)).toMatchObject({ fits: true });
  });
});

describe("a JSON Schema that no payload could be held against", () => {
  it.each<[string, SchemaInput, RegExp]>([
    ["a list of items outside draft 7", { type: "array", items: [text] }, /items value must be/],
    ["nullable without a type", { nullable: true }, /"nullable" cannot be used without "type"/],
    ["a ref to elsewhere", { $ref: "https://example.org/other" }, /can't resolve reference/],
    ["one that answers later", { $async: true, ...text }, /asynchronous/],
  ])("%s: is refused when it is registered, not when the first event comes", (_, schema, message) => {
    expect(() => new SchemaRegistry().register({ topic: "orders.placed", version: 1, schema })).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(message) }),
    );
  });

  it("one that answers later does not pass what does not fit", () => {
    expect(() => parserOf({ $async: true, ...text })(5)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION" }),
    );
  });
});
