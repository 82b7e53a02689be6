import { describe, expect, it } from "vitest";
import { collectGarbage } from "../../test/support/collect-garbage.js";
import { nextTurn } from "../model/next-turn.js";
import { CursorTurns } from "./cursor-turns.js";

describe("turns of a cursor", () => {
  it.each([
    ["at once", true],
    ["in turn", false],
  ])("P13: keep nothing of what is over, however many follow each other %s", async (_, early) => {
    const turns = new CursorTurns(0);
    const outcomes: WeakRef<object>[] = [];
    const transact = async (): Promise<object> => {
      const outcome = {};
      outcomes.push(new WeakRef(outcome));
      return outcome;
    };
    for (let n = 0; n < 100; n++) await turns.transact(transact, { early });
    // What a reference was made to stays for as long as the present turn takes.
    await nextTurn();
    collectGarbage();
    expect(outcomes.filter((outcome) => outcome.deref() !== undefined)).toEqual([]);
    expect(turns.expectedFloor).toBe(0);
  });
});
