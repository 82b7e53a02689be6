import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { copyJson } from "./json-copy.js";
import { type CopyOfMake, Makes, type MemberCopier, NOT_PLAIN } from "./json-makes.js";

/** More often than it takes to learn a make. */
const OFTEN = 100;

/** Takes values as they are, and refuses functions. */
function copier(): MemberCopier {
  return { size: 0, copy: (member) => (typeof member === "function" ? NOT_PLAIN : member) };
}

function learned(make: () => object, makes = new Makes()): CopyOfMake | undefined {
  for (let i = 0; i < OFTEN && makes.of(make()) === undefined; i++) makes.pass(make());
  return makes.of(make());
}

describe("Makes", () => {
  it("knows objects that come again and again by their names and the order of these", () => {
    const makes = new Makes();
    const copy = learned(() => ({ a: 1, b: "x" }), makes);
    expect(copy?.({ a: 2, b: "y" }, copier(), 0)).toEqual({ a: 2, b: "y" });
    for (const other of [{}, { a: 1 }, { b: "x", a: 1 }, { a: 1, b: "x", c: 1 }, { a: 1, c: 1 }])
      expect(makes.of(other)).toBeUndefined();
    expect(makes.size).toBe(1);
  });

  it("tells makes with names in common from each other", () => {
    const makes = new Makes();
    const shapes = [{ id: 1 }, { id: 1, a: 2 }, { id: 1, b: 2 }, { id: 1, a: 2, c: 3 }, { a: 2, id: 1 }];
    for (const shape of shapes) learned(() => shape, makes);
    for (const shape of shapes) {
      const copy = makes.of(shape)?.(shape, copier(), 0) as object;
      expect(Object.entries(copy)).toEqual(Object.entries(shape));
    }
    expect(makes.size).toBe(shapes.length);
  });

  it("P13: learns nothing of objects with ever new names, and no more than so many makes", () => {
    const makes = new Makes();
    for (let i = 0; i < 10_000; i++) makes.pass({ [`id-${i}`]: 1 });
    expect(makes.size).toBe(0);
    for (let i = 0; i < 500; i++) learned(() => ({ [`kind-${i}`]: 1 }), makes);
    expect(makes.size).toBe(128);
  });

  it("takes any name for a name and nothing else, and leaves __proto__ to others", () => {
    const name = `"}); throw new Error("code"); ({"\\\u2028\n\${1}\``;
    expect(learned(() => ({ [name]: 1, "": 2 }))?.({ [name]: 3, "": 4 }, copier(), 0)).toEqual({
      [name]: 3,
      "": 4,
    });
    expect(learned(() => JSON.parse('{"a":1,"__proto__":{"x":1}}') as object)).toBeUndefined();
  });

  it("leaves members that are undefined, or not plain, to others", () => {
    const copy = learned(() => ({ a: 1, b: 2 }));
    expect(copy?.({ a: 1, b: undefined }, copier(), 0)).toBeUndefined();
    expect(copy?.({ a: 1, b: () => 1 }, copier(), 0)).toBe(NOT_PLAIN);
  });

  it("leaves objects of a class, or with a form of their own for JSON, to others, whatever their names", () => {
    class Point {
      a = 1;
      b = 2;
    }
    const copy = learned(() => ({ a: 1, b: 2 }));
    expect(copy?.(new Point(), copier(), 0)).toBe(NOT_PLAIN);
    const converted = Object.defineProperty({ a: 1, b: 2 }, "toJSON", { value: () => 3 });
    expect(copy?.(converted, copier(), 0)).toBe(NOT_PLAIN);
    expect(copy?.(Object.assign(Object.create(null) as object, { a: 1, b: 2 }), copier(), 0)).toEqual({
      a: 1,
      b: 2,
    });
  });

  it("does without where no code may be made", () => {
    const makes = new Makes(() => {
      throw new EvalError("Code generation from strings disallowed for this context");
    });
    expect(learned(() => ({ a: 1 }), makes)).toBeUndefined();
  });
});

