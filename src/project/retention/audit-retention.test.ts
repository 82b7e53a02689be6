/** How long the audit is kept. */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import { ManualClock } from "../../model/manual-clock.js";
import { memoryStore } from "../../stores/memory/index.js";
import { interceptStore } from "../../testing/store-calls.js";
import { retainNow, startRetention } from "./retention.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let clock: ManualClock;
let bus: Bus;

beforeEach(async () => {
  clock = new ManualClock();
  bus = await createBus({ store: memoryStore(), clock });
  await bus.defineTopic({ name: "orders", retentionMs: DAY_MS });
  for (const days of [366, 364, 60, 1]) await record(days);
});
afterEach(() => bus.close());

async function record(days: number): Promise<void> {
  const atMs = clock.now() - days * DAY_MS;
  await bus.store.registry.audit({ atMs, actor: "eve", action: "x", target: String(days) });
}

const kept = async (): Promise<number[]> =>
  (await bus.store.registry.audits({ limit: 10 })).map(({ target }) => Number(target)).reverse();

it("P13: a year, if nothing else is said", async () => {
  await retainNow(bus);
  expect(await kept()).toEqual([364, 60, 1]);
});

it("as long as wished", async () => {
  await retainNow(bus, { auditMs: 30 * DAY_MS });
  expect(await kept()).toEqual([1]);
  await expect(retainNow(bus, { auditMs: -1 })).rejects.toMatchObject({ code: "INVALID_OPTION" });
});

it("is not the business of those who look after one topic, unless they say so", async () => {
  await retainNow(bus, { topic: "orders" });
  expect(await kept()).toEqual([366, 364, 60, 1]);
  await retainNow(bus, { topic: "orders", auditMs: 100 * DAY_MS });
  expect(await kept()).toEqual([60, 1]);
});

it("P13: is looked through again every hour while retention runs", async () => {
  const retention = startRetention(bus, { everyMs: 10 * 60_000 });
  await clock.advance(1_000);
  expect(await kept()).toEqual([364, 60, 1]);
  for (const days of [400, 2]) await record(days);
  await clock.advance(HOUR_MS / 2);
  expect(await kept()).toEqual([364, 60, 1, 400, 2]);
  await clock.advance(HOUR_MS);
  expect(await kept()).toEqual([364, 60, 1, 2]);
  await retention.stop();
});

it("is looked through more often if it is kept for less than an hour", async () => {
  const retention = startRetention(bus, { everyMs: 60_000, auditMs: HOUR_MS / 4 });
  await clock.advance(1_000);
  await record(0);
  await clock.advance(HOUR_MS / 4);
  await record(0);
  await clock.advance(HOUR_MS / 4);
  expect(await kept()).toEqual([0]);
  await retention.stop();
});

it("one topic that fails keeps neither the others nor the audit from their turn", async () => {
  const broken = interceptStore(memoryStore(), {
    around: (call, proceed) => {
      if (call.name === "log.trim" && call.args[0] === "a-bad") throw new Error("damaged");
      return proceed();
    },
  });
  const other = await createBus({ store: broken, clock });
  for (const name of ["a-bad", "b-good"]) {
    await other.defineTopic({ name, partitions: 1, retentionMs: DAY_MS });
    await other.publish(name, 1, { ts: clock.now() - 2 * DAY_MS });
  }
  await other.store.registry.audit({ atMs: 0, actor: "eve", action: "x", target: "0" });
  await other.store.registry.audit({ atMs: clock.now(), actor: "eve", action: "x", target: "1" });
  await expect(retainNow(other)).rejects.toThrow("damaged");
  expect((await other.store.log.heads("b-good"))[0]?.events).toBe(0);
  expect(await other.store.registry.audits({ limit: 10 })).toHaveLength(1);
  await other.close();
});
