/** Views kept by changelog and by transaction, on every store. */
import { describe, expect, it } from "vitest";
import { Fatal } from "../../../src/model/errors.js";
import { deadLetters, summarizeDeadLetters } from "../../../src/project/letters/dead-letters.js";
import { redrive } from "../../../src/project/letters/redrive.js";
import { startChangelogProjector } from "../../../src/project/views/changelog.js";
import { viewAt } from "../../../src/project/views/past-view.js";
import { startTransactionalProjector } from "../../../src/project/views/transactional.js";
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
      const handle = await startChangelogProjector(bus, { topic, collection: view, keepTombstonesMs: 100 });
      await bus.publish(topic, { n: 1 }, { key: "a" });
      await bus.publish(topic, null, { key: "a" });
      await expect.poll(() => handle.stats().purged).toBe(1);
      await handle.stop();
    });

    it("remembers a deletion from when it was applied on, however old its event is", async () => {
      const { bus, store } = bench;
      const topic = await bench.topic();
      const view = `replayed-${topic}`;
      const handle = await startChangelogProjector<{ v: number } | null>(bus, {
        topic,
        view,
        versionOf: (event) => event.payload?.v ?? 9,
      });
      await bus.publish(topic, null, { key: "k", ts: 1_000 });
      await bench.drained(topic, `changelog:${view}`);
      expect(await store.documents.purge(view, Date.now() - 60_000)).toBe(0);
      await bus.publish(topic, { v: 2 }, { key: "k", ts: 1_001 });
      await bench.drained(topic, `changelog:${view}`);
      expect(await bus.view(view).get("k")).toBeNull();
      await handle.stop();
    });

    it("an event whose key or version is none of its kind is a dead letter, and the others go on", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      const view = `odd-${topic}`;
      const handle = await startChangelogProjector<{ k: string; v: number }>(bus, {
        topic,
        view,
        keyOf: (event) => event.payload.k,
        versionOf: (event) => event.payload.v,
      });
      const payloads = [
        { k: 5, v: 1 },
        { k: "a", v: "7" },
        { k: null, v: 1 },
        { k: "\ud800", v: 1 },
        { k: "a", v: 2 },
        { k: "\udfff", v: 3 },
      ];
      await bench.publish(
        topic,
        payloads.map((payload) => ({ payload })),
      );
      await expect
        .poll(async () => (await bus.view(view).find()).items)
        .toMatchObject([{ _key: "a", _v: 2 }]);
      await expect.poll(async () => (await summarizeDeadLetters(bus, topic)).open).toBe(4);
      const reasons: string[] = [];
      for await (const { payload } of bus.read<{ error: { name: string } }>(`dlq.${topic}`))
        reasons.push(payload.error.name);
      expect(reasons, "buried without retries, which could not help").toEqual(new Array(4).fill("Fatal"));
      await handle.stop();
    });

    it("of events with the same version the first one counts, however they are cut into batches", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      await bench.publish(topic, [
        { payload: { v: 1, n: "first" }, key: "a" },
        { payload: { v: 1, n: "second" }, key: "a" },
      ]);
      for (const batchSize of [1, 500]) {
        const view = `same-${batchSize}-${topic}`;
        const handle = await startChangelogProjector<{ v: number }>(bus, {
          ...{ topic, view, batchSize },
          versionOf: ({ payload }) => payload.v,
        });
        await bench.drained(topic, `changelog:${view}`);
        expect((await bus.view(view).get("a"))?.n).toBe("first");
        expect((await (await viewAt(bus, view, Date.now())).get("a"))?.n).toBe("first");
        await handle.stop();
      }
    });

    it("an event that is redriven does not replace the newer value of its key, and counts where there is none", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      const view = `redriven-${topic}`;
      let fails = 2;
      const handle = await startChangelogProjector<{ old?: boolean; n: number }>(bus, {
        ...{ topic, view, batchSize: 1 },
        map: ({ payload }) => {
          if (payload.old && fails > 0) throw new Fatal("not now");
          return payload;
        },
      });
      await bench.publish(topic, [
        { payload: { n: 1, old: true }, key: "a" },
        { payload: { n: 2, old: true }, key: "b" },
        { payload: { n: 3 }, key: "a" },
      ]);
      // The second time, it is the redriven events that are given up.
      for (; fails >= 0; fails--) {
        await bench.drained(topic, `changelog:${view}`);
        expect(await redrive(bus, { topic })).toMatchObject({ redriven: 2 });
      }
      await bench.drained(topic, `changelog:${view}`);
      const shown = async () => (await bus.view(view).find()).items.map(({ _key, n, _v }) => [_key, n, _v]);
      expect(await shown()).toEqual([
        ["a", 3, 3],
        ["b", 2, 2],
      ]);
      await bus.publish(topic, { n: 4 }, { key: "b" });
      await bench.drained(topic, `changelog:${view}`);
      expect((await bus.view(view).get("b"))?.n).toBe(4);
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
    it("shows on the board that it fails, with what, and that it works again", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      let broken = true;
      const look = (kind: string): unknown =>
        bus.tasks.reports().find((report) => report.kind === kind && report.name.includes(topic));
      const failing = (): void => {
        if (broken) throw new Error("not yet");
      };
      const handles = [
        await startTransactionalProjector(bus, {
          topic,
          group: "board",
          maxAttempts: 1_000,
          handler: failing,
        }),
        await startChangelogProjector(bus, {
          topic,
          view: `board-${topic}`,
          map: () => {
            failing();
            return {};
          },
        }),
      ];
      await bus.publish(topic, 1, { key: "k" });
      for (const kind of ["transactional", "changelog"])
        await expect.poll(() => look(kind)).toMatchObject({ state: "retrying", lastError: "not yet" });
      broken = false;
      for (const kind of ["transactional", "changelog"])
        await expect.poll(() => look(kind)).toMatchObject({ state: "running", restarts: expect.any(Number) });
      for (const handle of handles) await handle.stop();
    });

    it("P8: documents that a store refuses count as the handler's failure, with the reason kept", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      const handle = await startTransactionalProjector(bus, {
        topic,
        group: "odd",
        maxAttempts: 2,
        handler: async (events, tx) => {
          for (const { key, payload } of events) {
            const n = payload === "odd" ? 1n : 1;
            await tx.view(`odd-${topic}`).upsert(key as string, { deep: [{ n }] });
          }
        },
      });
      await bench.publish(
        topic,
        ["fine", "odd", "last"].map((payload) => ({ payload, key: payload })),
      );
      await expect.poll(() => bus.view(`odd-${topic}`).get("last")).toMatchObject({ deep: [{ n: 1 }] });
      await handle.stop();
      const given: unknown[] = [];
      for await (const { error, event } of deadLetters(bus, topic)) given.push([event.payload, error.code]);
      expect(given).toEqual([["odd", "INVALID_PAYLOAD"]]);
    });

    it("what cannot be a document is refused where it is written, and the handler may go on", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      const view = `refused-${topic}`;
      const cycle: Record<string, unknown> = {};
      cycle.self = cycle;
      const refused: unknown[] = [];
      const handle = await startTransactionalProjector(bus, {
        topic,
        group: "refusing",
        handler: async (_events, tx) => {
          refused.length = 0;
          const {
            get,
            upsert,
            delete: remove,
            inc,
          } = tx.view(view) as unknown as Record<
            "get" | "upsert" | "delete" | "inc",
            (...args: unknown[]) => Promise<unknown>
          >;
          const calls = [
            () => upsert(5, {}),
            () => upsert(undefined, {}),
            () => remove(null),
            () => get({}),
            () => inc(undefined, { n: 1 }),
            () => inc("\ud800", { n: 1 }),
            () => inc("k", null),
            () => inc("k", { n: "1" }),
            () => upsert("k", null),
            () => upsert("k", [1]),
            () => upsert("k", "text"),
            () => upsert("k", { n: Number.NaN }),
            () => upsert("k", cycle),
          ];
          for (const call of calls) await call().catch((error) => refused.push(error.code));
          const kept = { deep: { n: 1 } };
          await upsert("k", kept);
          kept.deep.n = 2;
        },
      });
      await bench.publish(topic, [{ payload: 1 }]);
      await bench.drained(topic, "refusing");
      await handle.stop();
      expect(refused).toEqual([
        ...new Array(8).fill("INVALID_OPTION"),
        ...new Array(5).fill("INVALID_PAYLOAD"),
      ]);
      expect(await bus.view(view).get("k")).toMatchObject({ deep: { n: 1 } });
    });

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

    it("P9: what the handler emits is there once, however often a conflict makes it run again", async () => {
      const { bus, store } = bench;
      const [topic, news] = [await bench.topic(), await bench.topic()];
      const view = `told-${topic}`;
      let runs = 0;
      const handle = await startTransactionalProjector<number>(bus, {
        topic,
        group: "telling",
        handler: async (events, tx, ctx) => {
          const before = await tx.view(view).get<{ n: number }>("all");
          for (const event of events) {
            await ctx.emitFor(event, news, { first: event.payload, run: runs });
            await ctx.emitFor(event, news, { second: event.payload });
          }
          // Somebody else changes what was read.
          const write = { op: "upsert" as const, key: "all", ts: 1, fields: { n: 100 } };
          if (runs++ < 2) await store.documents.write(view, [write]);
          await tx.view(view).upsert("all", { n: (before?.n ?? 0) + events.length });
        },
      });
      await bench.publish(topic, [{ payload: 1 }]);
      await bench.drained(topic, "telling");
      expect(handle.stats()).toMatchObject({ conflicts: 2, commits: 1 });
      await handle.stop();
      const told = (await bench.events(news)).map(({ payload }) => payload);
      expect(told).toEqual([{ first: 1, run: 0 }, { second: 1 }]);
    });

    it("P4, P9: a batch that is handled while the one before it commits sees what that one wrote, whatever fails", async () => {
      const { bus } = bench;
      const topic = await bench.topic({ partitions: 1 });
      let runs = 0;
      const handle = await startTransactionalProjector<number>(bus, {
        topic,
        group: "lists",
        batchSize: 3,
        handler: async (events, tx) => {
          const lists = tx.view(`lists-${topic}`);
          const seen = await lists.get<{ items: number[] }>("all");
          const items = [...(seen?.items ?? []), ...events.map(({ payload }) => payload)];
          await lists.upsert("all", { items });
          if (++runs % 4 === 0) throw new Error("every fourth run fails after it wrote");
        },
      });
      const numbers = Array.from({ length: 60 }, (_, i) => i);
      await bench.publish(
        topic,
        numbers.map((payload) => ({ payload, key: `k${payload % 7}` })),
      );
      await bench.drained(topic, "lists");
      expect(await bus.view(`lists-${topic}`).get("all")).toMatchObject({ items: numbers });
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
