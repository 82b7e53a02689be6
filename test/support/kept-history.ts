/** What a store holds at the end of a run, in the form that the history checker takes. */
import type { Store } from "../../src/ports/store.js";
import type { Fold } from "../../src/testing/history/index.js";

export interface KeptEvent {
  readonly seq: number;
  readonly id: string;
  readonly key?: string;
}

/** A partition from its first event to its last. */
export async function wholeLog(
  { log }: Pick<Store, "log">,
  topic: string,
  partition: number,
): Promise<KeptEvent[]> {
  const events: KeptEvent[] = [];
  for (let after = 0; ; ) {
    const page = await log.read(topic, partition, { after, limit: 1_000 });
    for (const { seq, id, key } of page.events) events.push({ seq, id, ...(key !== undefined && { key }) });
    if (page.through === after) return events;
    after = page.through;
  }
}

/** What a view must hold that counts events by key. */
export const countByKey: Fold = (logs) => {
  const counts: Record<string, { count: number }> = {};
  for (const { key = "-" } of [...logs.values()].flat())
    counts[key] = { count: (counts[key]?.count ?? 0) + 1 };
  return counts;
};
