/** What a store holds at the end of a run, in the form that the history checker takes. */
import type { StoredEvent } from "../../src/model/event.js";
import type { Store } from "../../src/ports/store.js";
import type { Fold } from "../../src/testing/history/index.js";

export interface KeptEvent {
  readonly seq: number;
  readonly id: string;
  readonly key?: string;
}

/** A partition from its first event to its last, as it is stored. */
export async function storedLog(
  { log }: Pick<Store, "log">,
  topic: string,
  partition: number,
): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let after = 0; ; ) {
    const page = await log.read(topic, partition, { after, limit: 1_000 });
    if (page.through === after) return events;
    events.push(...page.events);
    after = page.through;
  }
}

/** The same, as far as a history tells of it. */
export async function wholeLog(
  store: Pick<Store, "log">,
  topic: string,
  partition: number,
): Promise<KeptEvent[]> {
  const events = await storedLog(store, topic, partition);
  return events.map(({ seq, id, key }) => ({ seq, id, ...(key !== undefined && { key }) }));
}

/** What a view must hold that counts events by key. */
export const countByKey: Fold = (logs) => {
  const counts: Record<string, { count: number }> = {};
  for (const { key = "-" } of [...logs.values()].flat())
    counts[key] = { count: (counts[key]?.count ?? 0) + 1 };
  return counts;
};
