/** Rebuilding a view beside the one in use, on every store. */
import { describe, expect, it } from "vitest";
import { startChangelogProjector } from "../../../src/project/changelog.js";
import { compactNow } from "../../../src/project/compactor.js";
import { rebuildView, rollbackView } from "../../../src/project/rebuild.js";
import type { ProjectBench } from "./bench.js";
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
      await expect.poll(() => cents("k1"), { timeout: 30_000 }).toBe(100);
      await bus.publish(topic, { price: 9 }, { key: "k1" });
      await expect.poll(() => cents("k1"), { timeout: 30_000 }).toBe(900);
      expect(await rollbackView(bus, view)).toMatchObject({ to: view });
      await expect.poll(async () => (await bus.view(view).get("k2"))?.price, { timeout: 30_000 }).toBe(2);
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
  });
}
