import { hostname } from "node:os";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import type { EventRecord } from "../../model/event.js";
import { memoryStore } from "../../stores/memory/index.js";
import { type HeartbeatSourceOptions, startHeartbeatSource } from "./heartbeat-source.js";
import type { Heartbeat } from "./process-topics.js";

let bus: Bus;
afterEach(() => bus.close());

async function published(): Promise<EventRecord<Heartbeat>[]> {
  const events: EventRecord<Heartbeat>[] = [];
  for await (const event of bus.read<Heartbeat>("heartbeat.received")) events.push(event);
  return events;
}

describe("the heartbeat source", () => {
  it("publishes heartbeats of this machine's processes, round after round", async () => {
    bus = await createBus({ store: memoryStore() });
    const source = startHeartbeatSource(bus, { everyMs: 5, limit: 200 });
    await vi.waitFor(() => expect(source.stats().rounds).toBeGreaterThanOrEqual(3), { timeout: 30_000 });
    await source.stop();
    const events = await published();
    expect(events).toHaveLength(source.stats().published as number);
    const mine = events.filter(({ payload }) => payload.pid === process.pid);
    expect(mine.length).toBeGreaterThanOrEqual(3);
    for (const { key, payload } of mine) {
      expect(payload).toMatchObject({ host: hostname(), cpu_pct: expect.any(Number) });
      expect(payload.mem_mb).toBeGreaterThan(1);
      expect(key).toBe(`${hostname()}:${payload.name}:${process.pid}`);
    }
  });

  it("P13: publishes no more than its limit", async () => {
    bus = await createBus({ store: memoryStore() });
    const source = startHeartbeatSource(bus, { everyMs: 60_000, limit: 2 });
    await vi.waitFor(() => expect(source.stats().rounds).toBe(1), { timeout: 30_000 });
    await source.stop();
    expect(await published()).toHaveLength(2);
  });

  it("goes on after a round that failed, and shows the failure", async () => {
    bus = await createBus({ store: memoryStore(), limits: { maxQueuedEvents: 1 } });
    const source = startHeartbeatSource(bus, { everyMs: 5 });
    await vi.waitFor(() => expect(bus.tasks.reports()[0]?.restarts).toBeGreaterThanOrEqual(2), {
      timeout: 30_000,
    });
    expect(bus.tasks.reports()).toMatchObject([
      {
        name: "heartbeat-source",
        state: "retrying",
        lastError: expect.stringContaining("wait to be published"),
      },
    ]);
    expect(source.stats()).toMatchObject({ rounds: 0, published: 0 });
  });

  it("refuses options it does not know", async () => {
    bus = await createBus({ store: memoryStore() });
    expect(() => startHeartbeatSource(bus, { every: 5 } as HeartbeatSourceOptions)).toThrow(
      'no option "every"',
    );
  });
});
