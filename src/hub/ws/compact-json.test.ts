import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NOT_GOOD, valueEnd } from "./compact-json.js";

/** What is left behind the value, or null if it is not found good. */
function rest(text: string): string | null {
  const bytes = Buffer.from(text);
  const end = valueEnd(bytes, 0);
  return end === NOT_GOOD ? null : bytes.toString("utf8", end);
}

/** JSON that keeps its value: what the bytes found good are taken for. */
function isKept(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    const again = JSON.stringify(value);
    const signs = (one: string): number => one.match(/[:,]/g)?.length ?? 0;
    return isDeepStrictEqual(JSON.parse(again), value) && signs(again) === signs(text);
  } catch {
    return false;
  }
}

describe("a look over compact JSON", () => {
  it.each([
    ...["null", "true", "false", "0", "7", "-7", "10.25", "-1.5", '""', '"a"', "{}", "[]"],
    ...[
      '"ü€😀"',
      '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
      "[[],{}]",
      '{"a":{"a":[1,{"a":2}]},"b":{"a":1}}',
      '{"":1,"a":2}',
    ],
  ])("finds it good, and its end: %s", (text) => {
    expect(rest(`${text},"x"`)).toBe(',"x"');
  });

  it.each([
    ...["", " ", "x", "nul", "nulL", "tru", "undefined", "NaN", "01", "-", "-x", "1.", ".5", "+1"],
    ...['"', '"a', '"\\', '"\\x"', '"\\u12"', '"a\nb"', '"\u0000"', "'a'"],
    ...["[", "[1", "[1,", "[1,]", "[,1]", "[1 ]", "[ ]", "[1}", "{", "{1:1}", '{"a"}', '{"a":}', '{"a":1'],
    ...['{"a":1,}', '{"a" :1}', '{"a": 1}', "{a:1}", '{"a":1]', '{"a":1 }', '{,"a":1}', '{"a'],
  ])("does not find good what is not JSON, or spaced: %j", (text) => {
    expect(rest(text)).toBeNull();
  });

  it.each([
    ["a member twice", '{"a":1,"b":2,"a":3}'],
    ["a member without a name twice", '{"":1,"":2}'],
    ["a member twice, further in", '[{"b":{"a":1,"a":1}}]'],
    ["a member in escapes", '{"\\u0061":1}'],
    ["minus zero", "-0"],
    ["minus zero, at length", "-0.0"],
    ["an exponent", "[1e5]"],
    ["a number that is too large", "9".repeat(400)],
    ["nesting that is deep", "[".repeat(33) + "]".repeat(33)],
    [
      "more members than are compared",
      JSON.stringify(Object.fromEntries(Array.from({ length: 33 }, (_, n) => [n, n]))),
    ],
  ])("leaves to others what is rare: %s", (_, text) => {
    expect(rest(text)).toBeNull();
  });

  it("finds good what JSON.stringify writes, as a rule", () => {
    const value = fc.jsonValue({ maxDepth: 6 });
    fc.assert(
      fc.property(value, (given) => {
        const text = JSON.stringify(given);
        const isRare = /\\|e[+-]\d|\d{40}|-0/.test(text) || Object.keys(given ?? {}).length > 20;
        if (!isRare) expect(rest(`${text}]`)).toBe("]");
      }),
      { numRuns: 500 },
    );
  });

  it("P1: finds nothing good that JSON.parse would refuse or not keep, whatever was done to it", () => {
    const pieces = fc.constantFrom(
      ...[
        '"',
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "-",
        "0",
        "1",
        ".",
        "e",
        "t",
        "true",
        "null",
        " ",
        "\n",
        "ü",
        '"a"',
        '"a":',
      ],
    );
    const edit = fc.record({ at: fc.nat(200), drop: fc.nat(3), put: pieces });
    const edited = fc
      .tuple(fc.jsonValue({ maxDepth: 4 }), fc.array(edit, { maxLength: 3 }))
      .map(([value, edits]) => {
        let text = JSON.stringify(value);
        for (const { at, drop, put } of edits) {
          const from = at % (text.length + 1);
          text = text.slice(0, from) + put + text.slice(from + drop);
        }
        return text;
      });
    const made = fc.array(pieces, { maxLength: 12 }).map((all) => all.join(""));
    fc.assert(
      fc.property(fc.oneof(edited, made), (text) => {
        const behind = rest(text);
        if (behind === null) return;
        const good = text.slice(0, text.length - behind.length);
        expect([good, isKept(good)]).toEqual([good, true]);
      }),
      { numRuns: 2_000 },
    );
  });
});
