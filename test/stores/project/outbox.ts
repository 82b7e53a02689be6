/** The outbox drainer on every store's own outbox. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createBus } from "../../../src/bus/create-bus.js";
import { BusError } from "../../../src/model/errors.js";
import { defineTopic } from "../../../src/model/topic.js";
import type { Trouble } from "../../../src/model/trouble.js";
import { runOutboxDrainer } from "../../../src/project/outbox-drainer.js";
import type { ProjectBench } from "./bench.js";

export function describeOutboxDrainer(bench: ProjectBench): void {
  describe("outbox drainer", () => {
    it("P10: two drainers publish every entry once, under its id, each key in order", async () => {
      const { bus, store } = bench;
      const topic = await bench.topic({ partitions: 4 });
      const sentBefore = (await store.outbox.stats()).sent;
      for (let i = 0; i < 150; i++) {
        const headers = { "x-n": String(i) };
        await store.outbox.add({ id: `${topic}-${i}`, topic, payload: { i }, key: `k${i % 7}`, headers });
      }
      const drainers = [20, 13].map((batchSize) => runOutboxDrainer(store.outbox, bus, { batchSize }));
      await expect
        .poll(() => store.outbox.stats(), { timeout: 30_000 })
        .toMatchObject({ sent: sentBefore + 150, pending: 0, claimed: 0 });
      const byKey = new Map<string, number[]>();
      for await (const event of bus.read<{ i: number }>(topic)) {
        const { i } = event.payload;
        expect(event).toMatchObject({ id: `${topic}-${i}`, headers: { "x-n": String(i) } });
        byKey.set(event.key as string, [...(byKey.get(event.key as string) ?? []), i]);
      }
      expect([...byKey.values()].flat()).toHaveLength(150);
      for (const order of byKey.values()) expect(order).toEqual([...order].sort((a, b) => a - b));
      expect(drainers.reduce((sum, drainer) => sum + drainer.stats().sent, 0)).toBe(150);
      for (const drainer of drainers) await drainer.stop();
    });

    it("P10: an entry that cannot be published dies, blocks only its key, and goes out in order once requeued", async () => {
      const { store } = bench;
      const topic = await bench.topic();
      let broken = true;
      const bus = bench.bus.with({
        publish: (request, next) => {
          if (broken && request.payload === "bad") throw new Error("refused");
          return next(request);
        },
      });
      const sentBefore = (await store.outbox.stats()).sent;
      await store.outbox.add({ id: `${topic}-1`, topic, payload: "bad", key: topic });
      const other = await bench.topic();
      await store.outbox.add({ id: `${topic}-2`, topic, payload: "behind", key: topic });
      await store.outbox.add({ id: `${topic}-4`, topic: other, payload: "elsewhere", key: topic });
      await store.outbox.add({ id: `${topic}-3`, topic, payload: "free", key: `${topic}-other` });
      const options = { maxAttempts: 3, retry: { baseMs: 1, maxMs: 2 }, everyMs: 5, leaseMs: 600_000 };
      const drainer = runOutboxDrainer(store.outbox, bus, options);
      await expect
        .poll(() => store.outbox.stats(), { timeout: 30_000 })
        .toMatchObject({ dead: 1, sent: sentBefore + 1 });
      const [dead] = await store.outbox.list({ status: "dead", limit: 5 });
      expect(dead).toMatchObject({ id: `${topic}-1`, error: "refused" });
      expect(await bench.events(other)).toEqual([]);
      broken = false;
      expect(await store.outbox.requeueDead()).toBe(1);
      await expect
        .poll(() => store.outbox.stats(), { timeout: 30_000 })
        .toMatchObject({ sent: sentBefore + 4, dead: 0 });
      expect((await bench.events(topic)).map((event) => event.payload)).toEqual(["free", "bad", "behind"]);
      await drainer.stop();
    });

    it("P10: an entry that is refused is told to onTrouble, once when that begins and once when it is dead", async () => {
      const { store } = bench;
      const topic = await bench.topic();
      const troubles: Trouble[] = [];
      const bus = await createBus({ store, onTrouble: (trouble) => troubles.push(trouble) });
      await bus.defineTopic(defineTopic(topic, { schema: z.number().positive() }));
      await store.outbox.add({ id: `${topic}-1`, topic, payload: -1, key: "ada" });
      const options = { maxAttempts: 3, retry: { baseMs: 1, maxMs: 2 }, everyMs: 5 };
      const drainer = runOutboxDrainer(store.outbox, bus, options);
      await expect.poll(() => drainer.stats().dead, { timeout: 30_000 }).toBe(1);
      await drainer.stop();
      const [refused, dead, ...more] = troubles.filter((trouble) => trouble.topic === topic);
      expect(refused?.error.message).toContain(`entry ${topic}-1 of the outbox is refused: the payload`);
      expect(dead).toMatchObject({ givenUp: true, error: { code: "SCHEMA_VIOLATION" } });
      expect(dead?.error.message).toBe(
        `entry ${topic}-1 of the outbox is dead; entries of its key ("ada") wait`,
      );
      expect(more).toEqual([]);
      await store.outbox.discardDead([`${topic}-1`]);
      await bus.close();
    });

    it("P10: an entry that breaks its schema is told of at once, tried once more, and goes out in order once it may", async () => {
      const { store } = bench;
      const topic = await bench.topic();
      let strict = true;
      const bus = bench.bus.with({
        publish: (request, next) => {
          if (strict && request.payload === "new") throw new BusError("SCHEMA_VIOLATION", "no new ones");
          return next(request);
        },
      });
      const sentBefore = (await store.outbox.stats()).sent;
      for (const [n, payload] of ["new", "behind"].entries())
        await store.outbox.add({ id: `${topic}-${n}`, topic, payload, key: topic });
      const drainer = runOutboxDrainer(store.outbox, bus, { retry: { maxMs: 50 }, everyMs: 5 });
      await expect.poll(() => drainer.stats(), { timeout: 30_000 }).toMatchObject({ failed: 1, dead: 1 });
      const [dead, ...others] = await store.outbox.list({ status: "dead", limit: 5 });
      expect(dead).toMatchObject({ id: `${topic}-0`, failures: 2, error: "no new ones" });
      expect(others).toEqual([]);
      strict = false;
      expect(await store.outbox.requeueDead()).toBe(1);
      await expect
        .poll(() => store.outbox.stats(), { timeout: 30_000 })
        .toMatchObject({ sent: sentBefore + 2 });
      expect((await bench.events(topic)).map(({ payload }) => payload)).toEqual(["new", "behind"]);
      await drainer.stop();
    });

    it("P10, P15: one that is refused after an outage is told of and tried once more, as if there had been none", async () => {
      const { store } = bench;
      const topic = await bench.topic();
      const troubles: Trouble[] = [];
      const bus = await createBus({ store, onTrouble: (trouble) => troubles.push(trouble) });
      let isAway = true;
      bus.use({
        publish: () => {
          if (isAway) throw new BusError("STORE_UNAVAILABLE", "not now");
          throw new BusError("SCHEMA_VIOLATION", "no new ones");
        },
      });
      await store.outbox.add({ id: `${topic}-1`, topic, payload: "new", key: topic });
      const options = { maxAttempts: 3, retry: { baseMs: 1, maxMs: 2 }, everyMs: 5 };
      const drainer = runOutboxDrainer(store.outbox, bus, options);
      await expect.poll(() => drainer.stats().failed, { timeout: 30_000 }).toBeGreaterThan(3);
      isAway = false;
      await expect.poll(() => drainer.stats().dead, { timeout: 30_000 }).toBe(1);
      await drainer.stop();
      const [dead] = await store.outbox.list({ status: "dead", limit: 5 });
      expect(dead).toMatchObject({ id: `${topic}-1`, failures: drainer.stats().failed + 1 });
      const told = troubles.filter((trouble) => trouble.topic === topic);
      expect(told.map(({ error, givenUp }) => [error.message, givenUp])).toEqual([
        [expect.stringContaining("is refused: no new ones"), undefined],
        [expect.stringContaining("is dead"), true],
      ]);
      await store.outbox.discardDead([`${topic}-1`]);
      await bus.close();
    });

    it("P10, P15: an outage kills no entry, however long it lasts: all go out in order when it is over", async () => {
      const { store } = bench;
      const topic = await bench.topic();
      let tries = 0;
      const bus = bench.bus.with({
        publish: (request, next) => {
          if (++tries < 40) throw new BusError("STORE_UNAVAILABLE", "the server is away");
          return next(request);
        },
      });
      const before = await store.outbox.stats();
      for (const payload of [1, 2, 3])
        await store.outbox.add({ id: `${topic}-${payload}`, topic, payload, key: topic });
      const options = { maxAttempts: 3, retry: { baseMs: 1, maxMs: 2 }, everyMs: 5 };
      const drainer = runOutboxDrainer(store.outbox, bus, options);
      await expect
        .poll(() => store.outbox.stats())
        .toMatchObject({ sent: before.sent + 3, dead: before.dead, pending: before.pending });
      await drainer.stop();
      expect(drainer.stats().failed).toBeGreaterThan(3);
      expect((await bench.events(topic)).map(({ payload }) => payload)).toEqual([1, 2, 3]);
    });

    it("P10: a key has one order, whatever the topics of its entries", async () => {
      const { bus, store } = bench;
      const [one, other] = [await bench.topic(), await bench.topic()];
      const sentBefore = (await store.outbox.stats()).sent;
      const topics = [one, other, one, one, other, other, one];
      for (const [i, topic] of topics.entries())
        await store.outbox.add({ id: `${one}-${i}`, topic, payload: i, key: one });
      const order: string[] = [];
      const noting = bus.with({
        publish: async (request, next) => {
          const published = await next(request);
          order.push(String(request.options.id));
          return published;
        },
      });
      const drainer = runOutboxDrainer(store.outbox, noting);
      await expect
        .poll(() => store.outbox.stats(), { timeout: 30_000 })
        .toMatchObject({ sent: sentBefore + topics.length });
      expect(order).toEqual(topics.map((_, i) => `${one}-${i}`));
      await drainer.stop();
    });

    it("publishes on whatever can publish, and takes the interval in place of options", async () => {
      const { store } = bench;
      const topic = await bench.topic();
      const sentBefore = (await store.outbox.stats()).sent;
      const published: unknown[] = [];
      const drainer = runOutboxDrainer(
        store.outbox,
        { publish: async (...call: unknown[]) => void published.push(call) },
        5,
      );
      await store.outbox.add({ id: `${topic}-1`, topic, payload: 1, key: "k" });
      await expect
        .poll(() => store.outbox.stats(), { timeout: 30_000 })
        .toMatchObject({ sent: sentBefore + 1 });
      await drainer.stop();
      expect(published).toEqual([[topic, 1, { id: `${topic}-1`, key: "k" }]]);
    });

    it("an entry with a bad topic dies alone, with the reason kept", async () => {
      const { bus, store } = bench;
      const topic = await bench.topic();
      const sentBefore = (await store.outbox.stats()).sent;
      await store.outbox.add({ id: `${topic}-1`, topic: "Not A Topic", payload: 1 });
      await store.outbox.add({ id: `${topic}-2`, topic, payload: 2 });
      const drainer = runOutboxDrainer(store.outbox, bus, { maxAttempts: 1 });
      await expect
        .poll(() => store.outbox.stats(), { timeout: 30_000 })
        .toMatchObject({ dead: 1, sent: sentBefore + 1 });
      expect((await store.outbox.list({ status: "dead", limit: 1 }))[0]?.error).toMatch(/not a topic name/);
      await store.outbox.discardDead([`${topic}-1`]);
      await drainer.stop();
    });
  });
}
