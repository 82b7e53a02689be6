import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../reading/schema-input.js";
import { mayMultiply } from "./multiplies.js";
import { payloadCheck } from "./payload-check.js";

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

describe("a payload with very much that is wrong", () => {
  const many = Array.from({ length: 200_000 }, () => 1);

  it("P15: is told of by its first place, where all of them would take long", () => {
    const names = Array.from({ length: 10 }, (_, n) => ({ const: `n${n}` }));
    const wrong = payloadCheck({ items: { anyOf: names } })(many);
    expect(wrong.fits || wrong.violations.map(({ path }) => path)).toEqual(Array(11).fill("payload[0]"));
    const few = payloadCheck({ items: { anyOf: names.slice(0, 2) } })([1, 2, "n1"]);
    expect(few.fits || few.violations.map(({ path }) => path)).toEqual([
      ...["payload[0]", "payload[0]", "payload[0]"],
      ...["payload[1]", "payload[1]", "payload[1]"],
    ]);
  });

  it("is shown in part, whatever it is", () => {
    const value = { list: many, text: "é".repeat(1_000), when: new Date(0) };
    for (const [whole, start] of [
      [value, '{"list":[1,1,1,'],
      [[value], '[{"list":[1,1,1,'],
      [[[[[]]], "x".repeat(500)], '[[[[]]],"xxx'],
      [Object.fromEntries(many.map((_, n) => [`k${n}`, n])), '{"k0":0,"k1":1,'],
      [{ when: new Date(0) }, '{"when":"1970-01-01T00:00:00.000Z"}'],
      [{ ["__proto__"]: 1, text: "short" }, '{"__proto__":1,"text":"short"}'],
    ] as const) {
      const checked = payloadCheck(false)(whole);
      const shown = checked.fits ? "" : (checked.violations[0]?.value ?? "");
      const text = JSON.stringify(whole);
      expect(shown.startsWith(start)).toBe(true);
      expect(shown).toBe(text.length > 80 ? `${text.slice(0, 79)}…` : text);
    }
  });
});

describe("values that a schema lists", () => {
  it("are found as JSON has them, by one look, whatever their members are called", () => {
    const schema: JsonSchema = { enum: [1, "1", null, { a: 1, b: [2] }, [], { toString: 1 }] };
    const cases: readonly (readonly [unknown, boolean])[] = [
      [1, true],
      ["1", true],
      [null, true],
      [true, false],
      ["null", false],
      [{ b: [2], a: 1 }, true],
      [{ b: [2], a: 1, c: 0 }, false],
      [[], true],
      [{}, false],
      [{ toString: 1 }, true],
      [{ toString: 2, valueOf: 1 }, false],
      ['{"a":1,"b":[2]}', false],
    ];
    for (const [value, listed] of cases) {
      expect([value, payloadCheck(schema)(value).fits]).toEqual([value, listed]);
      expect([value, payloadCheck({ const: { toString: 1 } })(value).fits]).toEqual([
        value,
        JSON.stringify(value) === '{"toString":1}',
      ]);
    }
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
