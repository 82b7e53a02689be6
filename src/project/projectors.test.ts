import { describe, expect, it } from "vitest";
import { createBus } from "../bus/create-bus.js";
import { defineTopic } from "../model/topic.js";
import { memoryStore } from "../stores/memory/index.js";
import { startChangelogProjector } from "./changelog.js";
import { startTransactionalProjector } from "./transactional.js";

const settled = async (
  bus: Awaited<ReturnType<typeof createBus>>,
  topic: string,
  group: string,
): Promise<void> => {
  await expect
    .poll(async () => (await bus.getCursor(topic, group))?.partitions.reduce((sum, p) => sum + p.lag, 0), {
      timeout: 5_000,
    })
    .toBe(0);
};

describe("changelog projector", () => {
  it("keeps the newest value of each key and removes what a tombstone names", async () => {
    const bus = await createBus({ store: memoryStore(), topics: [defineTopic("kv.set", { partitions: 3 })] });
    const handle = await startChangelogProjector(bus, {
      topic: "kv.set",
      view: "kv",
      indexes: [{ keys: { n: 1 } }],
    });
    await bus.publish("kv.set", { n: 1 }, { key: "a" });
    await bus.publish("kv.set", { n: 2 }, { key: "a" });
    await bus.publish("kv.set", { n: 3 }, { key: "b" });
    await bus.publish("kv.set", null, { key: "b" });
    await bus.publish("kv.set", { n: 4 }, { key: "c" });
    await settled(bus, "kv.set", "changelog:kv");
    expect(await bus.view("kv").get("a")).toMatchObject({ n: 2, _key: "a" });
    expect(await bus.view("kv").get("b")).toBeNull();
    expect((await bus.view("kv").find({ where: { n: { gte: 2 } } })).items.map((d) => d._key)).toEqual([
      "a",
      "c",
    ]);
    expect(bus.tasks.reports()).toMatchObject([{ kind: "changelog", state: "running" }]);
    await handle.stop();
    expect(bus.tasks.reports()).toEqual([]);
    await bus.close();
  });
});

describe("transactional projector", () => {
  it("P9: documents and cursor move together, also when the handler fails in between", async () => {
    const bus = await createBus({ store: memoryStore(), topics: [defineTopic("orders", { partitions: 2 })] });
    let calls = 0;
    await startTransactionalProjector<{ amount: number }>(bus, {
      topic: "orders",
      group: "totals",
      from: "earliest",
      handler: async (events, tx) => {
        for (const e of events) await tx.view("totals").inc("all", { amount: e.payload.amount, orders: 1 });
        for (const e of events) {
          const seen = await tx.view("by-customer").get<{ n: number }>(e.key as string);
          await tx.view("by-customer").upsert(e.key as string, { n: (seen?.n ?? 0) + 1 });
        }
        if (calls++ % 2 === 0) throw new Error("every second run fails");
      },
    });
    await bus.publishMany(
      "orders",
      Array.from({ length: 200 }, (_, i) => ({ payload: { amount: i }, key: `c${i % 5}` })),
    );
    await settled(bus, "orders", "totals");
    expect(await bus.view("totals").get("all")).toMatchObject({ amount: 19_900, orders: 200 });
    const customers = await bus.view("by-customer").find();
    expect(customers.items.map(({ _key, n }) => [_key, n])).toEqual(
      [0, 1, 2, 3, 4].map((i) => [`c${i}`, 40]),
    );
    for await (const letter of bus.read("dlq.orders")) expect.unreachable(JSON.stringify(letter));
    await bus.close();
  });
});
