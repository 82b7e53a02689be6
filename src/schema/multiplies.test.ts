import { describe, expect, it } from "vitest";
import { mayMultiply } from "./multiplies.js";
import { payloadCheck } from "./payload-check.js";
import type { JsonSchema } from "./schema-input.js";

const OPERATORS = ["and", "or", "not", "eq"];
const self = { $ref: "#/$defs/expression" };

/** An expression is a text, or an operator over expressions: as people write it. */
function expressions(word: "anyOf" | "oneOf", order: readonly ("op" | "of")[] = ["op", "of"]): JsonSchema {
  const alternative = (op: string): JsonSchema => {
    const members = { op: { const: op }, of: self };
    return {
      type: "object",
      required: ["op", "of"],
      properties: Object.fromEntries(order.map((name) => [name, members[name]])),
    };
  };
  return { ...self, $defs: { expression: { [word]: [{ type: "string" }, ...OPERATORS.map(alternative)] } } };
}

function nested(innermost: unknown, depth: number, order: readonly ("op" | "of")[] = ["op", "of"]): unknown {
  let value = innermost;
  for (let i = 0; i < depth; i++) {
    const members = { op: OPERATORS[i % 4], of: value };
    value = Object.fromEntries(order.map((name) => [name, members[name]]));
  }
  return value;
}

/** Each is made of the one before it, twice. */
function doubled(times: number): JsonSchema {
  const $defs: Record<string, JsonSchema> = { d0: { type: "number" } };
  for (let i = 1; i <= times; i++) {
    const before = { $ref: `#/$defs/d${i - 1}` };
    $defs[`d${i}`] = { allOf: [before, before] };
  }
  return { $ref: `#/$defs/d${times}`, $defs };
}

describe("a payload against alternatives that lead back to themselves", () => {
  it("P15: nested ones are held against them once, not once for each way through the alternatives", () => {
    for (const word of ["anyOf", "oneOf"] as const) {
      const check = payloadCheck(expressions(word));
      expect(check(nested("x", 40)).fits).toBe(true);
      expect(check(nested("x", 40, ["of", "op"])).fits).toBe(true);
      const wrong = check(nested(1, 40));
      expect(wrong.fits || wrong.violations[0]?.message).toBe("must be string");
    }
  });

  it("P15: where that cannot be, there is a limit of time", () => {
    const check = payloadCheck(expressions("oneOf", ["of", "op"]));
    expect(check(nested("x", 3, ["of", "op"])).fits).toBe(true);
    expect(check(nested("x", 40)).fits).toBe(true);
    expect(check(nested(1, 3)).fits).toBe(false);
    expect(check(nested(1, 40, ["of", "op"]))).toEqual({
      fits: false,
      violations: [{ path: "payload", message: "it takes too long to hold the payload against the schema" }],
    });
    const laughing = payloadCheck({ ...(doubled(60) as object), not: { const: 7 } });
    expect(laughing(7)).toMatchObject({ fits: false, violations: [{ path: "payload" }] });
  });
});

describe("whether a check may multiply", () => {
  const tree = (node: object): JsonSchema => ({ $ref: "#/$defs/node", $defs: { node } });
  const node = { $ref: "#/$defs/node" };

  it("it does where parts lead back to themselves in two ways over one member", () => {
    for (const [why, schema] of [
      ["alternatives", expressions("anyOf")],
      ["exactly one of them", expressions("oneOf")],
      ["a name and a pattern", tree({ properties: { a: node }, patternProperties: { "^a": node } })],
      ["two patterns", tree({ patternProperties: { "^a": node, b$: node } })],
      ["all items and one", tree({ items: node, contains: node })],
      ["what is and what is not", tree({ properties: { a: node }, not: { properties: { a: node } } })],
      ["definitions of definitions", doubled(11)],
      ["refs to elsewhere", { $ref: "https://example.org/schema" }],
      ["refs by name", { properties: { a: { $ref: "#name" } } }],
      ["a base of its own", { properties: { a: { $id: "https://example.org/a", type: "string" } } }],
    ] as const)
      expect([why, mayMultiply(schema)]).toEqual([why, true]);
  });

  it("it does not where they lead to other members, or to an end", () => {
    for (const [why, schema] of [
      ["anything", true],
      ["left and right", tree({ properties: { left: node, right: node }, additionalProperties: node })],
      ["first and rest", tree({ prefixItems: [node, node], items: node })],
      ["first and rest, as older drafts have it", tree({ items: [node, node], additionalItems: node })],
      ["one that may be null", tree({ properties: { next: { anyOf: [node, { type: "null" }] } } })],
      [
        "over two parts",
        {
          $defs: { a: { items: { $ref: "#/$defs/b" } }, b: { items: { $ref: "#/$defs/a" } } },
          $ref: "#/$defs/a",
        },
      ],
      ["many alternatives", { anyOf: OPERATORS.map((op) => ({ properties: { op: { const: op } } })) }],
      ["a few definitions of definitions", doubled(5)],
      ["values that look like schemas", { const: node, enum: [node], default: node, examples: [node] }],
    ] as const)
      expect([why, mayMultiply(schema)]).toEqual([why, false]);
  });

  it("counts two parts that lead to each other as one", () => {
    const other = { $ref: "#/$defs/other" };
    const both = { properties: { a: other }, additionalProperties: false };
    const schema = { ...node, $defs: { node: { anyOf: [both, { items: other }] }, other: { items: node } } };
    expect(mayMultiply(schema)).toBe(true);
    expect(mayMultiply({ ...node, $defs: { node: { anyOf: [both] }, other: { items: node } } })).toBe(false);
  });

  it("a very long way of refs is one that may", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 30_000 }, (_, i) => [`d${i}`, { $ref: `#/$defs/d${i + 1}` }]),
    );
    expect(mayMultiply({ $ref: "#/$defs/d0", $defs: { ...$defs, d30000: { type: "string" } } })).toBe(true);
  });
});
