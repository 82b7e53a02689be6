import { Script } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBus } from "../../bus/create-bus.js";
import { memoryStore } from "../../stores/memory/index.js";
import { checkCompat } from "../compare/compatibility.js";
import { payloadCheck } from "../payload/payload-check.js";
import type { SchemaInput } from "../reading/schema-input.js";
import { SchemaRegistry } from "../registry/registry.js";
import { withSchemaValidation } from "../registry/validation-layer.js";
import { Automaton } from "./automaton.js";
import { patternOf } from "./pattern.js";
import { quickLength } from "./pattern-cost.js";

/** Ends what would go on for ever, so that a test fails instead of standing still. */
function inTime<T>(work: () => T): T {
  const here = globalThis as { workInTime?: () => T };
  here.workInTime = work;
  try {
    return new Script("workInTime()").runInThisContext({ timeout: 20_000 }) as T;
  } finally {
    delete here.workInTime;
  }
}

const fits = (schema: SchemaInput, payload: unknown): unknown => {
  const checked = inTime(() => payloadCheck(schema)(payload));
  return checked.fits || checked.violations[0]?.message;
};

/** In no order that repeats itself. */
function someLetters(length: number): string {
  let seed = 1;
  const letters = Array.from({ length }, () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % 2 === 0 ? "a" : "b";
  });
  return letters.join("");
}

describe("patterns", () => {
  it("P15: no text makes an engine try all ways through a pattern", () => {
    for (const [source, text, matches] of [
      ["(a|a)*b", "a".repeat(200), false],
      ["^(a+)+$", `${"a".repeat(200)}!`, false],
      ["^(?:[a-z0-9]+-?)*$", "a-".repeat(50_000), true],
      ["^(?:[a-z0-9]+-?)*$", `${"a-".repeat(50_000)}!`, false],
      ["[a-z]*[a-z]*[a-z]*!", "a".repeat(100_000), false],
      ["^(a|b|ab)*c$", `${"ab".repeat(100)}c`, true],
      ["(?:)^(.|..)*$", `${"😀".repeat(100)}\n`, false],
    ] as const)
      expect([source, fits({ type: "string", pattern: source }, text)]).toEqual([
        source,
        matches || `must match pattern "${source}"`,
      ]);
  });

  it("P15: what only an engine understands has a limit of time, and does not fit beyond it", () => {
    const schema = { type: "array", items: { type: "string", pattern: "^(?=.*\\d)(\\w+\\s?)+$" } };
    expect(fits(schema, [`${"a".repeat(10)} 1`, `${"word ".repeat(100)}1`])).toBe(true);
    const tooLong = "it takes too long to hold the payload against the schema";
    expect(fits(schema, ["word 1", `${"a".repeat(60)}1!`])).toBe(tooLong);
    expect(fits(schema, [`${"word ".repeat(100)}1`])).toBe(true);
    // Members by pattern, and names, are asked in the same way.
    expect(fits({ patternProperties: { "^(?!x)(a|a)*b$": true } }, { ["a".repeat(60)]: 1 })).toBe(tooLong);
    expect(fits({ propertyNames: { pattern: "^(?!x)(a|a)*b$" } }, { ["a".repeat(60)]: 1 })).toBe(tooLong);
  });

  it("P15: a publish by such a pattern is refused with a code, and nothing is stored", async () => {
    const bus = await createBus({ store: memoryStore() });
    const schemas = new SchemaRegistry();
    schemas.register({
      topic: "notes.written",
      version: 1,
      schema: { type: "string", pattern: "^(?=.*\\d)(\\w+\\s?)+$" },
    });
    const checked = withSchemaValidation(bus, schemas);
    await expect(checked.publish("notes.written", `${"a".repeat(60)}1!`)).rejects.toMatchObject({
      code: "SCHEMA_VIOLATION",
      message: expect.stringContaining("it takes too long") as never,
    });
    expect(await bus.topics()).toEqual([]);
    await bus.close();
  });

  it("each of a schema's patterns is asked for itself", () => {
    const schema = { anyOf: [{ pattern: "^b" }, { pattern: "^a" }], patternProperties: { "^x": false } };
    expect([fits(schema, "ab"), fits(schema, "ba")]).toEqual([true, true]);
    expect(fits(schema, "c")).toBe('must match pattern "^b"');
    expect(fits({ patternProperties: { "^x": false, "^y": true } }, { y: 1 })).toBe(true);
    expect(fits({ patternProperties: { "^y": true, "^x": false } }, { x: 1 })).not.toBe(true);
  });

  it("compatibility is not decided by trying all ways either", () => {
    const older = { enum: ["a".repeat(1_000)] };
    for (const source of ["\\B\\w*\\w*\\w*!", "^(?=a)(a|a|a|a|a|a|a|a)*b"])
      expect(inTime(() => checkCompat(older, { pattern: source }, "backward")).verdict).toBe("unknown");
  });

  it("read by an automaton, a text matches where an engine says so, in both readings", () => {
    const unit = fc.constantFrom("a", "b", "-", "1", "é", "漢", "😀", "\ud83d", "\n");
    const text = fc.string({ unit, maxLength: 60 });
    const sources = [
      "^(?:[a-z0-9]+-)*[a-z0-9]+$",
      "(a|b)*a(a|b){6}$",
      "^(?:[^a]{2}|a.)+$",
      "^(.|-1)*[^b]$",
      "(?:a+b?)+[é漢]",
      "^(\\w*|\\s*)*$|1$",
    ];
    fc.assert(
      fc.property(fc.constantFrom(...sources), fc.boolean(), text, (source, byUnits, subject) => {
        const own = byUnits ? `(?:)${source}` : source;
        const wanted = new RegExp(source, byUnits ? "" : "u").test(subject);
        expect([own, Automaton.of(own)?.matches(subject)]).toEqual([own, wanted]);
        expect([own, patternOf(own)?.test(subject)]).toEqual([own, wanted]);
      }),
      { numRuns: 2_000 },
    );
  }, 60_000);

  it("an automaton keeps few positions, however many a text goes through", () => {
    const automaton = Automaton.of("[ab]*a[ab]{14}$") as Automaton;
    for (const end of ["", "a"]) {
      const text = someLetters(3_000) + end;
      expect(automaton.matches(text)).toBe(text.at(-15) === "a");
      expect(automaton.size).toBeLessThan(1_000);
    }
  });

  it("one that would have to keep very much of a long text does not know", () => {
    expect(Automaton.of("^[ab]*a[ab]{1500}a$")?.matches(someLetters(20_000))).toBeUndefined();
  });
});

