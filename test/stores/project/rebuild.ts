/** Rebuilding a view beside the one in use, on every store. */
import { describe, expect, it } from "vitest";
import { compactNow } from "../../../src/project/history/compactor.js";
import { rebuildView } from "../../../src/project/rebuild/rebuild.js";
import { previewRebuild } from "../../../src/project/rebuild/rebuild-preview.js";
import { rollbackView } from "../../../src/project/rebuild/view-rollback.js";
import { startChangelogProjector } from "../../../src/project/views/changelog.js";
import { startTransactionalProjector } from "../../../src/project/views/transactional.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import type { ProjectBench } from "./bench.js";
import { describeEffects } from "./rebuild-effects.js";
import { describeRestraint } from "./rebuild-restraint.js";
import { traffic } from "./traffic.js";

export function describeRebuild(bench: ProjectBench): void {
  describe("rebuild", () => {
    it("makes the view anew from the log, tells what differs, switches over, goes on, and goes back", async () => {
      const { bus } = bench;
      const topic = await bench.topic({ partitions: 2 });
      const view = `prices-${topic}`;
      const source = (cents: boolean) => ({
        topic,
        view,
        map: ({ payload }: { payload: { price: number } }) =>
          cents ? { cents: payload.price * 100 } : { price: payload.price },
      });
      await bench.publish(
        topic,
        [1, 2, 3].map((price) => ({ payload: { price }, key: `k${price}` })),
      );
      const old = await startChangelogProjector(bus, source(false));
      await bench.drained(topic, `changelog:${view}`);
      await old.stop();
      await bus.publish(topic, { price: 4 }, { key: "k4" });
      const projector = await startChangelogProjector(bus, source(true));
      await bench.drained(topic, `changelog:${view}`);
      const rebuild = await rebuildView(bus, view);
      expect(await rebuild.result).toMatchObject({
        from: view,
        switched: true,
        same: 1,
        added: 0,
        removed: 0,
        changed: 3,
      });
      expect(rebuild.stats()).toMatchObject({ phase: "done", events: 4, total: 4, etaSeconds: 0 });
      const cents = async (key: string): Promise<unknown> => (await bus.view(view).get(key))?.cents;
      // At once in the process that switched, and on its board it is over.
      expect(await cents("k1")).toBe(100);
      expect(bus.tasks.reports().filter(({ kind }) => kind === "rebuild")).toEqual([]);
      await bus.publish(topic, { price: 9 }, { key: "k1" });
      await expect.poll(() => cents("k1"), { timeout: 30_000 }).toBe(900);
      expect(await rollbackView(bus, view)).toMatchObject({ to: view });
      expect((await bus.view(view).get("k2"))?.price).toBe(2);
      await expect.poll(() => cents("k1"), { timeout: 30_000 }).toBe(900);
      await projector.stop();
    });

    it("makes the view anew from the snapshot and the log behind it", async () => {
      const { bus } = bench;
      const topic = await bench.topic({ partitions: 2, compaction: true });
      const view = `snapped-${topic}`;
      const projector = await startChangelogProjector(bus, { topic, view });
      await bench.publish(
        topic,
        traffic({ events: 300, keys: 20, deletes: 0.2 }).filter(({ key }) => key),
      );
      await compactNow(bus, { topic, pauseMs: 0 });
      await bench.publish(
        topic,
        traffic({ events: 40, keys: 20, seed: 2 }).filter(({ key }) => key),
      );
      await bench.drained(topic, `changelog:${view}`);
      const before = (await bus.view(view).find({ limit: 100 })).items.map(({ _key, n }) => [_key, n]);
      const rebuild = await rebuildView(bus, view, { from: "snapshot" });
      expect(await rebuild.result).toMatchObject({ switched: true, added: 0, removed: 0, changed: 0 });
      expect(rebuild.stats().events).toBeLessThan(200);
      const after = (await bus.view(view).find({ limit: 100 })).items.map(({ _key, n }) => [_key, n]);
      expect(after).toEqual(before);
      await projector.stop();
    });

    it("a rebuild that is stopped changes nothing, and a view nobody makes cannot be rebuilt", async () => {
      const { bus } = bench;
      await expect(rebuildView(bus, "nobody-makes-this")).rejects.toMatchObject({ code: "NOT_FOUND" });
      await expect(rollbackView(bus, "nobody-makes-this")).rejects.toMatchObject({ code: "NOT_FOUND" });
      const topic = await bench.topic();
      const view = `kept-${topic}`;
      const projector = await startChangelogProjector(bus, { topic, view });
      await bench.publish(topic, [{ payload: { n: 1 }, key: "k" }]);
      await bench.drained(topic, `changelog:${view}`);
      const rebuild = await rebuildView(bus, view, { switch: false });
      expect(await rebuild.result).toMatchObject({ switched: false, same: 1 });
      const stopped = await rebuildView(bus, view);
      await stopped.stop();
      await stopped.result.catch((error) => expect(error).toMatchObject({ code: "ABORTED" }));
      expect(await bus.view(view).get("k")).toMatchObject({ n: 1 });
      await projector.stop();
    });

    it("one that is stopped while it is filled from the snapshot leaves no table, and no group that others wait for", async () => {
      const { bus } = bench;
      const topic = await bench.topic({ compaction: true });
      const view = `unfilled-${topic}`;
      const projector = await startChangelogProjector(bus, { topic, view });
      await bench.publish(topic, [{ payload: { n: 1 }, key: "k" }]);
      await compactNow(bus, { topic, pauseMs: 0 });
      const rebuild = await rebuildView(bus, view, { from: "snapshot" });
      await rebuild.stop();
      await expect(rebuild.result).rejects.toMatchObject({ code: "ABORTED" });
      const tables = (await bench.store.documents.views()).map((one) => one.view);
      expect(tables.filter((table) => table.startsWith(view))).toEqual([view]);
      const groups = (await bench.store.groups.list(topic)).map(({ group }) => group);
      expect(groups).not.toContain(`changelog:${view}__2`);
      await projector.stop();
    });

    it("P15: comes to its end while the topic is written to without a pause", async () => {
      const { bus, store } = bench;
      const topic = await bench.topic();
      const view = `busy-${topic}`;
      const projector = await startChangelogProjector(bus, { topic, view });
      let n = 0;
      const write = () => bus.publish(topic, { n: ++n }, { key: `k${n % 5}` });
      // Whenever somebody looks where the log ends, it has just gone on.
      const growing = interceptStore(store, {
        around: async (call, proceed) => {
          if (call.name === "log.heads") await write();
          return proceed();
        },
      });
      const rebuild = await rebuildView(bench.hostOn(growing), view);
      expect(await rebuild.result).toMatchObject({ switched: true });
      await bench.drained(topic, `changelog:${view}__2`);
      await expect.poll(async () => (await bus.view(view).get(`k${n % 5}`))?.n).toBe(n);
      await projector.stop();
    });

    it("the build that counts stays, whatever fails behind the switch, and what was not tidied up goes with the next one", async () => {
      const { bus, store } = bench;
      const topic = await bench.topic();
      const view = `tidied-${topic}`;
      const projector = await startChangelogProjector(bus, { topic, view });
      await bench.publish(topic, [{ payload: { n: 1 }, key: "k" }]);
      await bench.drained(topic, `changelog:${view}`);
      await (await rebuildView(bus, view)).result;
      const away = new Error("the store is away");
      const failing = interceptStore(store, {
        around: (call, proceed) => {
          if (call.name === "registry.audit" && call.args[0].target === view) throw away;
          return proceed();
        },
      });
      await expect((await rebuildView(bench.hostOn(failing), view)).result).rejects.toMatchObject({
        cause: away,
      });
      const tables = async (): Promise<string[]> =>
        (await store.documents.views()).map((one) => one.view).filter((table) => table.startsWith(view));
      const groups = async (): Promise<string[]> =>
        (await store.groups.list(topic)).map(({ group }) => group).sort();
      expect(await tables()).toEqual([view, `${view}__2`, `${view}__3`]);
      await bench.publish(topic, [{ payload: { n: 2 }, key: "k" }]);
      await bench.drained(topic, `changelog:${view}__3`);
      await expect.poll(async () => (await bus.view(view).get("k"))?.n).toBe(2);
      expect(await (await rebuildView(bus, view)).result).toMatchObject({ from: `${view}__3`, same: 1 });
      expect(await tables()).toEqual([`${view}__3`, `${view}__4`]);
      expect(await groups()).toEqual([`changelog:${view}__3`, `changelog:${view}__4`]);
      await projector.stop();
    });

    it("P9: of two rebuilds at once one counts, and neither disturbs the other or the projector behind it", async () => {
      const { bus } = bench;
      const topic = await bench.topic({ partitions: 2 });
      const view = `raced-${topic}`;
      const projector = await startTransactionalProjector(bus, {
        topic,
        group: "raced",
        handler: async (events, tx) => {
          for (const { key } of events) await tx.view(view).inc(key as string, { n: 1 });
        },
      });
      const publish = (): Promise<unknown> =>
        bench.publish(
          topic,
          Array.from({ length: 40 }, (_, i) => ({ payload: i, key: `k${i % 4}` })),
        );
      await publish();
      await bench.drained(topic, "raced");
      const rebuilds = [rebuildView(bus, view), rebuildView(bus, view), rebuildView(bus, view)];
      const ends = await Promise.allSettled(rebuilds.map(async (rebuild) => (await rebuild).result));
      const [won, ...others] = ends.filter(({ status }) => status === "fulfilled");
      expect(won).toMatchObject({ value: { view, switched: true, same: 4, changed: 0 } });
      expect(others).toEqual([]);
      for (const end of ends)
        if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "WRITE_CONFLICT" });
      await publish();
      const counts = async (): Promise<unknown> =>
        (await bus.view<{ n: number }>(view).find()).items.map(({ n }) => n);
      await expect.poll(counts, { timeout: 30_000 }).toEqual([20, 20, 20, 20]);
      await rollbackView(bus, view);
      await expect.poll(counts, { timeout: 30_000 }).toEqual([20, 20, 20, 20]);
      const tables = (await bench.store.documents.views()).map((one) => one.view);
      expect(tables.filter((table) => table.startsWith(view))).toHaveLength(2);
      await projector.stop();
    });

    it("P9: views kept by one transactional projector are made anew together, switched in one write, and go back", async () => {
      const { bus } = bench;
      const topic = await bench.topic({ partitions: 2 });
      const [sums, seen] = [`sums-${topic}`, `seen-${topic}`];
      const effects: string[] = [];
      let factor = 1;
      const projector = await startTransactionalProjector<{ n: number }>(bus, {
        topic,
        group: "totals",
        batchSize: 7,
        handler: async (events, tx, ctx) => {
          for (const event of events) {
            const key = event.key as string;
            await tx.view(sums).inc(key, { n: event.payload.n * factor });
            const before = await tx.view(seen).get<{ times: number }>(key);
            await tx.view(seen).upsert(key, { times: (before?.times ?? 0) + 1 });
            if (!ctx.replaying) effects.push(event.id);
          }
        },
      });
      const items = (count: number) =>
        Array.from({ length: count }, (_, i) => ({ payload: { n: i }, key: `k${i % 3}` }));
      await bench.publish(topic, items(60));
      await bench.drained(topic, "totals");
      const told = effects.length;
      factor = 10;
      expect(await previewRebuild(bus, sums)).toEqual({
        ...{ view: sums, topic, events: 60 },
        ...{ from: sums, to: `${sums}__2`, others: [seen] },
      });
      const rebuild = await rebuildView(bus, sums);
      expect(await rebuild.result).toMatchObject({
        view: sums,
        from: sums,
        to: `${sums}__2`,
        switched: true,
        gone: 0,
        changed: 3,
        same: 0,
        others: [{ view: seen, to: `${seen}__2`, same: 3, changed: 0 }],
      });
      expect(rebuild.stats()).toMatchObject({ phase: "done", events: 60, total: 60, etaSeconds: 0 });
      expect(effects).toHaveLength(told);
      const sum = async (view: string): Promise<number> => {
        const { items: documents } = await bus.view<{ n?: number; times?: number }>(view).find();
        return documents.reduce((total, { n, times }) => total + (n ?? times ?? 0), 0);
      };
      await expect.poll(() => sum(sums), { timeout: 30_000 }).toBe(17_700);
      await bench.publish(topic, items(3));
      await expect.poll(() => sum(seen), { timeout: 30_000 }).toBe(63);
      expect(await sum(sums)).toBe(17_730);
      const back = { view: seen, from: `${seen}__2`, to: seen, others: [sums] };
      expect(await rollbackView(bus, seen, { dryRun: true })).toEqual({ ...back, rolledBack: false });
      expect(await sum(sums)).toBe(17_730);
      expect(await rollbackView(bus, seen)).toEqual({ ...back, rolledBack: true });
      await expect.poll(() => sum(sums), { timeout: 30_000 }).toBe(1_800);
      await expect.poll(() => sum(seen), { timeout: 30_000 }).toBe(63);
      await projector.stop();
    });

    describeEffects(bench);
    describeRestraint(bench);

    it("a projector that starts anew goes on with the build that counts, and old builds go", async () => {
      const { bus, store } = bench;
      const topic = await bench.topic();
      const view = `again-${topic}`;
      const start = () =>
        startTransactionalProjector(bus, {
          topic,
          group: "again",
          handler: async (events, tx) => {
            for (const _ of events) await tx.view(view).inc("all", { n: 1 });
          },
        });
      const first = await start();
      await bench.publish(topic, [{ payload: 1 }, { payload: 2 }]);
      await bench.drained(topic, "again");
      for (const to of [2, 3]) {
        const rebuild = await rebuildView(bus, view);
        expect(await rebuild.result).toMatchObject({ to: `${view}__${to}`, same: 1, changed: 0 });
      }
      await first.stop();
      const tables = (await store.documents.views()).map((info) => info.view);
      expect(tables.filter((table) => table.startsWith(view))).toEqual([`${view}__2`, `${view}__3`]);
      await bench.publish(topic, [{ payload: 3 }]);
      const second = await start();
      await bench.drained(topic, "again__3");
      await expect.poll(async () => (await bus.view(view).get("all"))?.n, { timeout: 30_000 }).toBe(3);
      await second.stop();
    });
  });
}
