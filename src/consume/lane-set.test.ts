/** Lanes are found by name, and quickly by those who take in an event after somebody else. */
import { describe, expect, it } from "vitest";
import { storedEvent } from "../../test/support/stored-events.js";
import { LaneSet } from "./lane-set.js";

const keyed = (seq: number, key: string) => storedEvent(seq, { key });

describe("the lane of a key", () => {
  it("P4: is the same for all events of the key, whoever has looked at them before", () => {
    const [one, other, third] = [new LaneSet(), new LaneSet(), new LaneSet()];
    const event = keyed(1, "k");
    const lanes = [one, other, third].map((set) => set.ofKey("k", event));
    expect(new Set(lanes).size).toBe(3);
    // Each in another order: what the lanes point at is only a guess.
    for (const [seq, order] of [
      [2, [0, 1, 2]],
      [3, [2, 1, 0]],
      [4, [1, 0, 2]],
      [5, [0, 0, 1]],
    ] as const) {
      const next = keyed(seq, "k");
      for (const i of order) expect([one, other, third][i]?.ofKey("k", next)).toBe(lanes[i]);
    }
  });

  it("P4: is another one for another key, also for groups that look one after the other", () => {
    const [one, other] = [new LaneSet(), new LaneSet()];
    for (const [seq, key] of ["a", "b", "a", "b"].entries()) {
      const event = keyed(seq, key);
      expect(one.ofKey(key, event)).toBe(one.get(key));
      expect(other.ofKey(key, event)).toBe(other.get(key));
    }
    expect(other.get("a")).not.toBe(other.get("b"));
  });

  it("P4: is never one that was let go of", () => {
    for (const letGo of [(set: LaneSet) => set.delete(set.named("k")), (set: LaneSet) => set.clear()]) {
      const [one, other] = [new LaneSet(), new LaneSet()];
      const before = keyed(1, "k");
      one.ofKey("k", before);
      const gone = other.ofKey("k", before);
      letGo(other);
      const after = keyed(2, "k");
      one.ofKey("k", after);
      const found = other.ofKey("k", after);
      expect(found).not.toBe(gone);
      expect(found).toBe(other.get("k"));
      expect(other.size).toBe(1);
    }
  });

  it("P4: is not confused with the one lane of a whole partition", () => {
    const [whole, byKey] = [new LaneSet(), new LaneSet()];
    for (const [seq, key] of ["a", "", "a"].entries()) {
      const event = keyed(seq, key);
      expect(whole.named("")).toBe(whole.get(""));
      expect(byKey.ofKey(key, event)).toBe(byKey.get(key));
    }
    expect(byKey.get("a")).not.toBe(byKey.get(""));
  });
});
