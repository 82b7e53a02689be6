import { describe, expect, it } from "vitest";
import { createBus } from "../bus/create-bus.js";
import { defineTopic } from "../model/topic.js";
import { memoryStore } from "../stores/memory/index.js";
import { runOutboxDrainer } from "./outbox-drainer.js";

describe("outbox drainer", () => {
  it("P10: two drainers publish every entry once, under its id, each key in order", async () => {
    const store = memoryStore();
    const bus = await createBus({ store, topics: [defineTopic("orders", { partitions: 4 })] });
    for (let i = 0; i < 300; i++) {
      await store.outbox.add({
        id: `e${i}`,
        topic: "orders",
        payload: { i },
        key: `k${i % 7}`,
        headers: { "x-n": String(i) },
      });
    }
    const drainers = [
      runOutboxDrainer(store.outbox, bus, { batchSize: 20 }),
      runOutboxDrainer(store.outbox, bus, { batchSize: 13 }),
    ];
    await expect
      .poll(() => store.outbox.stats())
      .toMatchObject({ sent: 300, pending: 0, claimed: 0, dead: 0 });
    const byKey = new Map<string, number[]>();
    for await (const event of bus.read<{ i: number }>("orders")) {
      expect(event).toMatchObject({ id: `e${event.payload.i}`, headers: { "x-n": String(event.payload.i) } });
      byKey.set(event.key as string, [...(byKey.get(event.key as string) ?? []), event.payload.i]);
    }
    expect([...byKey.values()].flat()).toHaveLength(300);
    for (const order of byKey.values()) expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(drainers.reduce((sum, drainer) => sum + drainer.stats().sent, 0)).toBe(300);
    for (const drainer of drainers) await drainer.stop();
    await bus.close();
  });

  it("P10: an entry that cannot be published is dead after its tries, blocks only its key, and goes out once requeued", async () => {
    const store = memoryStore();
    const bus = await createBus({ store });
    let broken = true;
    bus.use({
      publish: (request, next) => {
        if (broken && request.payload === "bad") throw new Error("refused");
        return next(request);
      },
    });
    await store.outbox.add({ id: "1", topic: "t.a", payload: "bad", key: "k" });
    await store.outbox.add({ id: "2", topic: "t.a", payload: "behind", key: "k" });
    await store.outbox.add({ id: "3", topic: "t.a", payload: "free", key: "other" });
    const drainer = runOutboxDrainer(store.outbox, bus, {
      maxAttempts: 3,
      retry: { baseMs: 1, maxMs: 2 },
      everyMs: 5,
      leaseMs: 50,
    });
    await expect.poll(() => store.outbox.stats()).toMatchObject({ dead: 1, sent: 1 });
    expect(await store.outbox.list({ status: "dead", limit: 5 })).toMatchObject([
      { id: "1", error: "refused" },
    ]);
    broken = false;
    expect(await store.outbox.requeueDead()).toBe(1);
    await expect.poll(() => store.outbox.stats()).toMatchObject({ sent: 3 });
    const payloads: unknown[] = [];
    for await (const event of bus.read("t.a")) payloads.push(event.payload);
    expect(payloads).toEqual(["free", "bad", "behind"]);
    await drainer.stop();
    await bus.close();
  });

  it("bad topic in an entry: it alone dies, with the reason kept", async () => {
    const store = memoryStore();
    const bus = await createBus({ store });
    await store.outbox.add({ id: "1", topic: "Not A Topic", payload: 1 });
    await store.outbox.add({ id: "2", topic: "fine", payload: 2 });
    const drainer = runOutboxDrainer(store.outbox, bus, { maxAttempts: 1 });
    await expect.poll(() => store.outbox.stats()).toMatchObject({ dead: 1, sent: 1 });
    expect((await store.outbox.list({ status: "dead", limit: 1 }))[0]?.error).toMatch(/not a topic name/);
    await drainer.stop();
    await bus.close();
  });
});
