import { expect, it } from "vitest";
import { BusError } from "../model/errors.js";
import { startTransactionalProjector } from "../project/views/transactional.js";
import { memoryStore } from "../stores/memory/index.js";
import { interceptStore } from "../testing/store-calls.js";
import { createBus } from "./create-bus.js";

it("P9: events that a leaving subscriber gives back while their commit is under way do not count again", async () => {
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let sent = 0;
  const store = interceptStore(memoryStore(), {
    around: async (call, proceed) => {
      const isFirst = call.name === "documents.transact" && ++sent === 1;
      const result = await proceed();
      if (isFirst) await answered;
      return result;
    },
  });
  const bus = await createBus({ store, drainMs: 20 });
  await bus.defineTopic({ name: "orders", partitions: 1 });
  const handled: string[] = [];
  const start = (who: string) =>
    startTransactionalProjector(bus, {
      topic: "orders",
      group: "totals",
      handler: async (events, tx) => {
        handled.push(who);
        for (const { key } of events) await tx.view("totals").inc(key as string, { n: 1 });
      },
    });
  const first = await start("first");
  await bus.publishMany(
    "orders",
    ["a", "b", "c"].map((key) => ({ payload: 1, key })),
  );
  await expect.poll(() => sent).toBe(1);
  const second = await start("second");
  await first.stop();
  await expect.poll(() => handled).toContain("second");
  answer();
  await bus.publish("orders", 1, { key: "d" });
  const counts = async (): Promise<unknown> =>
    (await bus.view<{ n: number }>("totals").find()).items.map(({ _key, n }) => [_key, n]);
  await expect.poll(counts).toContainEqual(["d", 1]);
  expect(await counts()).toEqual(["a", "b", "c", "d"].map((key) => [key, 1]));
  await second.stop();
  await bus.close();
});

it("P9, P15: what a store does not let go on for so long is tried again in halves, and each event counts once", async () => {
  const MOST = 3;
  let handed = 0;
  const store = interceptStore(memoryStore(), {
    around: (call, proceed) => {
      if (call.name === "documents.transact" && handed > MOST)
        throw new BusError("WRITE_CONFLICT", "it took too long", { details: { tooLong: true } });
      return proceed();
    },
  });
  const bus = await createBus({ store });
  await bus.defineTopic({ name: "orders", partitions: 1 });
  await bus.publishMany(
    "orders",
    Array.from({ length: 20 }, (_, n) => ({ payload: n, key: "k" })),
  );
  const projector = await startTransactionalProjector(bus, {
    topic: "orders",
    group: "totals",
    handler: async (events, tx) => {
      handed = events.length;
      await tx.view("totals").inc("all", { n: events.length });
    },
  });
  const counted = async () => (await bus.view<{ n: number }>("totals").get("all"))?.n;
  await expect.poll(counted).toBe(20);
  await projector.stop();
  await bus.close();
});

it("P4: where transactions go one at a time, one that fails is not overtaken by what another subscriber got meanwhile", async () => {
  let fail = (): void => undefined;
  const failing = new Promise<void>((resolve) => {
    fail = resolve;
  });
  let sent = 0;
  let done = 0;
  const inner = memoryStore();
  const calls = interceptStore(inner, {
    around: async (call, proceed) => {
      if (call.name !== "documents.transact") return proceed();
      if (++sent === 1) {
        await failing;
        throw new BusError("WRITE_CONFLICT", "it took too long", { details: { tooLong: true } });
      }
      const result = await proceed();
      done++;
      return result;
    },
  });
  const capabilities = { ...inner.capabilities, transactsInOrder: false };
  const bus = await createBus({ store: Object.create(calls, { capabilities: { value: capabilities } }) });
  await bus.defineTopic({ name: "orders", partitions: 1 });
  let handled = 0;
  const start = () =>
    startTransactionalProjector(bus, {
      topic: "orders",
      group: "newest",
      batchSize: 1,
      handler: async ([event], tx) => {
        handled++;
        await tx.view("newest").upsert("k", { payload: event?.payload });
      },
    });
  const projectors = [await start(), await start()];
  await bus.publishMany(
    "orders",
    [1, 2].map((payload) => ({ payload, key: "k" })),
  );
  await expect.poll(() => handled).toBe(2);
  fail();
  await expect.poll(() => done).toBe(2);
  expect(await bus.view("newest").get("k")).toMatchObject({ payload: 2 });
  for (const projector of projectors) await projector.stop();
  await bus.close();
});
