import { afterEach, describe, expect, it } from "vitest";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import type { EventRecord } from "../../model/event.js";
import { ManualClock } from "../../model/manual-clock.js";
import type { Store } from "../../ports/store.js";
import { memoryStore } from "../../stores/memory/index.js";
import { type ProcessProjectorOptions, startProcessProjector } from "./process-projector.js";
import { heartbeatTopic, type ProcessState, processStateTopic } from "./process-topics.js";

const open: Bus[] = [];
afterEach(async () => {
  for (const bus of open.splice(0)) await bus.close();
});

async function machine(partitions = 1) {
  const clock = new ManualClock({ startMs: 1_000_000, seed: 3 });
  const store = memoryStore();
  const join = async (): Promise<Bus> => {
    const bus = await createBus({ store, clock, topics: [{ ...heartbeatTopic, partitions }] });
    open.push(bus);
    return bus;
  };
  return { clock, store, join };
}

const heartbeat = (pid: number, cpu_pct = 10) => ({ pid, name: "stt", host: "h", cpu_pct, mem_mb: 100 });

async function states(store: Store, key?: string): Promise<EventRecord<ProcessState | null>[]> {
  const heads = await store.log.heads(processStateTopic.name);
  const pages = await Promise.all(
    heads.map(({ partition }) =>
      store.log.read(processStateTopic.name, partition, { after: 0, limit: 10_000 }),
    ),
  );
  return pages
    .flatMap((page) => page.events)
    .map((event) => event.record as EventRecord<ProcessState | null>)
    .filter((event) => key === undefined || event.key === key);
}

const statuses = async (store: Store, key?: string) =>
  (await states(store, key)).map(({ payload }) => payload?.status ?? null);

