import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draft } from "../../../test/support/stored-events.js";
import { START_CURSOR } from "../../ports/groups.js";
import { memoryStore } from "../../stores/memory/index.js";
import { cutsByBytes, unsettled } from "./retention-cut.js";

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

describe("cuts by size", () => {
  it("take the oldest events of all partitions, up to the bytes that are to go, and at least one", async () => {
    const store = memoryStore();
    await store.open();
    const { log, registry } = store;
    await registry.defineTopic({ name: "t", partitions: 2 });
    for (let ts = 0; ts < 6; ts++)
      await log.append("t", ts % 3 === 0 ? 1 : 0, [draft(`${ts}`, "xxxxxxxx", { ts })]);
    const heads = await log.heads("t");
    const [first] = (await log.read("t", 0, { after: 0, limit: 1 })).events;
    const size = first?.size ?? 0;
    const cuts = (bytes: number) => cutsByBytes(log, "t", heads, bytes);
    // Of partitions 0 and 1.
    expect(await cuts(0)).toEqual([0, 1]);
    expect(await cuts(3 * size)).toEqual([2, 1]);
    expect(await cuts(4 * size - 1)).toEqual([2, 1]);
    expect(await cuts(4 * size)).toEqual([2, 2]);
    expect(await cuts(100 * size)).toEqual([4, 2]);
  });
});
