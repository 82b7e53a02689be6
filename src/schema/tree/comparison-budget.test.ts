import { describe, expect, it } from "vitest";
import { isBudgetUsedUp, newBudget, takeSteps, withBudget } from "./comparison-budget.js";

describe("the budget of a comparison", () => {
  it("P15: ends after the same number of steps every time, and begins anew", () => {
    const stepsOf = (): number =>
      withBudget(() => {
        let steps = 0;
        while (takeSteps()) steps++;
        expect(isBudgetUsedUp()).toBe(true);
        return steps;
      });
    const steps = stepsOf();
    expect(steps).toBeLessThanOrEqual(2_000_000);
    expect(stepsOf()).toBe(steps);
  });

  it("may be had in several goes", () => {
    const budget = newBudget();
    withBudget(() => takeSteps(budget.left - 1), budget);
    expect(withBudget(() => [takeSteps(), takeSteps()], budget)).toEqual([true, false]);
  });

  it("is one for all parts of it, and over with it, however it ends", () => {
    expect(() =>
      withBudget(() => {
        withBudget(() => takeSteps(Number.MAX_SAFE_INTEGER));
        expect(takeSteps()).toBe(false);
        throw new Error("something else");
      }),
    ).toThrow("something else");
    expect([takeSteps(Number.MAX_SAFE_INTEGER), takeSteps(), isBudgetUsedUp()]).toEqual([true, true, false]);
  });
});
