/** The room that the topics of a subscriber share: nobody is told in vain, nobody is forgotten. */
import { describe, expect, it } from "vitest";
import { Allowance } from "./allowance.js";

/** Those who were told, in order, of an allowance that is used up. */
function usedUp(max: number, names: readonly string[]): { allowance: Allowance; told: string[] } {
  const allowance = new Allowance(max);
  const told: string[] = [];
  allowance.take(max);
  for (const name of names) allowance.wait(() => told.push(name));
  return { allowance, told };
}

describe("the room that topics share", () => {
  it("one that waits is told for each place that becomes free, in turn", () => {
    const { allowance, told } = usedUp(2, ["a", "b", "c"]);
    expect(told).toEqual([]);
    allowance.giveBack();
    expect(told).toEqual(["a"]);
    allowance.giveBack();
    expect(told).toEqual(["a", "b"]);
  });

  it("whoever needs no more passes on what is left, and nothing is passed on when there is none", () => {
    const { allowance, told } = usedUp(2, ["a", "b", "c"]);
    allowance.giveBack();
    allowance.passOn();
    expect(told).toEqual(["a", "b"]);
    allowance.take(1);
    allowance.passOn();
    expect(told).toEqual(["a", "b"]);
  });

  it("there is no room while it is paused; then the next is told", () => {
    const { allowance, told } = usedUp(1, ["a"]);
    allowance.setPaused(true);
    allowance.giveBack();
    expect(told).toEqual([]);
    allowance.setPaused(false);
    expect(told).toEqual(["a"]);
  });

  it("one that leaves is not told any more, and the next is told in its place", () => {
    const { allowance, told } = usedUp(1, []);
    const leaver = (): void => void told.push("leaver");
    allowance.wait(leaver);
    allowance.wait(() => told.push("b"));
    allowance.giveBack();
    expect(told).toEqual(["leaver"]);
    allowance.leave(leaver);
    expect(told).toEqual(["leaver", "b"]);
  });
});
