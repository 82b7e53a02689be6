import { describe, expect, it } from "vitest";
import { gate } from "../../../../test/support/eventually.js";
import { nextTurn } from "../../../model/next-turn.js";
import { AskedTogether } from "./asked-together.js";

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe("questions that are asked together", () => {
  it("of one turn go as one, and each gets its own answer", async () => {
    const sent: number[][] = [];
    const squares = new AskedTogether(async (numbers: readonly number[]) => {
      sent.push([...numbers]);
      return numbers.map((n) => n * n);
    });
    expect(await Promise.all([3, 1, 2].map((n) => squares.ask(n)))).toEqual([9, 1, 4]);
    expect(await squares.ask(5)).toBe(25);
    expect(sent).toEqual([[3, 1, 2], [5]]);
  });

  it("that come while two are under way wait, go as one, and are not answered by what was asked before", async () => {
    const sent: number[][] = [];
    const answered = range(3).map(() => gate());
    const echoes = new AskedTogether(async (numbers: readonly number[]) => {
      sent.push([...numbers]);
      await answered[sent.length - 1]?.passed;
      return numbers;
    });
    const asked: Promise<number>[] = [];
    for (const n of range(4)) {
      asked.push(echoes.ask(n));
      await nextTurn();
    }
    expect(sent).toEqual([[0], [1]]);
    answered[1]?.open();
    expect(await asked[1]).toBe(1);
    await nextTurn();
    expect(sent).toEqual([[0], [1], [2, 3]]);
    for (const { open } of answered) open();
    expect(await Promise.all(asked)).toEqual(range(4));
  });

  it("that are too many go in several, and a failure is told to those who were in it", async () => {
    const odd = new AskedTogether(async (numbers: readonly number[]) => {
      if (numbers.includes(130)) throw new Error("no");
      return numbers;
    });
    const outcomes = await Promise.allSettled(range(200).map((n) => odd.ask(n)));
    expect(outcomes.map(({ status }) => status === "fulfilled")).toEqual(range(200).map((n) => n < 128));
    expect(await odd.ask(7)).toBe(7);
  });
});
