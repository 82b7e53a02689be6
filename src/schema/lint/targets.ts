/** What the lint can be held against: a hub over HTTP, or a store at hand. */

import { BusError } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import type { SchemaEntry } from "../../ports/registry.js";
import type { Store } from "../../ports/store.js";
import type { LintTarget } from "./event-replay.js";

/** What a hub answers to GET. */
export interface HubReader {
  readonly name: string;
  get<T>(path: string, query?: Readonly<Record<string, string | number>>): Promise<T>;
}

const PAGE = 500;

export function hubTarget(hub: HubReader): LintTarget {
  return {
    name: hub.name,
    schemas: async () => (await hub.get<{ items: SchemaEntry[] }>("/schemas")).items,
    newest: (topic, limit) => newestFromHub(hub, topic, limit),
  };
}

interface EventPage {
  readonly items: readonly EventRecord[];
  readonly next: string | null;
}

async function newestFromHub(hub: HubReader, topic: string, limit: number): Promise<EventRecord[]> {
  const path = `/topics/${encodeURIComponent(topic)}/events`;
  const events: EventRecord[] = [];
  let after: string | null = "";
  while (after !== null && events.length < limit) {
    const most = Math.min(PAGE, limit - events.length);
    const query = { order: "newest", limit: most, ...(after === "" ? undefined : { after }) } as const;
    const page: EventPage = await hub.get<EventPage>(path, query).catch(emptyIfNotFound);
    events.push(...page.items);
    after = page.next;
  }
  return events;
}

/** A topic that nobody has published to yet. */
function emptyIfNotFound(error: unknown): EventPage {
  if ((error as { code?: unknown }).code === "NOT_FOUND") return { items: [], next: null };
  throw error;
}

export function storeTarget({ name, log, registry }: Store): LintTarget {
  return {
    name,
    schemas: () => registry.schemas(),
    newest: async (topic, limit) => {
      const heads = await log.heads(topic).catch((error: unknown) => {
        if (BusError.is(error, "NOT_FOUND")) return [];
        throw error;
      });
      const pages = await Promise.all(
        heads.map(({ partition, head }) =>
          log.read(topic, partition, { after: Math.max(0, head - limit), limit }),
        ),
      );
      const events = pages.flatMap((page) => page.events.map(({ record }) => record));
      return events.sort((a, b) => b.ts - a.ts || b.seq - a.seq).slice(0, limit);
    },
  };
}
