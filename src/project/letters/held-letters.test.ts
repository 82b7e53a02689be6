/** In which order the letters of a held key come back, and when nothing more is to come. */
import { describe, expect, it } from "vitest";
import { type Chain, endOf, type HeldLetter, turnsOf } from "./held-letters.js";

type Status = HeldLetter["status"];

/** Letters of the events 1, 2, 3 … */
function chain(...statuses: readonly Status[]): Chain {
  const letters = statuses.map((status, i): HeldLetter => {
    const root = i + 1;
    return { id: `letter ${root}`, root, status, waiting: i > 0, partition: 0, seq: root };
  });
  return { group: "g", key: "k", letters };
}

describe("letters of a held key", () => {
  it("P4: come back each behind the last one that is not discarded, and stand for those that are behind them", () => {
    const turns = (...statuses: readonly Status[]) =>
      turnsOf(chain(...statuses)).map(({ turn: { root, after, through, skip } }) => [
        root,
        after,
        through,
        skip,
      ]);
    expect(turns("open", "open")).toEqual([
      [1, 0, 1, false],
      [2, 1, 2, false],
    ]);
    expect(turns("redriven", "discarded", "open", "discarded", "discarded")).toEqual([[3, 1, 5, false]]);
    expect(turns("open", "discarded", "open")).toEqual([
      [1, 0, 1, false],
      [3, 1, 3, false],
    ]);
    expect(turns("redriven", "discarded")).toEqual([]);
  });

  it("P4: once none is open, the group is told that nothing more comes, unless the last one came back", () => {
    expect(endOf(chain("redriven", "open", "discarded"))).toBeNull();
    expect(endOf(chain("discarded", "redriven"))).toBeNull();
    expect(endOf(chain())).toBeNull();
    const end = { group: "g", root: 3, through: 3, skip: true };
    expect(endOf(chain("redriven", "discarded", "discarded"))).toEqual({ ...end, after: 1 });
    expect(endOf(chain("discarded", "discarded", "discarded"))).toEqual({ ...end, after: 0 });
  });
});
