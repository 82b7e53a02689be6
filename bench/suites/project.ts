/**
 * Projections on both durable stores beside the bare drivers doing the same work: a view kept by bulk upserts, and
 * counters kept in one transaction with the place in the log.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Bus } from "../../src/bus/bus.js";
import type { Handle, TaskStats } from "../../src/model/task.js";
import { startChangelogProjector } from "../../src/project/views/changelog.js";
import { startTransactionalProjector } from "../../src/project/views/transactional.js";
import { perSecond } from "../events.js";
import type { Case, Ratio, Suite } from "../suite.js";
import { bulkUpserts, rawTransactions } from "./project/bare.js";
import { BATCH, EVENTS, FIRST_EVENTS, type StoreName, TOPIC, withEvents } from "./project/place.js";

/** From when the first events have taken effect until all have. */
function projecting(store: StoreName, start: (bus: Bus) => Promise<Handle<TaskStats>>): Promise<number> {
  return withEvents(store, async (bus) => {
    const projector = await start(bus);
    const count = (): number => projector.stats()["events"] as number;
    while (count() < FIRST_EVENTS) await wait(1);
    const rest = FIRST_EVENTS + EVENTS - count();
    return perSecond(rest, async () => {
      while (count() < FIRST_EVENTS + EVENTS) await wait(1);
    });
  });
}

const changelog = (bus: Bus): Promise<Handle<TaskStats>> =>
  startChangelogProjector(bus, { topic: TOPIC, view: "customers" });

const counting = (bus: Bus): Promise<Handle<TaskStats>> =>
  startTransactionalProjector(bus, {
    topic: TOPIC,
    group: "totals",
    batchSize: BATCH,
    handler: async (events, tx) => {
      const totals = tx.view("totals");
      for (const event of events) await totals.inc(event.key as string, { orders: 1 });
    },
  });

const rate = (name: string, measure: Case["measure"]): Case => ({ name, unit: "events/s", measure });

const casesOf = (store: StoreName): Case[] => [
  rate(`${store}: bulk upserts by the bare driver`, () => bulkUpserts(store)),
  rate(`${store}: changelog projector`, () => projecting(store, changelog)),
  rate(`${store}: raw transactions`, () => rawTransactions(store)),
  rate(`${store}: transactional projector`, () => projecting(store, counting)),
];

const ratiosOf = (store: StoreName): Ratio[] => [
  {
    name: `${store}: changelog projector / bulk upserts`,
    of: `${store}: changelog projector`,
    to: `${store}: bulk upserts by the bare driver`,
    atLeast: 0.6,
  },
  {
    name: `${store}: transactional projector / raw transactions`,
    of: `${store}: transactional projector`,
    to: `${store}: raw transactions`,
    atLeast: 0.5,
  },
];

export const suite: Suite = {
  name: "project",
  cases: [...casesOf("embedded"), ...casesOf("mongo")],
  ratios: [...ratiosOf("embedded"), ...ratiosOf("mongo")],
};
