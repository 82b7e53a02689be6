import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonStart } from "./json-start.js";

describe("the beginning of JSON", () => {
  it("is as JSON begins, and little more, however large it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(60), (value, room) => {
        expect(jsonStart(value, room).slice(0, room)).toBe(JSON.stringify(value).slice(0, room));
      }),
    );
    const large = { text: "x".repeat(1_000_000), list: Array.from({ length: 100_000 }, () => "more") };
    expect(jsonStart(large, 240).length).toBeLessThan(500);
    expect(jsonStart([large.list, large.list], 240).length).toBeLessThan(500);
  });
});
