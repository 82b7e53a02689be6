import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { START_CURSOR } from "../ports/groups.js";
import { unsettled } from "./retention-cut.js";

describe("events that a cut takes from a group", () => {
  it("are those it has not settled, by floor and ranges", () => {
    fc.assert(
      fc.property(
        fc.nat(30),
        fc.uniqueArray(fc.integer({ min: 1, max: 30 })),
        fc.integer({ min: 1, max: 30 }),
        fc.nat(35),
        (floor, above, low, cut) => {
          const settled = [...new Set(above)]
            .filter((seq) => seq > floor + 1)
            .sort((a, b) => a - b)
            .map((seq) => [seq, seq] as const);
          const isSettled = (seq: number): boolean => seq <= floor || settled.some(([s]) => s === seq);
          let expected = 0;
          for (let seq = low; seq <= cut; seq++) if (!isSettled(seq)) expected++;
          expect(unsettled({ ...START_CURSOR, floor, settled }, low, cut)).toBe(expected);
        },
      ),
    );
  });

  it("are all of them if it has no cursor", () => {
    expect(unsettled(undefined, 3, 7)).toBe(5);
  });
});
