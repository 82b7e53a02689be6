/** The projector of a steady load, which runs in two processes at once: counts events by key, each exactly once. */
import type { Bus } from "../../src/bus/bus.js";
import { startTransactionalProjector } from "../../src/project/views/transactional.js";

export const STEADY = { topic: "steady", partitions: 4, group: "counting", view: "counts" };
export const STEADY_LEASE_MS = 3_000;

export async function countingProjector(bus: Bus): Promise<void> {
  await startTransactionalProjector(bus, {
    ...{ topic: STEADY.topic, group: STEADY.group, from: "earliest", maxAttempts: 1_000 },
    handler: async (events, tx) => {
      for (const { key } of events) await tx.view(STEADY.view).inc(key ?? "-", { count: 1 });
    },
  });
}
