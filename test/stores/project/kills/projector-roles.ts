/** Projectors: a view is what a replay comes to, and each event takes effect in it exactly once (P9). */
import type { EventRecord } from "../../../../src/model/event.js";
import { startChangelogProjector } from "../../../../src/project/views/changelog.js";
import { startTransactionalProjector } from "../../../../src/project/views/transactional.js";
import { finalState, traffic } from "../traffic.js";
import type { OpenedPlace } from "./place.js";
import { type Assignment, differs, type Role } from "./role.js";

interface Judged {
  readonly topic: string;
  readonly group: string;
  readonly judge: (published: readonly EventRecord[], place: OpenedPlace) => Promise<string[]>;
}

async function assignment(place: OpenedPlace, { topic, group, judge }: Judged): Promise<Assignment> {
  const { bus } = place;
  await bus.defineTopic({ name: topic, partitions: 3 });
  const published: EventRecord[] = [];
  return {
    burst: async (seed) => {
      for (let part = 0; part < 2; part++) {
        published.push(
          ...(await bus.publishMany(topic, traffic({ events: 60, keys: 25, seed: seed + part }))),
        );
      }
    },
    finished: async () => {
      const position = await bus.getCursor(topic, group);
      return position?.partitions.every(({ lag }) => lag === 0) ?? false;
    },
    anomalies: () => judge(published, place),
  };
}

async function documents({ bus }: OpenedPlace, view: string): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (let after: string | undefined; ; ) {
    const page = await bus.store.documents.find(view, { limit: 500, ...(after !== undefined && { after }) });
    for (const { key, fields } of page.documents) found[key] = fields;
    if (page.next === null) return found;
    after = page.next;
  }
}

export const changelogRole: Role = {
  prepare: (place) =>
    assignment(place, {
      topic: "changes",
      group: "changelog:kept",
      judge: async (published) => differs("the view", await documents(place, "kept"), finalState(published)),
    }),
  async work({ bus }) {
    const options = { topic: "changes", view: "kept", batchSize: 20 };
    const projector = await startChangelogProjector(bus, options);
    return { done: () => projector.stats().events, stop: projector.stop };
  },
};

/** Counts each key's events, and all events of a partition in one document that every batch reads and writes. */
export const transactionalRole: Role = {
  prepare: (place) =>
    assignment(place, {
      topic: "counted",
      group: "totals",
      judge: async (published) => {
        const counts = new Map<string, number>();
        const all = new Map<string, number>();
        const add = (map: Map<string, number>, name: string) => map.set(name, (map.get(name) ?? 0) + 1);
        for (const { key, partition } of published) {
          if (key !== undefined) add(counts, key);
          add(all, `p${partition}`);
        }
        const told = (map: Map<string, number>) =>
          Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, n]) => [key, { n }]));
        return [
          ...differs("events counted by key", await documents(place, "totals"), told(counts)),
          ...differs("events counted by partition", await documents(place, "partitions"), told(all)),
        ];
      },
    }),
  async work({ bus }) {
    const projector = await startTransactionalProjector(bus, {
      topic: "counted",
      group: "totals",
      batchSize: 20,
      handler: async (events, tx) => {
        for (const { key } of events) if (key !== undefined) await tx.view("totals").inc(key, { n: 1 });
        const partitions = tx.view("partitions");
        const name = `p${events[0]?.partition}`;
        const n = Number((await partitions.get(name))?.n ?? 0);
        await partitions.upsert(name, { n: n + events.length });
      },
    });
    return { done: () => projector.stats().events, stop: projector.stop };
  },
};
