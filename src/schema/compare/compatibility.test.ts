import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { SchemaInput } from "../reading/schema-input.js";
import { type CompatFinding, checkCompat } from "./compatibility.js";

/** A list and a tree that contain themselves. */
const list = (item: SchemaInput): SchemaInput => ({
  $ref: "#/$defs/list",
  $defs: {
    list: {
      anyOf: [
        { type: "null" },
        {
          type: "object",
          properties: { item, next: { $ref: "#/$defs/list" } },
          required: ["item", "next"],
          additionalProperties: false,
        },
      ],
    },
  },
});

function only(findings: readonly CompatFinding[]): CompatFinding {
  const [finding] = findings;
  if (finding === undefined) throw new Error("nothing was found");
  return finding;
}

describe("recursive schemas", () => {
  it("a recursive schema is compared once around", () => {
    const tree = z.object({
      value: z.number(),
      get children() {
        return z.array(tree);
      },
    });
    const wider = z.object({
      value: z.number().nullable(),
      get children() {
        return z.array(wider);
      },
    });
    expect(checkCompat(tree, wider, "backward").verdict).toBe("compatible");
    expect(checkCompat(wider, tree, "backward")).toMatchObject({
      verdict: "incompatible",
      findings: [{ path: "payload.value", counterExample: { value: null, children: [] } }],
    });
    expect(checkCompat(list({ type: "integer" }), list({ type: "number" }), "backward").verdict).toBe(
      "compatible",
    );
    expect(checkCompat(list({ type: "number" }), list({ type: "integer" }), "backward").verdict).toBe(
      "incompatible",
    );
  });

  it("a recursive schema fits one that unrolls it by hand", () => {
    const once = {
      anyOf: [
        { type: "null" },
        {
          type: "object",
          properties: {
            item: { type: "string" },
            next: { anyOf: [{ type: "null" }, { $ref: "#/anyOf/1" }] },
          },
          required: ["item", "next"],
          additionalProperties: false,
        },
      ],
    };
    expect(checkCompat(list({ type: "string" }), once, "full").verdict).toBe("compatible");
  });

  it("a recursive schema that is narrowed inside itself fits itself", () => {
    const itself = { type: "array", items: { $ref: "#" } };
    const narrowed = {
      allOf: [{ type: "array", prefixItems: [itself] }, { anyOf: [itself] }],
    };
    expect(checkCompat(narrowed, structuredClone(narrowed), "full").verdict).toBe("compatible");
  });

  it("recursive schemas that go on differing the deeper one looks are given up, not followed to the end of the stack", () => {
    // One repeats itself every 19 levels, the other every 23: 437 pairs meet before one comes back.
    const ring = (length: number): SchemaInput => {
      let inner: SchemaInput = { $ref: "#" };
      for (let i = 0; i < length; i++) inner = { type: "array", items: inner };
      return inner;
    };
    expect(checkCompat(ring(19), ring(23), "full")).toMatchObject({
      verdict: "unknown",
      findings: [{ rule: "the schemas are too deep to compare" }, {}],
    });
    expect(checkCompat(ring(2), ring(3), "full").verdict).toBe("compatible");
  });
});

describe("members that an object does not declare", () => {
  const v1 = z.object({ a: z.string() });

  it("an optional member may be added to an object that strips, in both directions", () => {
    expect(checkCompat(v1, v1.extend({ b: z.number().optional() }), "full")).toMatchObject({
      verdict: "compatible",
      objects: [{ path: "payload", older: "strips", newer: "strips" }],
    });
  });

  it("but not a required one, for readers of old events", () => {
    const v2 = v1.extend({ b: z.number() });
    expect(checkCompat(v1, v2, "forward").verdict).toBe("compatible");
    expect(only(checkCompat(v1, v2, "backward").findings)).toMatchObject({
      path: "payload.b",
      rule: 'the newer version requires "b", the older one may leave it out',
      counterExample: { a: "a" },
    });
  });

  it("a member of an open object may have been anything before it was declared", () => {
    const report = checkCompat(
      z.looseObject({ a: z.string() }),
      z.looseObject({ a: z.string(), b: z.number().optional() }),
      "backward",
    );
    expect(report).toMatchObject({ verdict: "incompatible", objects: [{ older: "open", newer: "open" }] });
    expect(only(report.findings)).toMatchObject({ path: "payload.b", counterExample: { a: "a", b: null } });
  });

  it("a closed object takes nothing new from writers that are ahead", () => {
    const closed = z.strictObject({ a: z.string() });
    const report = checkCompat(closed, closed.extend({ b: z.number().optional() }), "full");
    expect(report.objects).toEqual([{ path: "payload", older: "closed", newer: "closed" }]);
    expect(report.findings).toMatchObject([
      { side: "older", path: "payload.b", counterExample: { a: "a", b: 0 } },
    ]);
  });

  it("opening and closing is said for every object on the way", () => {
    const report = checkCompat(
      z.object({ in: z.looseObject({}) }),
      z.object({ in: z.strictObject({}) }),
      "backward",
    );
    expect(report.objects).toEqual([
      { path: "payload", older: "strips", newer: "strips" },
      { path: "payload.in", older: "open", newer: "closed" },
    ]);
  });
});

