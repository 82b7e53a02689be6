/** Schemas that are large, deep or odd are answered in words and in bounded time: whoever registers one must not stop the others. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkCompat } from "../compare/compatibility.js";
import { findText } from "../patterns/language.js";
import type { SchemaInput } from "./schema-input.js";

const text = { type: "string" };
const MORE = "there are more places where they differ, or may differ: no more are told";

function names(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `p${i}`);
}

function wide(count: number, member: SchemaInput): SchemaInput {
  return {
    type: "object",
    properties: Object.fromEntries(names(count).map((name) => [name, member])),
    required: names(count),
  };
}

function nested(levels: number, wrap: (inner: SchemaInput) => SchemaInput): SchemaInput {
  let schema: SchemaInput = text;
  for (let i = 0; i < levels; i++) schema = wrap(schema);
  return schema;
}

/** Two objects at each level that share what is below them: few definitions, 2 to the power of `levels` paths. */
function shared(name: string, leaf: SchemaInput, levels: number): Record<string, SchemaInput> {
  const definitions: Record<string, SchemaInput> = { [`${name}0`]: leaf };
  for (let i = 1; i <= levels; i++) {
    const below = { $ref: `#/$defs/${name}${i - 1}` };
    definitions[`${name}${i}`] = { type: "object", properties: { p: below, q: below } };
  }
  return definitions;
}

describe("counts that are too large to spell out", () => {
  it("arrays of at least a billion items are compared, and no example is made", () => {
    const many = { type: "array", minItems: 1e9 };
    const [finding] = checkCompat(many, { ...many, items: text }, "backward").findings;
    expect(finding).toMatchObject({ verdict: "incompatible", path: "payload[]" });
    expect(finding).not.toHaveProperty("counterExample");
  });

  it("integers beyond those that can be counted through are compared by their bounds", () => {
    const large = { type: "integer", minimum: 2 ** 53, maximum: 2 ** 53 + 8 };
    expect(checkCompat(large, { anyOf: [{ type: "integer", maximum: 5 }, large] }, "backward").verdict).toBe(
      "compatible",
    );
  });

  it("ten thousand values of an enum are looked up, and a few of them are told", () => {
    const list = (letter: string): SchemaInput => ({
      enum: Array.from({ length: 10_000 }, (_, i) => ({ [letter]: i })),
    });
    expect(checkCompat(list("a"), list("a"), "full").verdict).toBe("compatible");
    const [finding] = checkCompat(list("a"), list("b"), "backward").findings;
    expect(finding?.rule).toMatch(/allows \{"a":0\}, .*, and 9994 more, the newer one only one of/);
    expect(finding?.counterExample).toEqual({ a: 0 });
  });

  it("of a thousand members that break, a hundred are told, and that there are more", () => {
    const { verdict, findings } = checkCompat(wide(1_000, text), wide(1_000, { type: "number" }), "backward");
    expect(verdict).toBe("incompatible");
    expect(findings).toHaveLength(101);
    expect(findings.at(-1)).toMatchObject({ path: "payload", side: "newer", rule: MORE });
  });

  it("what breaks is told, however much is open before it", () => {
    const members = (last: SchemaInput): SchemaInput => ({
      type: "object",
      properties: { ...Object.fromEntries(names(300).map((name) => [name, { not: last }])), last },
      required: [...names(300), "last"],
    });
    const { verdict, findings } = checkCompat(members(text), members({ type: "number" }), "backward");
    expect(verdict).toBe("incompatible");
    expect(findings).toHaveLength(101);
    expect(findings.filter((finding) => finding.verdict === "incompatible")).toMatchObject([
      { path: "payload.last" },
    ]);
  });

  it("definitions that share what they are made of are merged once, not once for each way to them", () => {
    const $defs = { ...shared("a", text, 60), ...shared("b", { minLength: 1 }, 60) };
    const both = { $defs, allOf: [{ $ref: "#/$defs/a60" }, { $ref: "#/$defs/b60" }] };
    expect(checkCompat(both, { type: "object" }, "backward").verdict).toBe("compatible");
  });
});

