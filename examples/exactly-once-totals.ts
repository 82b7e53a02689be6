/**
 * Totals that are right whatever crashes: documents and cursor are one commit (P9). The projector is stopped in the middle
 * of its work, started again, and has counted each order exactly once.
 */
import { createBus, startTransactionalProjector } from "promethean";
import { embeddedStore } from "promethean/stores/embedded";
import { temporaryFolder } from "./temporary-folder.js";

const ORDERS = 300;
const path = `${temporaryFolder()}/bus.db`;

async function project(failAt: number): Promise<void> {
  const bus = await createBus({ store: embeddedStore({ path }), onTrouble: () => undefined });
  let handled = 0;
  const projector = await startTransactionalProjector<{ amount: number }>(bus, {
    topic: "orders",
    group: "totals",
    from: "earliest",
    batchSize: 25,
    handler: async (events, tx) => {
      for (const { key = "-", payload } of events) {
        await tx.view("totals").inc(key, { orders: 1, amount: payload.amount });
        if (++handled === failAt) throw new Error("the handler fails here, after it has written");
      }
    },
  });
  const total = async (): Promise<number> => {
    const { items } = await bus.view<{ orders: number }>("totals").find({});
    return items.reduce((sum, { orders }) => sum + orders, 0);
  };
  while ((await total()) < (failAt < ORDERS ? 100 : ORDERS))
    await new Promise((resolve) => setTimeout(resolve, 10));
  await projector.stop();
  if (failAt >= ORDERS) {
    for (const { _key, ...totals } of (await bus.view("totals").find({})).items)
      console.log(_key, JSON.stringify({ orders: totals.orders, amount: totals.amount }));
  }
  await bus.close();
}

const shop = await createBus({ store: embeddedStore({ path }) });
const orders = Array.from({ length: ORDERS }, (_, i) => ({
  payload: { amount: i % 10 },
  key: `customer-${i % 3}`,
}));
await shop.publishMany("orders", orders);
await shop.close();

await project(60);
await project(Number.POSITIVE_INFINITY);
