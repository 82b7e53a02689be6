import { describe, expect, it } from "vitest";
import { draft } from "../../../test/support/stored-events.js";
import type { PartitionHead } from "../../ports/log.js";
import { memoryStore } from "../../stores/memory/index.js";
import { interceptStore } from "../../testing/store-calls.js";
import { AgeCuts } from "./age-cut.js";

const HOUR_MS = 3_600_000;
const NOW_MS = 10_000 * HOUR_MS;
/** So many hours ahead, clocks are not believed. */
const AHEAD = -1_000;

interface Place {
  append(...ages: readonly number[]): Promise<unknown>;
  /** The cut of what is older than so many hours, and how many events were read for it. */
  cut(keptHours: number, nowMs?: number): Promise<[cut: number, read: number]>;
}

/** A partition with events of these ages, in hours. */
async function aged(...ages: readonly number[]): Promise<Place> {
  const store = memoryStore();
  await store.open();
  await store.registry.defineTopic({ name: "t", partitions: 1 });
  let events = 0;
  const append: Place["append"] = (...more) =>
    store.log.append(
      "t",
      0,
      more.map((age) => draft(`event ${++events}`, age, { ts: NOW_MS - age * HOUR_MS })),
    );
  await append(...ages);
  let read = 0;
  const counting = interceptStore(store, {
    around: async (call, proceed) => {
      const answer = await proceed();
      if (call.name === "log.read") read += (answer as { events: readonly unknown[] }).events.length;
      return answer;
    },
  });
  const cuts = new AgeCuts(counting.log);
  const cut: Place["cut"] = async (keptHours, nowMs = NOW_MS) => {
    read = 0;
    const [head] = (await store.log.heads("t")) as [PartitionHead];
    return [await cuts.of("t", head, { beforeMs: nowMs - keptHours * HOUR_MS, nowMs }), read];
  };
  return { append, cut };
}

async function cutOf(keptHours: number, ...ages: readonly number[]): Promise<number> {
  return (await (await aged(...ages)).cut(keptHours))[0];
}

describe("a cut by age", () => {
  it("is behind the last event that is too old, before the first that is not", async () => {
    expect(await cutOf(10, 30, 11, 10, 11)).toBe(2);
    expect(await cutOf(10, 30, 11, 10.001)).toBe(3);
    expect([await cutOf(10, 9), await cutOf(10)]).toEqual([0, 0]);
  });

  it("goes past times that are too far ahead to be true, if something too old stands behind them", async () => {
    expect(await cutOf(10, 30, AHEAD, 20, AHEAD, 5, 40)).toBe(3);
    expect(await cutOf(10, 30, AHEAD, AHEAD)).toBe(1);
    expect(await cutOf(10, AHEAD, 30)).toBe(2);
    expect(await cutOf(10, 30, -23, 30)).toBe(1);
  });

  it("looks through what is not believed once, and again when it could be true", async () => {
    const ahead = Array.from({ length: 500 }, () => AHEAD);
    const { append, cut } = await aged(30, ...ahead);
    expect(await cut(10)).toEqual([1, 500]);
    expect(await cut(10)).toEqual([1, 0]);
    await append(12, AHEAD);
    expect(await cut(10)).toEqual([502, 2]);
    expect(await cut(10)).toEqual([502, 0]);
    // By a clock that was set back, what was too old is not.
    expect(await cut(10, NOW_MS - 3 * HOUR_MS)).toEqual([1, 502]);
    const later = NOW_MS + 980 * HOUR_MS;
    expect((await cut(10, later))[0]).toBe(1);
    expect((await cut(10, NOW_MS + 1_011 * HOUR_MS))[0]).toBe(503);
  });
});
