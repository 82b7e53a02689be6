/** Removing views on every store: nothing of them is left, and they can be made anew. */
import { describe, expect, it } from "vitest";
import { rebuildView } from "../../../src/project/rebuild/rebuild.js";
import { removeView } from "../../../src/project/view-removal.js";
import { startChangelogProjector } from "../../../src/project/views/changelog.js";
import { viewAt } from "../../../src/project/views/past-view.js";
import { startTransactionalProjector } from "../../../src/project/views/transactional.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import { failure } from "../../support/failure.js";
import type { ProjectBench } from "./bench.js";
import { dieAtEachChange } from "./dying-store.js";

export function describeRemoval(bench: ProjectBench): void {
  /** Tables, groups and tokens whose names hold this. */
  const traces = async (topic: string, view: string): Promise<string[]> => {
    const { documents, groups, registry } = bench.store;
    const tables = (await documents.views()).map((table) => table.view).filter((name) => name.includes(view));
    const found = (await groups.list(topic)).map(({ group }) => group);
    const tokens = [...(await registry.tokens("")).keys()].filter(
      (name) => name.includes(view) || name.includes(topic),
    );
    return [...tables, ...found, ...tokens];
  };
  const orders = async (): Promise<string> => {
    const topic = await bench.topic({ partitions: 2 });
    await bench.publish(
      topic,
      Array.from({ length: 10 }, (_, n) => ({ payload: { n }, key: `k${n % 4}` })),
    );
    return topic;
  };

  describe("a view that nobody needs any more", () => {
    it("is not removed while its projector runs; then it goes with its builds, and can be made anew", async () => {
      const topic = await orders();
      const view = `removed-${topic}`;
      const start = () => startChangelogProjector(bench.bus, { topic, view });
      const projector = await start();
      await (await rebuildView(bench.bus, view)).result;
      expect(await failure(removeView(bench.bus, view))).toMatchObject({
        code: "WRITE_CONFLICT",
        message: expect.stringContaining("stop its subscribers first") as string,
      });
      await projector.stop();
      const dry = await removeView(bench.bus, view, { dryRun: true });
      expect(dry).toEqual({ view, removed: false, documents: 8, others: [] });
      expect((await traces(topic, view)).length).toBeGreaterThan(5);
      expect(await removeView(bench.bus, view, { actor: "eve" })).toEqual({ ...dry, removed: true });
      expect(await traces(topic, view)).toEqual([]);
      const [audit] = await bench.store.registry.audits({ limit: 1 });
      expect(audit).toMatchObject({ actor: "eve", action: "view.remove", target: view });
      const notThere = { code: "NOT_FOUND" };
      expect(await failure(removeView(bench.bus, view))).toMatchObject(notThere);
      // Also in the process that had its projector: a build would be nobody's, and could not be removed.
      expect(await failure(rebuildView(bench.bus, view))).toMatchObject(notThere);
      expect(await failure(viewAt(bench.bus, view, 1))).toMatchObject(notThere);
      expect(await traces(topic, view)).toEqual([]);
      const again = await start();
      await bench.drained(topic, `changelog:${view}`);
      expect(await bench.bus.view(view).get("k1")).toMatchObject({ n: 9 });
      await again.stop();
    });

    it("leaves no trace, nor a pause, once whoever comes next has removed it, wherever the one who did ends", async () => {
      await dieAtEachChange(bench.store, async (store, isDead) => {
        const topic = await orders();
        const view = `removed-${topic}`;
        const projector = await startChangelogProjector(bench.bus, { topic, view });
        await bench.drained(topic, `changelog:${view}`);
        await projector.stop();
        await bench.bus.admin.pause({ topic, group: `changelog:${view}` });
        const outcome = await removeView(bench.hostOn(store), view).then(
          () => "removed",
          () => "died",
        );
        expect(outcome).toBe(isDead() ? "died" : "removed");
        if ((await traces(topic, view)).length > 0) await removeView(bench.bus, view);
        expect(await traces(topic, view)).toEqual([]);
      });
    }, 60_000);

    it("P15: is made anew, and whole, by a projector that starts while it is removed", async () => {
      const topic = await orders();
      const view = `removed-${topic}`;
      const start = () => startChangelogProjector(bench.bus, { topic, view });
      const before = await start();
      await bench.drained(topic, `changelog:${view}`);
      await before.stop();
      let projector: typeof before | undefined;
      const store = interceptStore(bench.store, {
        around: async (call, proceed) => {
          if (call.name === "groups.remove") projector ??= await start();
          return proceed();
        },
      });
      expect(await removeView(bench.hostOn(store), view)).toMatchObject({ removed: true });
      await bench.bus.publish(topic, { n: 10 }, { key: "k0" });
      await expect
        .poll(async () => (await bench.bus.view(view).find()).items.map(({ _key, n }) => [_key, n]))
        .toEqual([
          ["k0", 10],
          ["k1", 9],
          ["k2", 6],
          ["k3", 7],
        ]);
      await projector?.stop();
      expect(await removeView(bench.bus, view)).toMatchObject({ removed: true, documents: 4 });
    });

    it("takes no group of somebody else along, whatever it is called", async () => {
      const topic = await orders();
      const view = `removed-${topic}`;
      const projector = await startChangelogProjector(bench.bus, { topic, view, group: "billing" });
      await bench.drained(topic, "billing");
      await projector.stop();
      for (const group of ["billing__2", "billing__3"]) await bench.bus.setCursor(topic, group, "latest");
      expect(await bench.bus.admin.remove({ topic, group: "billing__3" })).toMatchObject({ removed: true });
      await removeView(bench.bus, view);
      expect((await bench.store.groups.list(topic)).map(({ group }) => group)).toEqual(["billing__2"]);
    });

    it("goes with the others that the same transactional projector keeps", async () => {
      const topic = await orders();
      const [sums, counts] = [`sums-${topic}`, `counts-${topic}`];
      const projector = await startTransactionalProjector<{ n: number }>(bench.bus, {
        ...{ topic, group: `keeper-${topic}`, from: "earliest" },
        handler: async (events, tx) => {
          for (const { key = "", payload } of events) {
            await tx.view(sums).inc(key, { n: payload.n });
            await tx.view(counts).inc("all", { n: 1 });
          }
        },
      });
      await bench.drained(topic, `keeper-${topic}`);
      await (await rebuildView(bench.bus, sums)).result;
      await projector.stop();
      expect(await removeView(bench.bus, sums)).toEqual({
        ...{ view: sums, removed: true },
        ...{ documents: 10, others: [counts] },
      });
      expect(await traces(topic, sums)).toEqual([]);
      expect(await traces(topic, counts)).toEqual([]);
    });
  });
}
