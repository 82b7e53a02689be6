import fc from "fast-check";
import { v5, version } from "uuid";
import { describe, expect, it } from "vitest";
import { deadLetterId, derivedId } from "./derived-id.js";

const NAMESPACE = "6f1d3c3e-52a4-5d0b-9d6e-2b8f0c7a41e9";

describe("derived ids", () => {
  it("P9: the same cause gives the same id, on every machine and in every release", () => {
    expect(derivedId("g", "id-1", 0)).toBe("36a99ed9-72b7-5742-94d9-60724c6c9f3c");
    expect(derivedId("g", "id-1", "0")).toBe(derivedId("g", "id-1", 0));
    expect(version(derivedId("g", "id-1", 0))).toBe(5);
  });

  it("P8: a dead letter's id is its own", () => {
    expect(deadLetterId("t", "g", "id-1")).toBe("d34df66d-90ab-5d92-a34a-5b849a2da70f");
    expect(version(deadLetterId("t", "g", "id-1"))).toBe(5);
  });

  it("P8, P9: different causes give different ids, however their parts are cut", () => {
    const part = fc.constantFrom("", "a", "b", "ab", '"', ",", '","', "dead-letter", "0", "1");
    const cause = fc.tuple(part, part, part);
    fc.assert(
      fc.property(cause, cause, (one, other) => {
        const same = one.join("\u0000") === other.join("\u0000");
        expect(derivedId(...one) === derivedId(...other)).toBe(same);
        expect(deadLetterId(...one) === deadLetterId(...other)).toBe(same);
        expect(deadLetterId(...one)).not.toBe(derivedId(...other));
      }),
    );
  });

  it("are UUIDv5 of the parts as JSON, of any characters and any length", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: "binary", minLength: 1_300, maxLength: 1_500 }),
    );
    fc.assert(
      fc.property(text, text, (group, source) => {
        expect(derivedId(group, source, 7)).toBe(v5(JSON.stringify([group, source, "7"]), NAMESPACE));
      }),
    );
    expect(derivedId("\ud800", "id-1", 0)).toBe(v5('["\\ud800","id-1","0"]', NAMESPACE));
  });
});