describe("alternatives in alternatives, in both versions", () => {
  const object = (properties: Record<string, SchemaInput>): SchemaInput => ({
    type: "object",
    properties,
    required: Object.keys(properties),
  });
  const number = { type: "number" };
  const list = (items: SchemaInput): SchemaInput => ({ type: "array", items });

  /** So many levels of alternatives, each of which leads on. */
  function leveled(
    levels: number,
    leaf: SchemaInput,
    wrap: (inner: SchemaInput) => SchemaInput,
  ): SchemaInput {
    const $defs: Record<string, SchemaInput> = { a0: leaf };
    for (let i = 1; i <= levels; i++) $defs[`a${i}`] = wrap({ $ref: `#/$defs/a${i - 1}` });
    return { $defs, $ref: `#/$defs/a${levels}` };
  }

  const byConstant = (inner: SchemaInput): SchemaInput => ({
    oneOf: ["a", "b"].map((kind) => object({ kind: { const: kind }, inner })),
  });

  it.each<[string, (inner: SchemaInput) => SchemaInput]>([
    ["that a constant tells apart", byConstant],
    ["that a type tells apart", (p) => ({ anyOf: [object({ p, r: text }), object({ p, r: number })] })],
    ["that overlap", (p) => ({ anyOf: [object({ p }), object({ p, s: number })] })],
    ["that overlap and exclude each other", (p) => ({ oneOf: [object({ p }), object({ q: p })] })],
    ["of lists", (p) => ({ anyOf: [list(p), { ...(list(p) as object), minItems: 1 }, object({ p })] })],
  ])("P15: %s are given up, in few words, thirty levels deep", (_, wrap) => {
    for (const [older, newer] of [
      [text, number],
      [number, { type: "integer" }],
    ] as const) {
      const report = checkCompat(leveled(30, older, wrap), leveled(30, newer, wrap), "full");
      expect(report.verdict).not.toBe("compatible");
      for (const side of ["older", "newer"]) {
        const findings = report.findings.filter((finding) => finding.side === side);
        expect(findings.length).toBeLessThanOrEqual(102);
        if (findings.length > 1) continue;
        expect(findings[0]).toMatchObject({
          verdict: "unknown",
          path: expect.stringMatching(/^payload/),
          rule: expect.stringMatching(/^the schemas are too large to compare/),
        });
      }
      expect(JSON.stringify(report).length).toBeLessThan(200_000);
    }
  });

  it("P15: that have to be told apart far below count as ones that overlap", () => {
    const anyOfSix = (p: SchemaInput): SchemaInput => ({
      anyOf: names(6).map((name) => object({ p, [name]: text })),
    });
    const [texts, numbers] = [leveled(6, text, anyOfSix), leveled(6, number, anyOfSix)];
    const both = {
      $defs: {
        texts: { $id: "/texts", ...(texts as object) },
        numbers: { $id: "/numbers", ...(numbers as object) },
      },
      oneOf: [{ $ref: "#/$defs/texts" }, { $ref: "#/$defs/numbers" }],
    };
    expect(checkCompat(both, { type: "object" }, "backward").verdict).toBe("compatible");
    expect(checkCompat({ type: "object" }, both, "backward")).toMatchObject({ verdict: "incompatible" });
  });

  it("are proven by the hundred, where a constant tells them apart", () => {
    const many = (leaf: SchemaInput): SchemaInput => ({
      oneOf: names(250).map((name) => object({ value: leaf, kind: { const: name } })),
    });
    expect(checkCompat(many({ type: "integer" }), many(number), "backward").verdict).toBe("compatible");
  });

  it("are proven as deep as people nest them", () => {
    const [older, newer] = [leveled(5, { type: "integer" }, byConstant), leveled(5, number, byConstant)];
    expect(checkCompat(older, newer, "backward")).toMatchObject({ verdict: "compatible", findings: [] });
    expect(checkCompat(newer, older, "backward")).toMatchObject({ verdict: "incompatible" });
  });
});

