/** The transactional projector of the product, run by every simulated bus: it counts the events of each key (P9). */
import type { Bus } from "../../bus/bus.js";
import type { EventRecord } from "../../model/event.js";
import type { Transaction } from "../../project/views/transaction.js";
import { startTransactionalProjector } from "../../project/views/transactional.js";
import type { SimulatedPayload } from "./naming.js";
import { ORDERS, TOTALS } from "./scenario.js";
import type { SimulatedProcess } from "./simulated-process.js";
import type { World } from "./world.js";

/** Stops with its bus. */
export async function startTotals(world: World, process: SimulatedProcess, bus: Bus): Promise<void> {
  const { recorder, scenario } = world;
  const maxAttempts = 1_000;
  recorder.record({ type: "subscribed", group: TOTALS, topic: ORDERS, ordering: "none", maxAttempts });
  const count = scenario.totals === "increment" ? increment : rewrite;
  await startTransactionalProjector(bus, {
    topic: ORDERS,
    group: TOTALS,
    from: "earliest",
    batchSize: 5,
    maxAttempts,
    handler: async (events, tx) => {
      for (const event of events) {
        const { topic, partition, seq } = event;
        const { name: id } = event.payload as SimulatedPayload;
        if (!process.gone) recorder.record({ type: "covered", group: TOTALS, topic, partition, seq, id });
        await count(tx, event);
      }
    },
  });
}

async function increment(tx: Transaction, event: EventRecord): Promise<void> {
  await tx.view(TOTALS).inc(event.key ?? "-", { count: 1 });
}

/** Loses what another partition wrote meanwhile, unless the commit notices. */
async function rewrite(tx: Transaction, event: EventRecord): Promise<void> {
  const key = event.key ?? "-";
  const before = await tx.view(TOTALS).get<{ count: number }>(key);
  await tx.view(TOTALS).upsert(key, { count: (before?.count ?? 0) + 1 });
}
