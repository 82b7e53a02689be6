/**
 * Walks over the events of one key by the index, whatever else is in the log: partitions merged by time, each in its own order,
 * as in a walk over all events. An index says of a key what comes next by seq, not in which partitions it is; those of a key
 * that was spread over several by hand are found out first.
 */
import type { Seq, StoredEvent } from "../model/event.js";
import { nextTurn } from "../model/next-turn.js";
import { asksForKeys, type TopicConfig } from "../model/topic.js";
import type { Log } from "../ports/log.js";
import { mergedByTime, type Stretch } from "./log-scan.js";

const FIRST_PAGE = 16;
const LAST_PAGE = 256;
/** A page of a history has no bound in bytes: beyond this the next ones have fewer events (P13). */
const PAGE_BYTES = 1_048_576;

/** Whether `scanKey` costs what the key has, not what the topic has. */
export async function hasKeyIndex(log: Log, topic: TopicConfig): Promise<boolean> {
  return asksForKeys(topic) && ((await log.hasKeyIndex?.(topic.name)) ?? true);
}

/** Stretches of one topic, each of another partition. */
export async function* scanKey(
  log: Log,
  key: string,
  stretches: readonly Stretch[],
  signal?: AbortSignal,
): AsyncGenerator<StoredEvent> {
  const holding = await stretchesWith(log, key, stretches, signal);
  yield* mergedByTime(holding.map((stretch) => pagesOf(log, key, [stretch], signal)));
}

async function stretchesWith(
  log: Log,
  key: string,
  stretches: readonly Stretch[],
  signal: AbortSignal | undefined,
): Promise<readonly Stretch[]> {
  if (stretches.length < 2) return stretches;
  const holding = new Set<number>();
  for await (const { events } of pagesOf(log, key, stretches, signal)) {
    for (const { partition } of events) holding.add(partition);
    if (holding.size === stretches.length) break;
  }
  return stretches.filter(({ partition }) => holding.has(partition));
}

async function* pagesOf(
  log: Log,
  key: string,
  stretches: readonly Stretch[],
  signal: AbortSignal | undefined,
): AsyncGenerator<{ readonly events: readonly StoredEvent[] }> {
  const byPartition = new Map(stretches.map((stretch) => [stretch.partition, stretch]));
  const [{ topic } = { topic: "" }] = stretches;
  const through = Math.max(...stretches.map((stretch) => stretch.through));
  let after: Seq = Math.min(...stretches.map((stretch) => stretch.after));
  // Events of several partitions may have the same seq, and a page may end among them: the next one begins with that seq again.
  let seen = new Set<number>();
  for (let size = FIRST_PAGE; !signal?.aborted; ) {
    const limit = size + seen.size;
    const page = await log.history(topic, key, { after, through, limit });
    const fresh = page.filter(({ seq, partition }) => seq > after + 1 || !seen.has(partition));
    yield {
      events: fresh.filter(({ seq, partition }) => isWithin(byPartition.get(partition), seq)),
    };
    const last = page.at(-1);
    if (last === undefined || page.length < limit) return;
    seen = new Set(page.filter(({ seq }) => seq === last.seq).map(({ partition }) => partition));
    after = last.seq - 1;
    const bytes = page.reduce((sum, event) => sum + event.size, 0);
    size = bytes < PAGE_BYTES ? Math.min(size * 2, LAST_PAGE) : Math.max(1, size >> 2);
    await nextTurn();
  }
}

function isWithin(stretch: Stretch | undefined, seq: Seq): boolean {
  return stretch !== undefined && seq > stretch.after && seq <= stretch.through;
}
