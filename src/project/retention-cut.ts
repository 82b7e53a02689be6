/** Where retention cuts a partition off, and what that would take from a group. No effects. */
import type { Seq, StoredEvent } from "../model/event.js";
import type { Cursor } from "../ports/groups.js";
import type { Log, PartitionHead } from "../ports/log.js";
import { scanMerged, scanPages } from "./log-scan.js";

/** Clocks differ by less than this; a ts farther ahead is wrong. */
const CLOCK_TOLERANCE_MS = 86_400_000;

/** The last seq that is older than `beforeMs`, with everything below it; a ts from the future does not hold it back. */
export async function cutByAge(
  log: Log,
  topic: string,
  { partition, head }: PartitionHead,
  beforeMs: number,
  nowMs: number,
): Promise<Seq> {
  const first = await log.seqAt(topic, partition, beforeMs);
  if (first > head) return head;
  const isYoung = (event: StoredEvent): boolean =>
    event.ts >= beforeMs && event.ts <= nowMs + CLOCK_TOLERANCE_MS;
  let cut = first - 1;
  const stretch = { topic, partition, after: cut, through: head };
  for await (const page of scanPages(log, stretch, { pageSize: 20 })) {
    const young = page.events.find(isYoung);
    if (young !== undefined) return young.seq - 1;
    cut = page.through;
  }
  return cut;
}

/** The cuts that take the oldest events of a topic away until `bytes` are gone, or a bit less, but at least one event. */
export async function cutsByBytes(
  log: Log,
  topic: string,
  heads: readonly PartitionHead[],
  bytes: number,
): Promise<Seq[]> {
  const cuts = heads.map(({ low }) => low - 1);
  const stretches = heads.map(({ partition, low, head }) => ({
    topic,
    partition,
    after: low - 1,
    through: head,
  }));
  let gone = 0;
  for await (const event of scanMerged(log, stretches)) {
    if (gone > 0 && gone + event.size > bytes) break;
    gone += event.size;
    cuts[event.partition] = event.seq;
  }
  return cuts;
}

/** How many seqs from `low` up to `cut` the group has not settled; those that were compacted away count too. */
export function unsettled(cursor: Cursor | undefined, low: Seq, cut: Seq): number {
  const from = Math.max(low, (cursor?.floor ?? 0) + 1);
  const settled = (cursor?.settled ?? []).reduce(
    (sum, [start, end]) => sum + Math.max(0, Math.min(end, cut) - Math.max(start, from) + 1),
    0,
  );
  return Math.max(0, cut - from + 1 - settled);
}
