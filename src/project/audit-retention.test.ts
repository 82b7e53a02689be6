/** How long the audit is kept. */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Bus } from "../bus/bus.js";
import { createBus } from "../bus/create-bus.js";
import { ManualClock } from "../model/manual-clock.js";
import { memoryStore } from "../stores/memory/index.js";
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