describe("the process projector", () => {
  it("P9: turns heartbeats into states, caused by them and keyed by host, name and pid", async () => {
    const { clock, store, join } = await machine();
    const bus = await join();
    const projector = await startProcessProjector(bus);
    const { id, ts } = await bus.publish("heartbeat.received", { ...heartbeat(7), sid: "s-1" });
    await clock.advance(100);
    expect(await states(store)).toMatchObject([
      {
        key: "h:stt:7",
        caused_by: [id],
        payload: {
          processId: "h:stt:7",
          pid: 7,
          name: "stt",
          host: "h",
          sid: "s-1",
          cpu_pct: 10,
          mem_mb: 100,
          last_seen_ts: ts,
          status: "alive",
        },
      },
    ]);
    expect(projector.name).toBe("process-projector");
    expect(projector.stats()).toEqual({ processes: 1, stale: 0, heartbeats: 1, emitted: 1, quiet: 0 });
  });

  it("takes in heartbeats that came before it", async () => {
    const { clock, store, join } = await machine();
    const bus = await join();
    await bus.publish(heartbeatTopic, heartbeat(7));
    await startProcessProjector(bus);
    await clock.advance(100);
    expect(await statuses(store)).toEqual(["alive"]);
  });

  it("calls a process stale after 15 s without a heartbeat, alive with the next, and in time forgets it", async () => {
    const { clock, store, join } = await machine();
    const bus = await join();
    const projector = await startProcessProjector(bus, { forgetAfterMs: 60_000 });
    await bus.publish(heartbeatTopic, heartbeat(7));
    await clock.advance(14_000);
    expect(await statuses(store)).toEqual(["alive"]);
    await clock.advance(3_000);
    expect(await statuses(store)).toEqual(["alive", "stale"]);
    expect(projector.stats()).toMatchObject({ processes: 1, stale: 1 });
    await bus.publish(heartbeatTopic, heartbeat(7));
    await clock.advance(1_000);
    expect(await statuses(store)).toEqual(["alive", "stale", "alive"]);
    await clock.advance(120_000);
    expect(await statuses(store)).toEqual(["alive", "stale", "alive", "stale", null]);
    expect(projector.stats()).toMatchObject({ processes: 0, emitted: 5 });
  });

  it("says nothing when nothing changes", async () => {
    const { clock, store, join } = await machine();
    const bus = await join();
    const projector = await startProcessProjector(bus);
    for (let i = 0; i < 30; i++) {
      await bus.publish(heartbeatTopic, heartbeat(7));
      await clock.advance(1_000);
    }
    expect(await statuses(store)).toEqual(["alive", "alive", "alive"]);
    expect(projector.stats()).toMatchObject({ heartbeats: 30, emitted: 3, quiet: 27 });
  });

  it("remembers over a restart: says nothing new of those who are well, and stale of those who are gone", async () => {
    const { clock, store, join } = await machine();
    const first = await join();
    const projector = await startProcessProjector(first);
    await first.publishMany(heartbeatTopic, [{ payload: heartbeat(1) }, { payload: heartbeat(2) }]);
    await clock.advance(100);
    await projector.stop();

    const second = await join();
    await startProcessProjector(second, { refreshMs: 600_000 });
    for (let i = 0; i < 10; i++) {
      await second.publish(heartbeatTopic, heartbeat(1));
      await clock.advance(2_000);
    }
    expect(await statuses(store, "h:stt:1")).toEqual(["alive"]);
    expect(await statuses(store, "h:stt:2")).toEqual(["alive", "stale"]);
  });

  it("P9: judges a silence that an earlier owner has judged without saying it again", async () => {
    const { clock, store, join } = await machine();
    const first = await join();
    const projector = await startProcessProjector(first);
    await first.publish(heartbeatTopic, heartbeat(1));
    await clock.advance(20_000);
    await projector.stop();
    const second = await join();
    await startProcessProjector(second);
    await clock.advance(60_000);
    expect(await statuses(store)).toEqual(["alive", "stale"]);
  });

  it("shares the heartbeats with other projectors, each judging only its own", async () => {
    const { clock, store, join } = await machine(8);
    const [a, b] = [await join(), await join()];
    const options: ProcessProjectorOptions = { refreshMs: 600_000 };
    const projectors = [await startProcessProjector(a, options), await startProcessProjector(b, options)];
    await clock.advance(5_000);
    const pids = Array.from({ length: 20 }, (_, i) => i);
    for (let i = 0; i < 20; i++) {
      await a.publishMany(
        heartbeatTopic,
        pids.map((pid) => ({ payload: heartbeat(pid) })),
      );
      await clock.advance(2_000);
    }
    expect(await statuses(store)).toEqual(pids.map(() => "alive"));
    const shares = projectors.map((projector) => projector.stats().processes ?? 0);
    expect(shares[0]).toBeGreaterThan(0);
    expect(shares[1]).toBeGreaterThan(0);
    expect((shares[0] ?? 0) + (shares[1] ?? 0)).toBe(20);

    await projectors[0]?.stop();
    await clock.advance(40_000);
    expect((await statuses(store)).sort()).toEqual([...pids.map(() => "alive"), ...pids.map(() => "stale")]);
  });

  it("P8: puts what is no heartbeat aside and goes on", async () => {
    const { clock, store, join } = await machine();
    const bus = await join();
    await startProcessProjector(bus);
    await expect(bus.publish("heartbeat.received", { pid: "seven" })).rejects.toMatchObject({
      code: "SCHEMA_VIOLATION",
    });
    // A publisher that does not have the definition is not held to it.
    const stranger = await createBus({ store, clock });
    await stranger.publish("heartbeat.received", { pid: "seven" });
    await bus.publish(heartbeatTopic, heartbeat(7));
    await clock.advance(100);
    expect(await statuses(store)).toEqual(["alive"]);
    await stranger.close();
    const dead = await store.log.read("dlq.heartbeat.received", 0, { after: 0, limit: 10 });
    expect(dead.events).toHaveLength(1);
    expect(JSON.stringify(dead.events[0]?.record)).toContain("this is no heartbeat: pid:");
  });

  it("stops when told to, and with the bus", async () => {
    const { clock, store, join } = await machine();
    const bus = await join();
    const projector = await startProcessProjector(bus);
    expect(bus.tasks.reports()).toMatchObject([{ name: "process-projector", state: "running" }]);
    await bus.publish(heartbeatTopic, heartbeat(7));
    await clock.advance(100);
    await projector.stop();
    await projector.stop();
    expect(bus.tasks.reports()).toEqual([]);
    expect(await statuses(store)).toEqual(["alive"]);
    await clock.advance(60_000);
    expect(await statuses(store)).toEqual(["alive"]);
    await startProcessProjector(bus);
    await bus.close();
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it.each([
    ["an unknown option", { staleMs: 5 }, 'no option "staleMs"'],
    ["a time that is none", { staleAfterMs: 0 }, "staleAfterMs must be a number above 0"],
  ])("refuses %s", async (_, options, message) => {
    const bus = await (await machine()).join();
    await expect(startProcessProjector(bus, options as ProcessProjectorOptions)).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining(message),
    });
  });
});
