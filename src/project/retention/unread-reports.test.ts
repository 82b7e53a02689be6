/** Retention beside a group that nobody runs any more. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import { ManualClock } from "../../model/manual-clock.js";
import { memoryStore } from "../../stores/memory/index.js";
import { startRetention } from "./retention.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let clock: ManualClock;
let bus: Bus;

beforeEach(async () => {
  clock = new ManualClock();
  bus = await createBus({ store: memoryStore(), clock });
  await bus.defineTopic({ name: "orders", retentionMs: HOUR_MS });
  await bus.store.groups.start({ topic: "orders", group: "gone" }, [0]);
});
afterEach(() => bus.close());

/** An event every minute. */
async function live(minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    const published = bus.publish("orders", minute);
    await clock.advance(MINUTE_MS);
    await published;
  }
}

async function written(): Promise<number[]> {
  const audits = await bus.store.registry.audits({ limit: 1_000 });
  return audits
    .filter(({ action }) => action === "retention.unread-now")
    .map(({ details }) => (details as { events: number }).events)
    .reverse();
}

describe("P13: events that go unread, minute after minute", () => {
  it("are written down once an hour, all of them, and told of each time", async () => {
    let told = 0;
    const onWouldLose = ({ stage, events }: { stage: string; events: number }): void => {
      if (stage === "now") told += events;
    };
    const retention = startRetention(bus, { onWouldLose, noticeMs: 0 });
    await live(5 * 60);
    const entries = await written();
    expect(entries.length).toBeGreaterThan(1);
    expect(entries.length).toBeLessThan(7);
    expect(retention.stats().lost).toBe(told);
    expect(told).toBeGreaterThan(200);
    // What went since the last entry follows once the group has nothing to lose.
    await bus.setCursor("orders", "gone", "latest");
    await live(2);
    expect((await written()).reduce((sum, events) => sum + events, 0)).toBe(retention.stats().lost);
    await retention.stop();
  });
});
