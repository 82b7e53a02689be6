import { describe, expect, it } from "vitest";
import { createBus } from "../../bus/create-bus.js";
import { ManualClock } from "../../model/manual-clock.js";
import { memoryStore } from "../../stores/memory/index.js";
import { type Interception, interceptStore } from "../../testing/store-calls.js";
import { type CompactorOptions, compactNow, startCompactor } from "./compactor.js";

describe("startCompactor", () => {
  it("compacts every compacted topic now and then, shows on the board, and stops", async () => {
    const bus = await createBus({
      store: memoryStore(),
      topics: [
        { name: "kept", partitions: 1 },
        { name: "kv", partitions: 1, compaction: true },
      ],
    });
    const compactor = startCompactor(bus, { everyMs: 5, pauseMs: 0 });
    for (let n = 0; n < 20; n++) {
      await bus.publish("kv", { n }, { key: "a" });
      await bus.publish("kept", { n }, { key: "a" });
    }
    await expect.poll(async () => (await bus.store.log.heads("kv"))[0]?.events).toBe(1);
    expect(bus.tasks.reports()).toMatchObject([{ kind: "compactor", name: "compactor *", state: "running" }]);
    expect(compactor.stats()).toMatchObject({ removed: 19 });
    expect((await bus.store.log.heads("kept"))[0]?.events).toBe(20);
    expect((await bus.topics()).map(({ name }) => name)).toEqual(["kept", "kv", "kv.snapshot"]);
    await compactor.stop();
    expect(bus.tasks.reports()).toEqual([]);
    await bus.publish("kv", { n: 20 }, { key: "a" });
    const why = await bus.admin.why({ topic: "kv", group: "compactor:snapshot" });
    expect(why?.sentence).toBe(
      "compactor:snapshot is upkeep, 1 event behind on kv: the compactor's next round takes it along.",
    );
    await bus.close();
  });

  it("one topic that fails keeps neither the others nor the next round from their turn", async () => {
    let broken = true;
    const store = interceptStore(memoryStore(), {
      around: (call, proceed) => {
        if (broken && call.name === "log.remove" && call.args[0] === "a-bad") throw new Error("damaged");
        return proceed();
      },
    });
    const topics = ["a-bad", "b-good"].map((name) => ({ name, partitions: 1, compaction: true }));
    const bus = await createBus({ store, topics });
    for (const { name } of topics) {
      for (let n = 0; n < 5; n++) await bus.publish(name, { n }, { key: "a" });
    }
    const compactor = startCompactor(bus, { everyMs: 5, pauseMs: 0, snapshot: false });
    const left = async (topic: string) => (await bus.store.log.heads(topic))[0]?.events;
    await expect.poll(() => left("b-good")).toBe(1);
    expect(await left("a-bad")).toBe(5);
    await expect.poll(() => bus.tasks.reports()).toMatchObject([{ lastError: "damaged" }]);
    broken = false;
    await expect.poll(() => left("a-bad"), { timeout: 30_000 }).toBe(1);
    await compactor.stop();
    await bus.close();
  });

  it("stops in the middle of a long run, with nothing lost", async () => {
    const clock = new ManualClock();
    const bus = await createBus({
      store: memoryStore(),
      clock,
      topics: [{ name: "kv", partitions: 1, compaction: true }],
    });
    await bus.publishMany(
      "kv",
      Array.from({ length: 5_000 }, (_, n) => ({ key: `k${n % 10}`, payload: { n } })),
    );
    const compactor = startCompactor(bus, { pauseMs: 1_000, batchSize: 100 });
    await clock.advance(55_000);
    expect(compactor.stats().scanned).toBe(5_500);
    await compactor.stop();
    expect(await bus.latestByKey("kv", ["k9"])).toMatchObject({ k9: { payload: { n: 4_999 } } });
    expect((await bus.store.log.heads("kv"))[0]?.events).toBe(5_000);
    await bus.close();
  });

  describe("without an index by key", () => {
    const withoutIndex = (around: Interception["around"]) =>
      interceptStore(memoryStore(), {
        around: (call, proceed) =>
          call.name === "log.hasKeyIndex" ? Promise.resolve(false) : around(call, proceed),
      });
    const topic = { name: "kv", partitions: 2, compaction: true, tombstoneRetentionMs: 0 };

    it("P11: a tombstone stays while there is an older value, whenever the walk that looks for one is stopped", async () => {
      for (let stopAt = 1, isStopped = true; isStopped; stopAt++) {
        const stop = new AbortController();
        let reads = 0;
        const store = withoutIndex((call, proceed) => {
          if (call.name === "log.read" && ++reads === stopAt) stop.abort();
          return proceed();
        });
        const bus = await createBus({ store, topics: [topic] });
        await bus.publish("kv", { n: 1 }, { key: "spread", partition: 1 });
        await bus.publish("kv", null, { key: "spread", partition: 0 });
        const { tombstonesRemoved } = await compactNow(bus, {
          snapshot: false,
          pauseMs: 0,
          signal: stop.signal,
        });
        expect(tombstonesRemoved, `stopped at read ${stopAt}`).toBe(0);
        isStopped = stop.signal.aborted;
        await bus.close();
      }
    });

    it("P13: no more tombstones are held in memory than keys may be", async () => {
      const removed: number[] = [];
      const store = withoutIndex((call, proceed) => {
        if (call.name === "log.remove") removed.push(call.args[2].length);
        return proceed();
      });
      const bus = await createBus({ store, topics: [{ ...topic, partitions: 1 }] });
      for (let n = 0; n < 60; n++) await bus.publish("kv", null, { key: `k${n}` });
      await compactNow(bus, { snapshot: false, pauseMs: 0 });
      expect(removed).toEqual([60]);
      for (let n = 0; n < 60; n++) await bus.publish("kv", null, { key: `k${n}` });
      removed.length = 0;
      const few = { snapshot: false, pauseMs: 0, batchSize: 5, maxKeys: 10 };
      await compactNow(bus, few);
      expect(removed).toEqual([10, 10, 10, 10, 10, 10]);
      // Also of those whose time comes long after they were first met.
      const ts = Date.now() + 3_600_000;
      for (let n = 0; n < 60; n++) await bus.publish("kv", null, { key: `k${n}`, ts });
      removed.length = 0;
      await compactNow(bus, few);
      expect(removed).toEqual([]);
      const clock = { ...bus.clock, now: () => ts };
      const { tasks } = bus;
      await compactNow(
        { store, clock, tasks, topics: () => bus.topics(), subscribeBatch() {} } as never,
        few,
      );
      expect(removed).toEqual([10, 10, 10, 10, 10, 10]);
      await bus.close();
    });
  });

  it("refuses options that make no sense", async () => {
    const bus = await createBus({ store: memoryStore() });
    const wrong: CompactorOptions[] = [
      { everyMs: 0 },
      { batchSize: 0 },
      { maxKeys: -1 },
      { keepHistoryMs: Number.NaN },
      { pauseMs: "no" as never },
    ];
    for (const options of wrong) {
      expect(() => startCompactor(bus, options)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
    }
    await bus.close();
  });
});
