/** Processes whose clocks are hours apart, on one MongoDB store. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import { type Clock, systemClock } from "../../../src/model/clock.js";
import { BusError } from "../../../src/model/errors.js";
import type { OutboxStore } from "../../../src/ports/outbox.js";
import { runOutboxDrainer } from "../../../src/project/outbox-drainer.js";
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
    await eventually(() => handled.length === 2, "both were handled");
    expect(handled).toEqual([
      [1, failed.length + 1],
      [2, 1],
    ]);
  });
});

describe("an outbox that is drained by processes whose clocks differ", () => {
  const patient = { baseMs: 1, maxMs: 1, factor: 1, jitter: 0 };

  function outboxOf(bus: Bus): OutboxStore {
    return bus.store.outbox;
  }

  /** Refuses everything; tells how often it was asked. */
  function refusing(bus: Bus): { bus: Bus; tries: () => number } {
    let tries = 0;
    const refuses = bus.with({
      publish: () => {
        tries++;
        throw new BusError("STORE_UNAVAILABLE", "not from here");
      },
    });
    return { bus: refuses, tries: () => tries };
  }

  it("P10, P15: what failed under a clock an hour ahead is sent by the next drainer, not an hour later", async () => {
    const [wrong, right] = [await busOff(HOUR_MS), await busOff(0)];
    await outboxOf(wrong).add({ id: "a", topic: "orders", payload: 1, key: "k" });
    const { bus, tries } = refusing(wrong);
    const drainer = runOutboxDrainer(outboxOf(wrong), bus, { retry: patient, everyMs: 5 });
    await eventually(() => tries() > 0, "the first try");
    await drainer.stop();
    const next = runOutboxDrainer(outboxOf(right), right, { everyMs: 5 });
    await eventually(() => next.stats().sent === 1, "it was sent");
    await next.stop();
  });

  it("P10: a wait is as long under a clock an hour behind", async () => {
    const [wrong, right] = [await busOff(-HOUR_MS), await busOff(0)];
    await outboxOf(wrong).add({ id: "a", topic: "orders", payload: 1, key: "k" });
    const { bus, tries } = refusing(wrong);
    const retry = { baseMs: 600_000, maxMs: 600_000, factor: 1, jitter: 0 };
    const drainer = runOutboxDrainer(outboxOf(wrong), bus, { retry, everyMs: 5 });
    await eventually(() => tries() > 0, "the first try");
    await drainer.stop();
    expect(await outboxOf(right).claimBatch(1)).toEqual([]);
  });

  it.each([
    ["claimed under a clock an hour behind", -HOUR_MS, 0],
    ["looked at under a clock an hour ahead", 0, HOUR_MS],
  ])("P10: what is held is taken from nobody, though it is %s", async (_, holderMs, otherMs) => {
    const [holder, other] = [await busOff(holderMs), await busOff(otherMs)];
    await outboxOf(holder).add({ id: "a", topic: "orders", payload: 1, key: "k" });
    const nowMs = holder.clock.now();
    const [held] = await outboxOf(holder).claimBatch(1, { owner: "holder", leaseMs: 60_000, nowMs });
    expect(await outboxOf(other).requeueExpired(other.clock.now())).toBe(0);
    expect(await outboxOf(holder).markSent("a", held?.token as string, { nowMs })).toBe(true);
  });

  it("P10, P15: what a process with a clock an hour ahead held when it ended is free when its time is over", async () => {
    const [wrong, right] = [await busOff(HOUR_MS), await busOff(0)];
    await outboxOf(wrong).add({ id: "a", topic: "orders", payload: 1, key: "k" });
    const nowMs = wrong.clock.now();
    expect(await outboxOf(wrong).claimBatch(1, { owner: "gone", leaseMs: 1, nowMs })).toHaveLength(1);
    const drainer = runOutboxDrainer(outboxOf(right), right, { everyMs: 5 });
    await eventually(() => drainer.stats().sent === 1, "it was sent");
    await drainer.stop();
  });

  async function send(bus: Bus): Promise<void> {
    await outboxOf(bus).add({ id: "a", topic: "orders", payload: 1, key: "k" });
    const drainer = runOutboxDrainer(outboxOf(bus), bus, { everyMs: 5 });
    await eventually(() => drainer.stats().sent === 1, "it was sent");
    await drainer.stop();
  }

  function purge({ clock, store }: Bus, keepMs: number): Promise<number> {
    const nowMs = clock.now();
    return store.outbox.purge(nowMs - keepMs, { nowMs });
  }

  it.each([
    ["one whose clock is an hour ahead removes what is old", 0, HOUR_MS],
    ["it was sent by one whose clock is an hour behind", -HOUR_MS, 0],
  ])("P10: what was sent stays as long as it is to, also if %s", async (_, senderMs, otherMs) => {
    const [sender, other] = [await busOff(senderMs), await busOff(otherMs)];
    await send(sender);
    expect(await purge(other, HOUR_MS / 2)).toBe(0);
  });

  it("P10: what was sent under a clock an hour ahead goes in time", async () => {
    const [sender, other] = [await busOff(HOUR_MS), await busOff(0)];
    await send(sender);
    // Other tests let time pass for the server that they share: what was added under it waits for up to a minute more.
    await eventually(async () => (await purge(other, 1)) === 1, "it goes", 75_000);
  });
});
