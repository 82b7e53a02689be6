import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonValue } from "../../model/json.js";
import { normalize } from "../reading/normalize.js";
import type { SchemaInput } from "../reading/schema-input.js";
import { type Node, objectOf, type StringNode, stringOf } from "../tree/tree.js";
import { stripUndeclared } from "./strip.js";

const strip = (schema: SchemaInput, value: JsonValue): JsonValue => stripUndeclared(normalize(schema), value);

/** Three levels with more in each. */
function nested(more: JsonValue & object): JsonValue {
  return { at: 1, under: { at: 2, under: { at: 3, ...more }, ...more }, ...more };
}

describe("what is left of a value", () => {
  const narrowed = z.object({
    at: z.number(),
    get under() {
      return z
        .object({
          get under() {
            return narrowed.optional();
          },
        })
        .and(narrowed)
        .optional();
    },
  });

  it.each<[string, SchemaInput, JsonValue, JsonValue]>([
    ["a plain object", z.object({ a: z.string() }), { a: "", b: 1 }, { a: "" }],
    ["an open object", z.looseObject({ a: z.object({}) }), { a: { c: 1 }, b: 1 }, { a: {}, b: 1 }],
    [
      "an object with a catch-all",
      z.object({}).catchall(z.object({ a: z.null() })),
      { x: { a: null, b: 1 } },
      { x: { a: null } },
    ],
    ["a record", z.record(z.string(), z.object({})), { x: { a: 1 } }, { x: {} }],
    ["an array", z.array(z.object({})), [{ a: 1 }, {}], [{}, {}]],
    ["a tuple", z.tuple([z.number(), z.object({})]), [1, { a: 1 }], [1, {}]],
    [
      "a tuple with an open object before others",
      z.tuple([z.looseObject({})], z.object({})),
      [{ a: 1 }, { a: 1 }],
      [{ a: 1 }, {}],
    ],
    [
      "an alternative",
      z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
      { b: "", c: 1 },
      { b: "" },
    ],
    [
      "the first of two that fit",
      z.union([z.object({ a: z.string() }), z.object({ a: z.string(), b: z.string() })]),
      { a: "", b: "" },
      { a: "" },
    ],
    [
      "an object that is listed beside a plain one",
      { anyOf: [{ const: { a: 1 } }, { type: "object", "x-undeclared": "strip" }] },
      { a: 1 },
      { a: 1 },
    ],
    [
      "an intersection",
      z.object({ a: z.string() }).and(z.object({ b: z.string() })),
      { a: "", b: "", c: "" },
      { a: "", b: "" },
    ],
    ["a refined object", z.object({ a: z.string() }).refine(() => true), { a: "", b: "" }, { a: "" }],
    [
      "a refined object or null",
      z
        .object({ a: z.string() })
        .refine(() => true)
        .nullable(),
      { a: "", b: "" },
      { a: "" },
    ],
    ["a recursive object that is narrowed inside itself", narrowed, nested({ x: 0 }), nested({})],
    ["what a preprocessing step sees", z.preprocess((v) => v, z.object({})), { a: 1 }, { a: 1 }],
    ["a JSON Schema's object", { type: "object", properties: {} }, { a: 1 }, { a: 1 }],
  ])("%s", (_, schema, value, left) => {
    expect(strip(schema, value)).toEqual(left);
  });

  it("is the very same value if nothing goes", () => {
    const value = { list: [{ a: "" }], more: { b: null } };
    const schema = z.object({ list: z.array(z.object({ a: z.string() })), more: z.looseObject({}) });
    expect(strip(schema, value)).toBe(value);
  });

  it("goes down a recursive schema", () => {
    const tree = z.object({
      get children() {
        return z.array(tree).optional();
      },
    });
    expect(strip(tree, { children: [{ children: [{ x: 1 }], x: 1 }], x: 1 })).toEqual({
      children: [{ children: [{}] }],
    });
  });

  it("loses nothing where code chose between alternatives", () => {
    const member = { node: stringOf(), presence: "required" } as const;
    const small = objectOf({ properties: new Map([["a", member]]), undeclared: "strip" });
    const large = objectOf({
      properties: new Map([
        ["a", member],
        ["b", member],
      ]),
      undeclared: "strip",
    });
    const refined = (node: Node): Node => ({
      kind: "intersection",
      members: [node, { kind: "opaque", why: "a refinement", key: undefined }],
    });
    const value = { a: "", b: "" };
    expect(stripUndeclared({ kind: "union", members: [refined(small), large] }, value)).toBe(value);
    expect(stripUndeclared({ kind: "union", members: [refined(large), small] }, value)).toBe(value);
    expect(stripUndeclared({ kind: "union", members: [small, refined(large)] }, value)).toEqual({ a: "" });
    expect(stripUndeclared({ kind: "union", members: [refined(small), large] }, { a: "", c: "" })).toEqual({
      a: "",
    });
  });

  it("leaves values alone that make their own JSON", () => {
    const when = new Date(0) as unknown as JsonValue;
    const price = { cents: 5, toJSON: () => ({ text: "0.05" }) } as unknown as JsonValue;
    const value = { when, price };
    expect(strip(z.looseObject({ when: z.object({}), price: z.object({}) }), value)).toBe(value);
  });

  it("loses no member whose name may be one of those that are declared", () => {
    const keys = stringOf({ formats: ["one-that-nobody-knows"] }) as StringNode;
    const node = objectOf({ patterns: [{ keys, node: stringOf() }], undeclared: "strip" });
    const value = { a: "" };
    expect(stripUndeclared(node, value)).toBe(value);
  });
});
