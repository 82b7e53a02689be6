import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Automaton } from "./automaton.js";
import { findText, type TextAnswer } from "./language.js";
import { patternOf } from "./pattern.js";
import { unitsPattern } from "./pattern-reading.js";
import { BY_UNITS } from "./pattern-syntax.js";

const find = (matches: string[], misses: string[] = [], minLength = 0, maxLength = Infinity): TextAnswer =>
  findText({ matches, misses, minLength, maxLength });

/** Patterns of the supported syntax. */
const pattern = fc.letrec<{ choice: string; sequence: string; piece: string; atom: string }>((tie) => ({
  choice: fc.array(tie("sequence"), { minLength: 1, maxLength: 2 }).map((parts) => parts.join("|")),
  sequence: fc.array(tie("piece"), { minLength: 0, maxLength: 3 }).map((parts) => parts.join("")),
  piece: fc
    .tuple(tie("atom"), fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,2}", "{1,}"))
    .map(([atom, times]) => atom + times),
  atom: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.constantFrom(
      "a",
      "b",
      "0",
      "[ab]",
      "[^a]",
      ".",
      "\\d",
      "\\w",
      "\\s",
      "\\.",
      "-",
      "[a-c0-9_-]",
      "\\u0041",
    ),
    tie("choice").map((inside) => `(?:${inside})`),
  ),
})).choice;
const anchored = fc
  .tuple(fc.boolean(), pattern, fc.boolean())
  .map(([start, body, end]) => `${start ? "^" : ""}(${body})${end ? "$" : ""}`);
const inSomeReading = fc
  .tuple(anchored, fc.boolean())
  .map(([source, byUnits]) => (byUnits ? `${BY_UNITS}${source}` : source));
const text = fc.string({
  unit: fc.constantFrom("a", "b", "c", "0", "9", "-", "_", ".", " ", "\n", "A", "é", "😀"),
  maxLength: 5,
});

function matchesByAutomaton(source: string, subject: string, split: (text: string) => number[]): boolean {
  const automaton = Automaton.of(source);
  if (automaton === undefined) throw new Error(`${source} is not supported`);
  return split(subject).reduce((at, symbol) => automaton.step(at, symbol), automaton.start).accepting;
}

describe("questions about sets of strings", () => {
  it("an automaton matches what the engine matches, by code points and by units", () => {
    fc.assert(
      fc.property(anchored, text, (source, subject) => {
        const points = (t: string): number[] => [...t].map((c) => c.codePointAt(0) ?? 0);
        const units = (t: string): number[] => Array.from({ length: t.length }, (_, i) => t.charCodeAt(i));
        expect(matchesByAutomaton(source, subject, points)).toBe(new RegExp(source, "u").test(subject));
        expect(matchesByAutomaton(source, subject, units)).toBe(new RegExp(source).test(subject));
      }),
      { numRuns: 1_000 },
    );
  }, 60_000);

  it("a text that is found answers the question, and none means that no text does", () => {
    fc.assert(
      fc.property(
        inSomeReading,
        inSomeReading,
        fc.nat(3),
        fc.nat(3),
        fc.array(text, { maxLength: 20 }),
        (a, b, min, more, texts) => {
          const max = more === 3 ? Infinity : min + more;
          const matches = (source: string, t: string): boolean =>
            new RegExp(source, source.startsWith(BY_UNITS) ? "" : "u").test(t);
          const fits = (t: string): boolean =>
            matches(a, t) && !matches(b, t) && [...t].length >= min && [...t].length <= max;
          const answer = find([a], [b], min, max);
          if (answer.type === "found") expect(fits(answer.text)).toBe(true);
          if (answer.type === "none") expect(texts.filter(fits)).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
  }, 60_000);

  it("finds a shortest text, and a readable one", () => {
    expect(find(["^[a-z]+$"], ["^[a-z]{2,}$"])).toEqual({ type: "found", text: "a" });
    expect(find(["^\\d{3}-\\d{2}$"])).toEqual({ type: "found", text: "000-00" });
    expect(find([], ["^.*$"])).toEqual({ type: "found", text: "\n" });
  });

  it("proves inclusion", () => {
    expect(find(["^[a-f]+$"], ["^[a-z]+$"])).toEqual({ type: "none" });
    expect(find(["^[a-z]*$"], ["^[a-z]+$"], 1)).toEqual({ type: "none" });
    expect(find(["^(ab)*$", "^(aba)*$"], ["^(ababab)*$"])).toEqual({ type: "none" });
  });

  it("reads each pattern in its own way: one character may be two units", () => {
    expect(find(["^.{3}$"], [], 0, 2)).toEqual({ type: "none" });
    // "x😀" is three units and two characters.
    expect(find([`${BY_UNITS}^.{3}$`], [], 0, 2)).toEqual({ type: "unsure" });
    expect(find([`${BY_UNITS}^[a-z]{3}$`], [], 0, 2)).toEqual({ type: "none" });
    expect(find([`${BY_UNITS}^..$`], ["^..$"])).toEqual({ type: "unsure" });
    expect(find(["^..$"], [`${BY_UNITS}^..$`])).toEqual({ type: "unsure" });
    expect(find(["^.$"], [`${BY_UNITS}^.{1,2}$`])).toEqual({ type: "none" });
    expect(find([], ["^[^]{0,3}$"], 0, 3)).toEqual({ type: "none" });
  });

  it("an expression is marked as read by units only if that makes a difference", () => {
    for (const alike of ["^[a-z]{3}$", "^.*$", "^[^@]+@[^@]+$", "a.*b", ".", "^(?!.*\\.\\.)[a-z]+$"])
      expect(unitsPattern(alike)).toBe(alike);
    for (const differing of [
      "^.$",
      "^.{1,80}$",
      "^[^b]{2}$",
      "^[\\s\\S]{2,2}$",
      "^(?=..)a",
      "^(..)*$",
      "[😀]",
    ])
      expect(unitsPattern(differing)).toBe(`${BY_UNITS}${differing}`);
  });

  it("an expression without the u flag and the pattern made of it take the same texts", () => {
    fc.assert(
      fc.property(anchored, fc.array(text, { minLength: 5, maxLength: 20 }), (source, texts) => {
        const made = patternOf(unitsPattern(source));
        for (const t of texts) expect([t, made?.test(t)]).toEqual([t, new RegExp(source).test(t)]);
      }),
      { numRuns: 500 },
    );
  }, 60_000);

  it("says so when a pattern is beyond it", () => {
    for (const beyond of ["(?=a)b", "(a)\\1", "\\bx", "\\p{L}", "^😀$", "a{100}{100}", "(a{1000}){1000}"]) {
      expect(Automaton.of(beyond)).toBeUndefined();
      expect(find(["^a$"], [beyond])).toEqual({ type: "unsure" });
    }
    expect(find(["(?!x)y"], ["(?!x)y"])).toEqual({ type: "none" });
  });
});