describe("what only code decides", () => {
  const even = z.number().refine((n) => n % 2 === 0);
  const unmergeable = z.string().and(z.string().transform((s) => s.length));
  const throwing = z
    .string()
    .default("")
    .refine(() => {
      throw new Error("it cannot be told");
    });

  it.each<[string, SchemaInput, SchemaInput, RegExp]>([
    ["a refinement", z.number(), even, /a refinement/],
    ["a transform", z.string(), z.string().transform((s) => s.length), /a transform may refuse/],
    ["a preprocessing step", z.string(), z.preprocess((v) => v, z.string()), /a preprocessing step/],
    ["a conversion", z.string(), z.coerce.number(), /converts what it gets to a number/],
    ["a trim before a check", z.string(), z.string().trim().min(1), /follows a change of the text/],
    ["an alternative that throws", z.string(), z.union([unmergeable, z.string()]), /parsing throws/],
    ["a default for what throws", z.string(), unmergeable.catch(0 as never), /parsing throws/],
    ["an expression with flags", z.string(), z.string().regex(/^a/i), /flags i/],
    ["a Date", z.string(), z.date(), /use z\.iso\.datetime/],
    [
      "a member that may be absent unless code throws",
      z.object({}),
      z.object({ a: throwing }),
      /"a" may be absent/,
    ],
    [
      "a keyword that is not understood",
      { type: "string" },
      { type: "string", not: { const: "a" } },
      /keyword "not"/,
    ],
    ["a misspelt keyword", { type: "string" }, { type: "string", minLenght: 1 }, /keyword "minLenght"/],
    [
      "alternatives that overlap",
      { type: "number" },
      { oneOf: [{ type: "number" }, { minimum: 5 }] },
      /alternatives that overlap/,
    ],
    ["a pattern with look-ahead", z.string().regex(/^a/), z.string().regex(/^a(?!\n)/), /a match of/],
    [
      "a format by another name",
      { type: "string", pattern: "@" },
      { type: "string", pattern: "@", format: "isbn" },
      /the format isbn/,
    ],
  ])("%s: unknown", (_, older, newer, rule) => {
    const report = checkCompat(older, newer, "backward");
    expect(report.verdict).toBe("unknown");
    expect(only(report.findings)).toMatchObject({ verdict: "unknown", rule: expect.stringMatching(rule) });
    expect(only(report.findings)).not.toHaveProperty("counterExample");
  });

  it("code that only refuses may be dropped", () => {
    expect(checkCompat(even, z.number(), "backward").verdict).toBe("compatible");
    expect(checkCompat(z.string().transform(Number), z.string(), "backward").verdict).toBe("compatible");
  });

  it("the same code decides alike: what is shared between versions does not matter", () => {
    const v1 = z.object({ n: even, when: z.coerce.date(), odd: z.preprocess((v) => v, z.string()) });
    expect(checkCompat(v1, v1.extend({ more: z.string().optional() }), "full").verdict).toBe("compatible");
    expect(checkCompat(v1, v1.extend({ n: z.number().refine((n) => n % 2 === 0) }), "backward").verdict).toBe(
      "unknown",
    );
  });

  it("what breaks elsewhere, or whatever the code says, is still found", () => {
    const report = checkCompat(
      z.object({ n: even, s: z.string() }),
      z.object({ n: even, s: z.number() }),
      "backward",
    );
    expect(only(report.findings)).toMatchObject({ verdict: "incompatible", path: "payload.s" });
    expect(checkCompat(even, z.string(), "backward").verdict).toBe("incompatible");
  });

  it("which of two overlapping alternatives was meant is up to code, so nothing counts as left out", () => {
    const plain = z.object({ a: z.string() });
    const v1 = z.union([plain.refine(() => true), plain.extend({ b: z.string() })]);
    const v2 = z.union([plain, z.object({ a: z.string(), b: z.string(), c: z.number().optional() })]);
    expect(checkCompat(v1, v2, "backward").objects.every(({ older }) => older === "open")).toBe(true);
  });
});

describe("schemas that are none", () => {
  function deep(levels: number): SchemaInput {
    return levels === 0 ? {} : { type: "array", items: deep(levels - 1) };
  }

  it.each<[string, unknown, RegExp]>([
    ["a text", "string", /Zod 4 schema or a JSON Schema/],
    ["an unknown type", { type: "text" }, /"type" must be null, boolean/],
    ["a boolean bound", { minimum: 1, exclusiveMinimum: true }, /"exclusiveMinimum" must be a number/],
    ["a broken expression", { pattern: "(" }, /"pattern" must be a regular expression, not "\("/],
    ["a ref to nowhere", { $ref: "#/$defs/nowhere" }, /does not have/],
    ["a ref to itself", { $ref: "#" }, /refers to itself without end/],
    [
      "a ref to itself through alternatives",
      { anyOf: [{ type: "string" }, { $ref: "#" }] },
      /refers to itself without end/,
    ],
    ["arrays in arrays without end", deep(201), /nested deeper than 200 levels/],
    ["properties that are no object", { properties: 7 }, /"properties" must be an object/],
    ["an old Zod schema", { _def: {}, parse: () => 1 }, /Zod 3/],
  ])("%s is refused with a reason", (_, schema, message) => {
    expect(() => checkCompat(schema as SchemaInput, {}, "backward")).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(message) }),
    );
  });

  it("an unknown mode is refused", () => {
    expect(() => checkCompat({}, {}, "sideways" as "full")).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION" }),
    );
  });
});
