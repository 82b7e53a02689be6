/** How a run ends: wait until every group has settled everything, close, and write down how things stand. */
import type { JsonObject } from "../../model/json.js";
import type { Store } from "../../ports/store.js";
import type { Fold } from "../history/index.js";
import { loggedEvent } from "./naming.js";
import { ORDERS, PROJECTION, TOTALS, VIEW } from "./scenario.js";
import type { World } from "./world.js";

/** What is still open, in words; empty if all is settled. */
export async function openWork(world: World): Promise<readonly string[]> {
  const { raw, scenario } = world;
  const groups = scenario.groups.map(({ name }) => name);
  if (scenario.projectors > 0) groups.push(PROJECTION);
  if (scenario.totals !== "none") groups.push(TOTALS);
  const open: string[] = [];
  const heads = await raw.log.heads(ORDERS);
  for (const group of groups) {
    const state = await raw.groups.state({ topic: ORDERS, group }, { nowMs: world.clock.now() });
    for (const { partition, head } of heads) {
      const lease = state?.leases.find((one) => one.partition === partition);
      const floor = lease?.cursor.floor ?? -1;
      if (floor < head)
        open.push(
          `${group} on ${ORDERS}/${partition} stands at ${floor} of ${head} (owner ${lease?.owner}, ${lease?.alive ? "alive" : "not alive"}, epoch ${lease?.epoch})`,
        );
    }
  }
  return open;
}

/** Logs, cursors and views as they are now. */
export async function dump(world: World): Promise<void> {
  const { raw, recorder, scenario } = world;
  for (const { name: topic, partitions } of await raw.registry.topics()) {
    for (let partition = 0; partition < partitions; partition++) {
      const { events } = await raw.log.read(topic, partition, { after: 0, limit: 100_000 });
      recorder.record({ type: "log", topic, partition, events: events.map(loggedEvent) });
    }
  }
  for (const { topic, group } of await raw.groups.list()) {
    const state = await raw.groups.state({ topic, group }, { nowMs: world.clock.now() });
    for (const { partition, epoch, cursor } of state?.leases ?? []) {
      recorder.record({ type: "cursor", group, topic, partition, epoch, cursor });
    }
  }
  const views = [...(scenario.projectors > 0 ? [VIEW] : []), ...(scenario.totals === "none" ? [] : [TOTALS])];
  for (const view of views) recorder.record({ type: "view", view, documents: await allDocuments(raw, view) });
}

async function allDocuments(store: Store, view: string): Promise<Record<string, JsonObject>> {
  const { documents } = await store.documents.find(view, { limit: 10_000 });
  return Object.fromEntries(documents.map(({ key, fields }) => [key, fields]));
}

/** What both projections hold: how many events each key has. */
export const countByKey: Fold = (logs) => {
  const counts: Record<string, { count: number }> = {};
  for (const { topic, key } of [...logs.values()].flat()) {
    if (topic !== ORDERS) continue;
    const document = counts[key ?? "-"] ?? { count: 0 };
    counts[key ?? "-"] = { count: document.count + 1 };
  }
  return counts;
};
