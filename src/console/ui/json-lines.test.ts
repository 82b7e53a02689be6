import { describe, expect, it } from "vitest";
import { changedMembers, linesOf } from "./json-lines.js";

const text = (value: unknown, compared?: { before: unknown }): string[] =>
  linesOf(value, compared).map(
    ({ depth, mark, name, value: shown, tail }) =>
      `${{ same: " ", added: "+", removed: "-" }[mark]}${"  ".repeat(depth)}${name === undefined ? "" : `${name}: `}${shown}${tail}`,
  );

describe("JSON in lines", () => {
  it("is the same text as JSON with two spaces", () => {
    const value = { a: [1, { b: null }], "c\n<": "x", d: {}, e: [] };
    expect(
      text(value)
        .map((line) => line.slice(1))
        .join("\n"),
    ).toBe(JSON.stringify(value, null, 2));
  });

  it("marks members that came, went and changed, within objects and arrays", () => {
    expect(
      text({ a: 1, b: { c: 2, n: 1 }, d: [1, 3] }, { before: { a: 1, b: { c: 1, o: 0 }, d: [1, 2, 4] } }),
    ).toEqual([
      " {",
      '   "a": 1,',
      '   "b": {',
      '-    "c": 1,',
      '+    "c": 2,',
      '+    "n": 1,',
      '-    "o": 0',
      "   },",
      '   "d": [',
      "     1,",
      "-    2,",
      "+    3,",
      "-    4",
      "   ]",
      " }",
    ]);
  });

  it("shows the whole of what became something else", () => {
    expect(text([1], { before: { a: 1 } })).toEqual(["-{", '-  "a": 1', "-}", "+[", "+  1", "+]"]);
  });

  it("writes out marks that would turn what follows around, in names and values", () => {
    expect(text({ "a\u202e": "b\u2067" })).toEqual([" {", '   "a\\u202e": "b\\u2067"', " }"]);
  });

  it("names the members that changed, but not those that every change changes", () => {
    expect(changedMembers({ a: 1, b: 2, _v: 1 }, { a: 1, b: 3, c: 0, _v: 2 })).toEqual(["b", "c"]);
    expect(changedMembers(null, { a: 1 })).toEqual(["a"]);
  });
});
