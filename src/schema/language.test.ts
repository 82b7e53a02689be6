import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Automaton } from "./automaton.js";
import { findText, type TextAnswer } from "./language.js";

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
        anchored,
        anchored,
        fc.nat(3),
        fc.nat(3),
        fc.array(text, { maxLength: 20 }),
        (a, b, min, more, texts) => {
          const max = more === 3 ? Infinity : min + more;
          const fits = (t: string, flags: string): boolean =>
            new RegExp(a, flags).test(t) &&
            !new RegExp(b, flags).test(t) &&
            [...t].length >= min &&
            [...t].length <= max;
          const answer = find([a], [b], min, max);
          if (answer.type === "found") expect(fits(answer.text, "u") && fits(answer.text, "")).toBe(true);
          if (answer.type === "none") expect(texts.filter((t) => fits(t, "u") || fits(t, ""))).toEqual([]);
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

  it("trusts no proof that surrogates would break", () => {
    // Three symbols by units may be two characters, "x😀", so ^.{3}$ does not prove a length of three.
    expect(find(["^.{3}$"], [], 0, 2)).toEqual({ type: "unsure" });
    expect(find(["^[a-z]{3}$"], [], 0, 2)).toEqual({ type: "none" });
    expect(find([], ["^[^]{0,3}$"], 0, 3).type).toBe("unsure");
  });

  it("says so when a pattern is beyond it", () => {
    for (const beyond of ["(?=a)b", "(a)\\1", "\\bx", "\\p{L}", "^😀$", "a{100}{100}", "(a{1000}){1000}"]) {
      expect(Automaton.of(beyond)).toBeUndefined();
      expect(find(["^a$"], [beyond])).toEqual({ type: "unsure" });
    }
    expect(find(["(?!x)y"], ["(?!x)y"])).toEqual({ type: "none" });
  });
});
