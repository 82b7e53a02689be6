/** The newest events of a topic, by its log alone. */
import { BusError } from "../../model/errors.js";
import type { StoredEvent } from "../../model/event.js";
import type { Log, PartitionHead } from "../../ports/log.js";

/** NOT_FOUND counts as a topic without partitions. */
export async function headsOf(log: Log, topic: string): Promise<readonly PartitionHead[]> {
  try {
    return await log.heads(topic);
  } catch (error) {
    if (BusError.is(error, "NOT_FOUND")) return [];
    throw error;
  }
}

/** At most `limit` of them, newest first by time; each partition gives its own newest. */
export async function newestEvents(log: Log, topic: string, limit: number): Promise<StoredEvent[]> {
  const heads = await headsOf(log, topic);
  const each = Math.max(1, heads.length === 0 ? 0 : limit);
  const pages = await Promise.all(
    heads.map(({ partition, head }) =>
      log.read(topic, partition, { after: Math.max(0, head - each), limit: each }),
    ),
  );
  const events = pages.flatMap((page) => page.events);
  return events.sort((a, b) => b.ts - a.ts || b.seq - a.seq || a.partition - b.partition).slice(0, limit);
}