describe("what events have in common", () => {
  const event = (n: number, zone = "north", tag = "quick"): object => ({
    n,
    labels: { zone },
    tags: ["a", tag],
  });
  const copyOf = (value: object): Inner => copyJson(value, 64).copy as Inner;

  it("is kept once where it follows each other, and is of the same size", () => {
    for (let n = 0; n < OFTEN; n++) copyOf(event(n));
    const [one, two] = [copyJson(event(1), 64), copyJson(event(2), 64)];
    expect(two.copy).toEqual(event(2));
    expect((two.copy as Inner).labels).toBe((one.copy as Inner).labels);
    expect((two.copy as Inner).tags).toBe((one.copy as Inner).tags);
    expect(two.size).toBe(one.size);
  });

  it("P1: is never that of the caller, nor what differs in anything", () => {
    const given = event(1) as Inner;
    for (let n = 0; n < OFTEN; n++) copyOf(given);
    const before = copyOf(given);
    (given.labels as { zone: unknown }).zone = "south";
    (given.tags as unknown[]).push("more");
    expect(before).toEqual(event(1));
    expect(copyOf(given)).toEqual({ n: 1, labels: { zone: "south" }, tags: ["a", "quick", "more"] });
    for (const other of [1, true, null, "", ["north"], { zone: "north" }]) {
      expect(copyOf({ n: 1, labels: { zone: other }, tags: ["a", other] })).toEqual({
        n: 1,
        labels: { zone: other },
        tags: ["a", other],
      });
    }
  });

  it("is found again after events that had nothing in common", () => {
    for (let n = 0; n < 1_000; n++)
      expect(copyOf(event(n, `z${n}`, `t${n}`))).toEqual(event(n, `z${n}`, `t${n}`));
    for (let n = 0; n < 1_000; n++) copyOf(event(n));
    expect(copyOf(event(1)).labels).toBe(copyOf(event(2)).labels);
    expect(copyOf(event(1)).tags).toBe(copyOf(event(2)).tags);
  });

  it("P13: is not remembered if it is long", () => {
    const long = "x".repeat(1_000);
    for (let n = 0; n < OFTEN; n++) copyOf(event(n, long, long));
    const [one, two] = [copyOf(event(1, long, long)), copyOf(event(2, long, long))];
    expect(two).toEqual(event(2, long, long));
    expect(two.labels).not.toBe(one.labels);
    expect(two.tags).not.toBe(one.tags);
  });

  it("tells an object from one with other names, and both from a list", () => {
    const inner = [{ a: 1 }, { a: 1, b: 2 }, { b: 2, a: 1 }, [1], ["1"], { 0: 1 }, {}, []];
    for (let n = 0; n < 4_000; n++) {
      const value = { labels: inner[n % inner.length], tags: inner[(n >> 3) % inner.length] };
      expect(JSON.stringify(copyOf(value))).toBe(JSON.stringify(value));
    }
  });
});

// The last one: it teaches as many makes as are learned.
describe("a copy", () => {
  it("P3: a payload is copied to the same, in the same order and as frozen, however often its make was seen", () => {
    const names = fc.constantFrom("a", "b", "__proto__", "toJSON", "0", "");
    const member = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined), fc.constant(-0));
    fc.assert(
      fc.property(fc.array(fc.tuple(names, member), { maxLength: 4 }), fc.jsonValue(), (members, inner) => {
        const value = Object.fromEntries([...members, ["inner", inner]]);
        const text = JSON.stringify(value);
        const first = copyJson(value, 64);
        for (let i = 0; i < 40; i++) copyJson(value, 64);
        const last = copyJson(value, 64);
        expect(JSON.stringify(last.copy)).toBe(text);
        expect(last.copy).toStrictEqual(first.copy);
        expect(last.size).toBe(first.size);
        expect(isFrozen(last.copy)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

interface Inner {
  readonly labels: unknown;
  readonly tags: unknown;
}

function isFrozen(value: unknown): boolean {
  return Object.isFrozen(value) && (typeof value !== "object" || Object.values(value ?? {}).every(isFrozen));
}
