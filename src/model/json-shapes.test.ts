import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonBody } from "./json.js";
import { type MemberCopier, Shapes } from "./json-shapes.js";

const LIMITS = { maxBytes: 1_000_000, maxDepth: 64 };
const NOT_PLAIN = Symbol("not plain");
const OFTEN = 200;

/** Takes nothing but text and numbers. */
const narrow = (): MemberCopier => ({ size: 0, copy: () => NOT_PLAIN });

function usedOften(shapes: Shapes, value: Record<string, unknown>) {
  for (let i = 0; i < OFTEN; i++) shapes.of(value);
  return shapes.of(value);
}

function isDeepFrozen(value: unknown): boolean {
  if (value === null || typeof value !== "object") return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeepFrozen);
}

describe("copies by shape", () => {
  it("are what they were before the shape came often: any JSON, frozen, counted the same", () => {
    const value = fc.dictionary(fc.string({ unit: fc.constantFrom("a", "b", "_", "1") }), fc.jsonValue());
    fc.assert(
      fc.property(value, (given) => {
        const first = jsonBody(given, LIMITS);
        for (let i = 0; i < OFTEN; i++) jsonBody(given, LIMITS);
        const last = jsonBody(given, LIMITS);
        expect(last.value).toEqual(first.value);
        expect(last.size).toBe(first.size);
        expect(isDeepFrozen(last.value)).toBe(true);
        expect(last.text).toBe(JSON.stringify(JSON.parse(JSON.stringify(given))));
      }),
      { numRuns: 50 },
    );
  });

  it("are apart from the original", () => {
    const original = { apart: { list: [1], n: 1 } };
    for (let i = 0; i < OFTEN; i++) jsonBody(original, LIMITS);
    const copy = jsonBody(original, LIMITS).value;
    original.apart.list.push(2);
    original.apart.n = 2;
    expect(copy).toEqual({ apart: { list: [1], n: 1 } });
  });

  it("keep to the rules for what is not plain: undefined is left out, minus zero is zero, NaN is refused", () => {
    const rules = (n: unknown, more?: unknown) => jsonBody({ rule: n, more }, LIMITS).value;
    for (let i = 0; i < OFTEN; i++) rules(1, "more");
    expect(Object.is((rules(-0, "more") as { rule: number }).rule, 0)).toBe(true);
    expect(() => rules(Number.NaN, "more")).toThrow(/payload\.rule: NaN/);
    expect(Object.keys(rules(1) as object)).toEqual(["rule"]);
    expect(rules(new Date(0), true)).toEqual({ rule: "1970-01-01T00:00:00.000Z", more: true });
  });

  it("are not taken of another order, of more members or of fewer", () => {
    const shapes = new Shapes(NOT_PLAIN);
    expect(usedOften(shapes, { a: 1, b: "2" })?.copy({ a: 1, b: "2" }, narrow(), 1)).toEqual({
      a: 1,
      b: "2",
    });
    for (const other of [{ b: "2", a: 1 }, { a: 1 }, { a: 1, b: "2", c: 3 }, {}])
      expect(shapes.of(other)).toBeUndefined();
  });

  it("are not made of names that are more than plain words", () => {
    const shapes = new Shapes(NOT_PLAIN);
    const own = JSON.parse('{"a":1,"__proto__":2}') as Record<string, unknown>;
    const odd = ["", "1", "a b", "a-b", "é", 'x"]; throw 1; ["', "x: m0 }); throw 1; //", "y".repeat(65)];
    for (const name of odd) expect(usedOften(shapes, { a: 1, [name]: 1 }), name).toBeUndefined();
    expect(usedOften(shapes, own)).toBeUndefined();
    expect(
      usedOften(shapes, { class: 1, return: "2" })?.copy({ class: 1, return: "2" }, narrow(), 1),
    ).toEqual({
      class: 1,
      return: "2",
    });
  });

  it("are made of a shape that comes often among many that begin alike and come once", () => {
    const shapes = new Shapes(NOT_PLAIN);
    for (let i = 0; i < 100_000; i++) {
      shapes.of({ type: 1, [`id_${i}`]: i });
      shapes.of({ type: 1, often: i });
    }
    expect(shapes.of({ type: 1, often: 1 })).toBeDefined();
  });

  it("are bounded in number, and objects with ids for names do not keep others from them", () => {
    const shapes = new Shapes(NOT_PLAIN);
    for (let i = 0; i < 100_000; i++) shapes.of({ [`id_${i}`]: i });
    for (let i = 0; i < 10_000; i++) shapes.of({ often: 1 });
    expect(shapes.of({ often: 1 })).toBeDefined();
    let made = 0;
    for (let i = 0; i < 300; i++) {
      for (let n = 0; n < 10_000 && shapes.of({ [`often_${i}`]: 1 }) === undefined; n++);
      if (shapes.of({ [`often_${i}`]: 1 }) !== undefined) made++;
    }
    expect(made).toBeGreaterThan(50);
    expect(made).toBeLessThan(200);
  });
});