describe("how long an engine is quick", () => {
  const [MEGABYTE, SHORT] = [2 ** 20, 256];

  it("over texts of any length, where there is one way to take them", () => {
    for (const source of [
      "^[a-z]+$",
      "^\\d{4}-\\d{2}-\\d{2}$",
      "^(?:jan|feb|mar)$",
      "^.{1,500}$",
      "^(?:abc)*$",
      "^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$",
      "^\\p{L}+$",
      "^(?=a)[\\p{L}\\d_-]+$",
      "foo",
    ])
      expect([source, quickLength(source) >= MEGABYTE]).toEqual([source, true]);
  });

  it("over short texts, where the ways are as many as pairs of places or more", () => {
    for (const source of [
      "[a-z]+!",
      "^\\w*\\d*$",
      "^.*x.*y$",
      "\\b\\w+$",
      "(\\w)\\1$x*",
      "^[ab]*a[ab]{1000}$",
    ])
      expect([source, quickLength(source) > 0, quickLength(source) < SHORT]).toEqual([source, true, true]);
  });

  it("hardly ever, where each letter makes more ways", () => {
    for (const source of ["(a|a)*b", "^(a+)+$", "^(?=.*\\d)(\\w+\\s?)+$", "(?:a?){40}b", "^(\\1|a)*$"])
      expect([source, quickLength(source) < 16]).toEqual([source, true]);
  });
});

describe("items that are all different", () => {
  it("P15: are told by one look at each", () => {
    const many = Array.from({ length: 100_000 }, (_, id) => ({ id, at: [id] }));
    expect(fits({ type: "array", uniqueItems: true }, many)).toBe(true);
    expect(fits({ type: "array", uniqueItems: true }, [...many, { at: [7], id: 7 }])).toBe(
      "must NOT have duplicate items",
    );
  });

  it("are compared as JSON is, and not where nobody asks", () => {
    for (const [items, unique] of [
      [[1, "1", true, null, [1], { a: 1 }], true],
      [[1, 1.0], false],
      [
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
        false,
      ],
      [[{ toString: 1 }, { toString: 2 }], true],
    ] as const)
      expect([items, fits({ uniqueItems: true }, items) === true]).toEqual([items, unique]);
    expect(fits({ uniqueItems: false }, [1, 1])).toBe(true);
  });
});
