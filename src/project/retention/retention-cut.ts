/** Where retention by size cuts partitions off, and what a cut would take from a group. No effects. */
import type { Seq } from "../../model/event.js";
import type { Cursor } from "../../ports/groups.js";
import type { Log, PartitionHead } from "../../ports/log.js";
import { scanMerged } from "../log-scan.js";
import { mostBytes } from "../stored-bytes.js";

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
    const size = mostBytes(event);
    if (gone > 0 && gone + size > bytes) break;
    gone += size;
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
