/** Views kept by changelog and by transaction, on every store. */
import { describe, expect, it } from "vitest";
import { startChangelogProjector } from "../../../src/project/changelog.js";
import { startTransactionalProjector } from "../../../src/project/transactional.js";
import type { ProjectBench } from "./bench.js";

export function describeProjectors(bench: ProjectBench): void {
  describe("changelog projector", () => {
    it("keeps the newest value of each key and removes what a tombstone names", async () => {
      const { bus } = bench;
      const topic = await bench.topic({ partitions: 3 });
      const view = `kv-${topic}`;
      const handle = await startChangelogProjector(bus, { topic, view, indexes: [{ keys: { n: 1 } }] });
      await bus.publish(topic, { n: 1 }, { key: "a" });
      await bus.publish(topic, { n: 2 }, { key: "a" });
      await bus.publish(topic, { n: 3 }, { key: "b" });
      await bus.publish(topic, null, { key: "b" });
      await bus.publish(topic, { n: 4 }, { key: "c" });
      await bench.drained(topic, `changelog:${view}`);
      expect(await bus.view(view).get("a")).toMatchObject({ n: 2, _key: "a" });
      expect(await bus.view(view).get("b")).toBeNull();
      const { items } = await bus.view(view).find({ where: { n: { gte: 2 } } });
      expect(items.map((document) => document._key)).toEqual(["a", "c"]);
      expect(bus.tasks.reports()).toMatchObject([{ kind: "changelog", state: "running" }]);
      await handle.stop();
      expect(bus.tasks.reports()).toEqual([]);
    });

    it("forgets what was deleted once it is old enough", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      const view = `purged-${topic}`;
      const handle = await startChangelogProjector(bus, { topic, view, keepTombstonesMs: 100 });
      await bus.publish(topic, { n: 1 }, { key: "a" });
      await bus.publish(topic, null, { key: "a" });
      await expect.poll(() => handle.stats().purged).toBe(1);
      await handle.stop();
    });

    it("a late update after a delete, by its version, never shows", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      const view = `late-${topic}`;
      const handle = await startChangelogProjector<{ v: number; gone?: boolean }>(bus, {
        topic,
        view,
        versionOf: (event) => event.payload.v,
        tombstone: (event) => event.payload.gone === true,
      });
      await bus.publish(topic, { v: 1 }, { key: "k" });
      await bus.publish(topic, { v: 3, gone: true }, { key: "k" });
      await bench.drained(topic, `changelog:${view}`);
      await bus.publish(topic, { v: 2 }, { key: "k" });
      await bench.drained(topic, `changelog:${view}`);
      expect(await bus.view(view).get("k")).toBeNull();
      expect(handle.stats()).toMatchObject({ events: 3, stale: 1 });
      await handle.stop();
    });
  });

  describe("transactional projector", () => {
    it("P9: documents and cursor move together, also when the handler fails in between", async () => {
      const { bus } = bench;
      const topic = await bench.topic({ partitions: 2 });
      let calls = 0;
      const handle = await startTransactionalProjector<{ amount: number }>(bus, {
        topic,
        group: "totals",
        handler: async (events, tx) => {
          for (const event of events) {
            await tx.view(`sum-${topic}`).inc("all", { amount: event.payload.amount, orders: 1 });
            const customers = tx.view(`by-customer-${topic}`);
            const seen = await customers.get<{ n: number }>(event.key as string);
            await customers.upsert(event.key as string, { n: (seen?.n ?? 0) + 1 });
          }
          if (calls++ < 3) throw new Error("the first runs fail after they wrote");
        },
      });
      const items = Array.from({ length: 100 }, (_, i) => ({ payload: { amount: i }, key: `c${i % 5}` }));
      await bench.publish(topic, items);
      await bench.drained(topic, "totals");
      expect(await bus.view(`sum-${topic}`).get("all")).toMatchObject({ amount: 4_950, orders: 100 });
      const customers = await bus.view(`by-customer-${topic}`).find();
      expect(customers.items.map(({ _key, n }) => [_key, n])).toEqual(
        [0, 1, 2, 3, 4].map((i) => [`c${i}`, 20]),
      );
      await handle.stop();
    });

    it("P7, P9: two buses share the partitions and hand them over while events flow; each event counts once", async () => {
      const topic = await bench.topic({ partitions: 4 });
      const second = await bench.secondBus();
      const start = (bus: typeof second) =>
        startTransactionalProjector(bus, {
          topic,
          group: "count",
          batchSize: 7,
          handler: async (events, tx) => {
            for (const event of events) await tx.view(`count-${topic}`).inc(event.key as string, { n: 1 });
          },
        });
      const first = await start(bench.bus);
      const publishing = bench.publish(
        topic,
        Array.from({ length: 600 }, (_, i) => ({ payload: i, key: `k${i % 10}` })),
      );
      const other = await start(second);
      await publishing;
      await first.stop();
      await bench.drained(topic, "count");
      const { items } = await bench.bus.view(`count-${topic}`).find();
      expect(items.map(({ n }) => n)).toEqual(new Array(10).fill(60));
      await other.stop();
    });
  });
}
