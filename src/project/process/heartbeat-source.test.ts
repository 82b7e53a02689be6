import { spawn } from "node:child_process";
import { once } from "node:events";
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

  it("says once of a process that has ended that it uses nothing any more", async () => {
    bus = await createBus({ store: memoryStore() });
    const source = startHeartbeatSource(bus, { everyMs: 5, limit: 1_000 });
    const child = spawn(process.execPath, ["-e", "for (;;);"]);
    // It may have had another name for a moment, until the program that it runs was loaded.
    const figures = async (): Promise<number[][]> => {
      const events = (await published()).filter(({ payload }) => payload.pid === child.pid);
      const keys = [...new Set(events.map(({ key }) => key))];
      return keys.map((key) => events.filter((one) => one.key === key).map(({ payload }) => payload.mem_mb));
    };
    try {
      await expect.poll(async () => (await figures()).length).toBeGreaterThan(0);
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await expect.poll(async () => (await figures()).every((told) => told.at(-1) === 0)).toBe(true);
    const { rounds } = source.stats();
    await expect.poll(() => source.stats().rounds).toBeGreaterThan(Number(rounds) + 2);
    await source.stop();
    for (const told of await figures()) expect(told.indexOf(0)).toBe(told.length - 1);
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
