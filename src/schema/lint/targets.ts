/** What the lint can be held against: a hub over HTTP, or a store at hand. */

import type { EventRecord } from "../../model/event.js";
import type { SchemaEntry } from "../../ports/registry.js";
import type { Store } from "../../ports/store.js";
import { newestEvents } from "../evolution/newest-events.js";
import type { LintTarget } from "./event-replay.js";

/** What a hub answers to GET. */
export interface HubReader {
  readonly name: string;
  get<T>(path: string, query?: Readonly<Record<string, string | number>>): Promise<T>;
}

const PAGE = 500;

/** A hub whose schemas count as released, and whose newest events are tried. */
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

/** A store whose schemas count as released, and whose newest events are tried. */
export function storeTarget({ name, log, registry }: Store): LintTarget {
  return {
    name,
    schemas: () => registry.schemas(),
    newest: async (topic, limit) => (await newestEvents(log, topic, limit)).map(({ record }) => record),
  };
}
