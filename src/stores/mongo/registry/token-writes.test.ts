import { expect, it } from "vitest";
import { outcomesOf, type TokenOutcome, type TokenWrite, withCount } from "./token-writes.js";

const write = (name: string): TokenWrite => ({ name, value: "1", expected: 4, mark: `mark of ${name}` });
const WRITES = ["mine", "taken", "moved on", "removed"].map(write);
const FOUND = [
  { _id: "mine", revision: 5, mark: "mark of mine" },
  { _id: "taken", revision: 5, mark: "another's" },
  { _id: "moved on", revision: 6, mark: "another's" },
];
const verdicts = (outcomes: readonly TokenOutcome[]): unknown[] => outcomes.map(({ isWritten }) => isWritten);

it("P7: a write is there if its mark is, and lost if another has its revision; of what came after both nobody can tell", () => {
  expect(verdicts(outcomesOf(WRITES, FOUND))).toEqual([true, false, undefined, undefined]);
});

it("P7: a revision that never left the expected one was not written", () => {
  expect(verdicts(outcomesOf([write("still")], [{ _id: "still", revision: 4 }]))).toEqual([false]);
});

it("P7: the count decides where all or none of the unclear ones were written, and nothing in between", () => {
  const outcomes = outcomesOf(WRITES, FOUND);
  expect(verdicts(withCount(outcomes, 1))).toEqual([true, false, false, false]);
  expect(verdicts(withCount(outcomes, 3))).toEqual([true, false, true, true]);
  expect(verdicts(withCount(outcomes, 2))).toEqual([true, false, undefined, undefined]);
});
