import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonWriter } from "./batch-json.js";

/** What one writer makes of values, one after the other, into buffers of so many bytes. */
function texts(values: readonly unknown[], room = 65_536): string[] {
  const writer = new JsonWriter();
  return values.map((value) => {
    writer.write(value, Buffer.alloc(room), 0, 0);
    return writer.target.toString("utf8", 0, writer.end);
  });
}

const asJson = (values: readonly unknown[]): string[] => values.map((value) => JSON.stringify(value));

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.string({ minLength: 120, maxLength: 300 }),
);
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 }),
  fc.maxSafeInteger(),
  // Decimals as people write them, and what comes next to them.
  fc
    .tuple(fc.integer({ min: -1e12, max: 1e12 }), fc.constantFrom(1, 10, 100, 1e3, 1e4, 1e6))
    .map(([digits, scale]) => digits / scale),
  fc
    .tuple(fc.integer({ min: -1e6, max: 1e6 }), fc.constantFrom(10, 100, 1e3))
    .map(([digits, scale]) => (digits / scale) * (1 + Number.EPSILON)),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("any"), { maxLength: 5 }),
    fc.dictionary(fc.oneof(fc.constantFrom("a", "b", "c", "labels", "1"), text), tie("any"), { maxKeys: 6 }),
  ),
})).any;

describe("JSON as bytes", () => {
  it("is what JSON.stringify gives, whatever was written before", () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 6 }), (values) => {
        // Again and again: then their names are known.
        const again = Array.from({ length: 40 }, () => values).flat();
        expect(texts(again)).toEqual(asJson(again));
      }),
      { numRuns: 100 },
    );
  });

  it("has numbers as JSON.stringify has them", () => {
    fc.assert(
      fc.property(fc.array(number, { maxLength: 200 }), (numbers) => {
        expect(texts(numbers)).toEqual(asJson(numbers));
      }),
      { numRuns: 300 },
    );
    const edges = [
      0,
      -0,
      1e8,
      1e8 - 1,
      99_999_999.5,
      1e9,
      1e9 + 0.5,
      1e21,
      1e-7,
      0.001,
      0.0005,
      2 ** 53,
      -(2 ** 53),
    ];
    const all = [
      ...edges,
      Number.MAX_VALUE,
      Number.MIN_VALUE,
      0.1 + 0.2,
      1.005,
      123.456,
      1_700_000_000_123.5,
    ];
    expect(texts(all)).toEqual(asJson(all));
  });

  it("has texts as JSON.stringify has them, of whatever characters", () => {
    const characters = Array.from({ length: 65_536 }, (_, code) => String.fromCharCode(code));
    expect(texts(characters)).toEqual(asJson(characters));
    const names = ["\u007f", '"', "\\", "\n", "é", "ж", "事件", "\u2028", "🙂", "\ud800", "a\udfffb"];
    const objects = names.map((name) => ({ [name]: [name.repeat(3), `${name} and "more"`] }));
    const all = Array.from({ length: 40 }, () => objects).flat();
    expect(texts(all)).toEqual(asJson(all));
  });

  it("grows what it is written to, and keeps what stood there", () => {
    const event = { name: "é\u2028\ud800", note: "n".repeat(500), list: [1, [2.5, { deep: true }], null] };
    const writer = new JsonWriter();
    for (let room = 4; room < 700; room++) {
      const target = Buffer.alloc(room, "x");
      writer.write(event, target, 2, 4);
      const kept = writer.target.toString("utf8", 2, writer.end);
      expect(kept).toBe(`xx${JSON.stringify(event)}`);
    }
  });

  it("remembers what stands in an event again, and notices when it is another one", () => {
    const [first, second] = [{ zone: "a" }, { zone: "b" }];
    const labels = Array.from({ length: 60 }, (_, i) => (i % 30 < 25 ? first : second));
    const events = labels.map((label, n) => ({ n, label, list: n % 3 === 0 ? [] : [n, "x"] }));
    expect(texts(events)).toEqual(asJson(events));
  });

  it("writes objects with ever new names between those with the same ones", () => {
    const events = Array.from({ length: 3_000 }, (_, n) =>
      n % 2 === 0 ? { kind: "same", n } : { [`id-${n}`]: { [`of ${n}`]: n }, n },
    );
    const wide = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`name-${n}`, n]));
    const long = { ["n".repeat(1_000)]: 1 };
    const all = [...events, ...Array.from({ length: 40 }, () => [wide, long]).flat()];
    expect(texts(all)).toEqual(asJson(all));
  });

  it("has members of its own only", () => {
    let written: string[];
    Object.defineProperty(Object.prototype, "inherited", {
      value: 1,
      enumerable: true,
      configurable: true,
      writable: true,
    });
    try {
      written = texts([{ b: { a: 1 } }]);
    } finally {
      Reflect.deleteProperty(Object.prototype, "inherited");
    }
    expect(written).toEqual(['{"b":{"a":1}}']);
  });
});
