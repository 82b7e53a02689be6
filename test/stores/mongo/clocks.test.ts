/** Processes whose clocks are hours apart, on one MongoDB store. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import { type Clock, systemClock } from "../../../src/model/clock.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { eventually } from "../../support/eventually.js";
import { TestDatabase } from "../../support/mongo/database.js";

const HOUR_MS = 3_600_000;

let database: TestDatabase;
const buses: Bus[] = [];

beforeEach(async () => {
  database = await TestDatabase.create();
});
afterEach(async () => {
  await Promise.all(buses.splice(0).map((bus) => bus.close()));
  await database.dispose();
});

/** The clock of a machine that is off by so much, on which the process was started. */
function clockOff(ms: number): Clock {
  return {
    now: () => systemClock.now() + ms,
    steady: () => systemClock.steady() + ms,
    setTimer: systemClock.setTimer,
    random: systemClock.random,
    newId: systemClock.newId,
  };
}

async function busOff(ms: number): Promise<Bus> {
  const bus = await createBus({
    store: mongoStore({ url: database.url, db: database.name }),
    clock: clockOff(ms),
    topics: [{ name: "orders", partitions: 1 }],
    onTrouble: () => undefined,
  });
  buses.push(bus);
  return bus;
}

describe("an event that failed in a process whose clock is wrong", () => {
  it.each([
    ["ahead", HOUR_MS],
    ["behind", -HOUR_MS],
  ])("P15: by an hour %s is tried again by whoever takes over, not an hour later", async (_, offMs) => {
    const [wrong, right] = [await busOff(offMs), await busOff(0)];
    const failed: number[] = [];
    const stop = await wrong.subscribe(
      "orders",
      "g",
      (_event, ctx) => {
        failed.push(ctx.attempt);
        throw new Error("not here");
      },
      { from: "earliest", maxAttempts: 100, retry: { baseMs: 500, maxMs: 500, factor: 1, jitter: 0 } },
    );
    await wrong.publishMany("orders", [
      { payload: 1, key: "a" },
      { payload: 2, key: "a" },
    ]);
    await eventually(() => failed.length > 0, "the first try");
    await stop();
    const handled: [unknown, number][] = [];
    await right.subscribe("orders", "g", (event, ctx) => {
      handled.push([event.payload, ctx.attempt]);
    });
    await eventually(() => handled.length === 2, "both were handled", 15_000);
    expect(handled).toEqual([
      [1, failed.length + 1],
      [2, 1],
    ]);
  });
});