describe("patterns that take an engine for ever", () => {
  // Tried one way after another, (a|a)* has 2 to the power of 60 ways to read sixty letters.
  const endless = { type: "string", pattern: "^(a|a)*b$", minLength: 60 };

  it("examples are made of them, and held against them", () => {
    const example = `${"a".repeat(59)}b`;
    const [typed] = checkCompat(endless, { type: "number" }, "backward").findings;
    expect(typed?.counterExample).toBe(example);
    const plain = { type: "string", pattern: "^a*b$", minLength: 60 };
    const [matched] = checkCompat(plain, { type: "string", pattern: "^(a|a)*c$" }, "backward").findings;
    expect(matched?.counterExample).toBe(example);
  });

  it.each<[string, SchemaInput, SchemaInput]>([
    ["a text that is made", { ...endless, pattern: "^(?=a)(a|a)*b$" }, { type: "number" }],
    ["a text of the other's", { type: "string", minLength: 60 }, { ...endless, pattern: "^(?=a)(a|a)*b$" }],
    ["a value that is listed", { enum: ["a".repeat(60)] }, { ...endless, pattern: "^(?=a)(a|a)*b$" }],
    [
      "a text of many stars",
      { type: "string", minLength: 900 },
      { type: "string", pattern: `^(?=a)${"a*".repeat(9)}b$` },
    ],
    ["a value beside it", { const: "a".repeat(60), pattern: "^(?=a)(a|a)*b$" }, { type: "number" }],
    [
      "a name",
      { type: "object", properties: { ["a".repeat(60)]: text } },
      {
        type: "object",
        properties: { ["a".repeat(60)]: text },
        patternProperties: { "^(?=a)(a|a)*b$": false },
      },
    ],
  ])("%s is not held against those that only an engine can read", (_, older, newer) => {
    expect(checkCompat(older, newer, "backward").verdict).not.toBe("compatible");
  });

  it("members with patterns that are all hard are given up together", () => {
    const hard = (letter: string): SchemaInput => ({
      type: "object",
      properties: Object.fromEntries(
        names(300).map((name, i) => [
          name,
          { type: "string", pattern: `^[a-z]*${letter}[a-z]{${1_000 + i}}$` },
        ]),
      ),
    });
    const { verdict, findings } = checkCompat(hard("a"), hard("b"), "backward");
    expect(verdict).toBe("unknown");
    expect(findings.at(-1)?.rule).toBe("the schemas are too large to compare");
  }, 60_000);

  it("a question that takes too much work is left open", () => {
    const letters = Array.from(
      { length: 300 },
      (_, i) => `${String.fromCharCode(0x4e00 + 2 * i)}[a-z]*a[a-z]{3}`,
    );
    const query = { matches: [`^(${letters.join("|")})$`], misses: ["^[a-z]*b[a-z]{900}$"] };
    expect(findText({ ...query, minLength: 0, maxLength: Infinity }).type).toBe("unsure");
  });
});

describe("what is too deep or too large", () => {
  const pattern = (source: string): SchemaInput => ({ type: "string", pattern: source });
  const references = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, i) => [`a${i}`, { $ref: `#/$defs/a${i + 1}` }]),
  );
  let itself: z.ZodType = z.string();
  for (let i = 0; i < 20_000; i++) itself = z.array(itself);

  it.each<[string, SchemaInput, RegExp]>([
    ["alternatives in alternatives", nested(20_000, (inner) => ({ anyOf: [inner] })), /nested too deeply/],
    ["refs to refs", { $defs: { ...references, a20000: text }, $ref: "#/$defs/a0" }, /nested too deeply/],
    ["a constant", { const: nested(20_000, (inner) => [inner] as never) }, /nested too deeply/],
    ["a Zod schema", itself, /nested too deeply/],
    ["an expression", pattern("a".repeat(100_000)), /"pattern" must be a regular expression/],
    ["groups in groups", pattern(`${"(".repeat(50_000)}${")".repeat(50_000)}`), /"pattern" must be/],
    ["a pointer", { $ref: "#/$defs/%zz" }, /"\$ref" must be a pointer/],
  ])("%s is refused with a reason", (_, schema, message) => {
    expect(() => checkCompat(schema, {}, "backward")).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(message) }),
    );
  });

  it("groups in groups that the engine takes are beyond automata, not beyond the stack", () => {
    const deep = `${"(".repeat(2_000)}a${")".repeat(2_000)}`;
    expect(checkCompat(pattern(deep), pattern("a"), "backward").verdict).toBe("unknown");
  });

  it("very many patterns, each held against each, are given up", () => {
    const alternatives = (end: string): SchemaInput => ({
      oneOf: Array.from({ length: 120 }, (_, n) => ({ type: "string", pattern: `^a{${n + 1}}${end}` })),
    });
    expect(checkCompat(alternatives("b"), alternatives("b+$"), "backward").verdict).toBe("unknown");
  });
});
