import { describe, expect, it } from "vitest";
import { JsonBody } from "../model/json.js";
import { WrittenBodies } from "./written-bodies.js";

function body(value: unknown, size = JSON.stringify(value).length): JsonBody {
  return JsonBody.ofFrozen(value, size);
}

describe("WrittenBodies", () => {
  it("P1: what is written ahead is the very JSON of each, whatever comes before and after it", () => {
    const written = new WrittenBodies();
    const values = Array.from({ length: 2_000 }, (_, n) => ({
      n,
      text: "ü🙂\n".repeat(n % 40),
      list: [n / 8, null],
    }));
    const bodies = values.map((value) => body(value));
    for (const one of bodies) written.write(one);
    for (const [n, one] of bodies.entries()) {
      expect(Buffer.from(one.bytes).toString()).toBe(JSON.stringify(values[n]));
      expect(one.size).toBe(Buffer.byteLength(JSON.stringify(values[n])));
    }
  });

  it("makes room when a payload has many more bytes than was estimated", () => {
    const written = new WrittenBodies();
    const long = { text: "€".repeat(60_000) };
    const bodies = [body([1]), body(long, 100), body([2])];
    for (const one of bodies) written.write(one);
    expect(bodies.map(({ value }) => value)).toEqual([[1], long, [2]]);
    expect(bodies.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual([
      "[1]",
      JSON.stringify(long),
      "[2]",
    ]);
  });

  it("P13: one that is kept for long keeps little beside it, also behind one that was larger than estimated", () => {
    const written = new WrittenBodies();
    const long = { text: "€".repeat(60_000) };
    const bodies = Array.from({ length: 300 }, (_, n) =>
      body(n % 100 === 50 ? long : { n, text: "x".repeat(500) }, 520),
    );
    for (const one of bodies) written.write(one);
    const kept = bodies.filter((_, n) => n % 100 !== 50).map(({ source }) => source?.buffer.byteLength);
    expect(Math.max(...kept.map(Number))).toBeLessThanOrEqual(16_384);
    expect(new Set(kept).size).toBe(1);
    for (const [n, { value, bytes }] of bodies.entries()) {
      expect(JSON.parse(Buffer.from(bytes).toString())).toEqual(value);
      if (n % 100 !== 50) expect(value).toMatchObject({ n });
    }
  });

  it("leaves alone what has its text or its bytes, and what is large", () => {
    const written = new WrittenBodies();
    const text = JsonBody.ofText("[1, 2]");
    const bytes = JsonBody.ofBytes(Buffer.from("[3]"));
    const large = body({ text: "x".repeat(100_000) });
    for (const one of [text, bytes, large]) written.write(one);
    expect(text.source).toBeUndefined();
    expect(Buffer.from(bytes.bytes).toString()).toBe("[3]");
    expect(large.valueAlone).toBeDefined();
  });
});
