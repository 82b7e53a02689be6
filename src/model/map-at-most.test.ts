import { describe, expect, it } from "vitest";
import { gate, settled } from "../../test/support/eventually.js";
import { turnsDuring } from "../../test/support/turns.js";
import { ManualClock } from "./manual-clock.js";
import { mapAtMost } from "./map-at-most.js";
import { allInTurns, mapInTurns } from "./map-in-turns.js";

describe("mapAtMost", () => {
  it("works on all of them, on so many at once and no more", async () => {
    const opened = gate();
    const begun: number[] = [];
    const working = mapAtMost(2, [1, 2, 3, 4, 5], async (item) => {
      begun.push(item);
      await opened.passed;
      return item * 10;
    });
    await settled();
    expect(begun).toEqual([1, 2]);
    opened.open();
    expect(await working).toEqual([10, 20, 30, 40, 50]);
    expect(begun).toEqual([1, 2, 3, 4, 5]);
  });

  it("begins no more once one has failed, and says how it failed", async () => {
    const begun: number[] = [];
    const working = mapAtMost(2, [1, 2, 3, 4, 5], async (item) => {
      begun.push(item);
      if (item === 2) throw new Error("no");
    });
    await expect(working).rejects.toThrow("no");
    await settled();
    expect(begun).toEqual([1, 2, 3]);
  });

  it("has nothing to do with nothing", async () => {
    expect(await mapAtMost(2, [], () => Promise.reject(new Error("asked for")))).toEqual([]);
  });
});

describe("mapInTurns", () => {
  it("lets others have their turn, also if the work waits for nothing", async () => {
    let results: number[] = [];
    const turns = await turnsDuring(async () => {
      results = await mapInTurns(
        Array.from({ length: 320 }, (_, n) => n),
        async (n) => n * 2,
      );
    });
    expect(results).toEqual(Array.from({ length: 320 }, (_, n) => n * 2));
    expect(turns).toBeGreaterThanOrEqual(9);
  });
});

describe("allInTurns", () => {
  const items = Array.from({ length: 640 }, (_, n) => n);

  it("lets others have their turn, also if the work waits for nothing", async () => {
    const done: number[] = [];
    const turns = await turnsDuring(() =>
      allInTurns(new ManualClock(), items, async (n) => void done.push(n)),
    );
    expect(done).toEqual(items);
    expect(turns).toBeGreaterThanOrEqual(4);
  });

  it("begins no more than so many until some have ended, or have taken too long", async () => {
    const clock = new ManualClock();
    const opened = gate();
    const begun: number[] = [];
    const working = allInTurns(clock, items, (n) => {
      begun.push(n);
      return opened.passed;
    });
    await settled();
    expect(begun).toHaveLength(128);
    await clock.advance(100);
    await settled();
    expect(begun).toHaveLength(256);
    opened.open();
    await working;
    expect(begun).toEqual(items);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it("begins the others too when one has failed, waits for them, and says how it failed", async () => {
    const done: number[] = [];
    const working = allInTurns(new ManualClock(), items, async (n) => {
      if (n === 2) throw new Error("no");
      await null;
      done.push(n);
    });
    await expect(working).rejects.toThrow("no");
    expect(done).toHaveLength(639);
  });
});
