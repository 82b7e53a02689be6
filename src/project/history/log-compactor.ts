/** Performs on one partition what compaction.ts decides. */
import type { Seq } from "../../model/event.js";
import type { TopicConfig } from "../../model/topic.js";
import type { PartitionHead } from "../../ports/log.js";
import { cursorsAt, slowestFloor } from "../group-floors.js";
import type { Host } from "../host.js";
import { scanPages } from "../log-scan.js";
import { DEFAULT_TOMBSTONE_RETENTION_MS, isTombstoneEvent } from "../tombstone.js";
import { progressToken } from "../upkeep-progress.js";
import {
  type CompactionProgress,
  dueMsOf,
  earlier,
  isWithin,
  NewestSeqs,
  progressOf,
  progressValue,
  scansCleanPart,
  sortPage,
  sweepsTombstones,
  type Tombstone,
  withCleaning,
} from "./compaction.js";

export interface PartitionCompaction {
  readonly host: Host;
  readonly topic: TopicConfig;
  /** Without one, looking up a key costs a walk through the topic: then everything is done by walking once. */
  readonly hasKeyIndex: boolean;
  readonly keepMs: number;
  readonly pageSize: number;
  readonly maxKeys: number;
  /** Called between pages: waits, so that others get their turn. */
  readonly breathe: () => Promise<void>;
  readonly signal: AbortSignal;
  readonly counts: { scanned: number; removed: number; tombstonesRemoved: number };
}

/** Keys looked up at once. */
const LOOKUPS = 16;
/** Older events of a key in the clean part: about one, unless the topic was compacted by other means. */
const OLDER_EVENTS = 100;
/** Tombstones of a key that are left together: one, and those that came back for single groups. */
const TOMBSTONES = 10;

/** Compacts one stretch; true if there is more to do at once. */
export async function compactPartition(work: PartitionCompaction, at: PartitionHead): Promise<boolean> {
  const { registry } = work.host.store;
  const name = progressToken("compaction", work.topic.name, at.partition);
  const token = await registry.token(name);
  const progress = progressOf(token?.value);
  const nowMs = work.host.clock.now();
  const tombstoneMs = retentionMs(work);
  const dirty = await learnNewest(work, at, progress.cleaned);
  const sweep = sweepsTombstones(progress, nowMs, tombstoneMs);
  if (dirty.through === progress.cleaned && !sweep) return false;
  const reached = Math.max(progress.reached, dirty.through);
  const revision = await registry.putToken(name, progressValue({ ...progress, reached }), {
    expected: token?.revision ?? 0,
  });
  const cleanEvents = at.events - dirty.newest.events;
  const fromStart = sweep || !work.hasKeyIndex || scansCleanPart(dirty.newest, cleanEvents);
  if (!fromStart) await removeOlder(work, at.partition, dirty.newest, progress.cleaned);
  const dueOf: DueMs = (tombstone) => dueMsOf(tombstone, progress.cleanings, nowMs, tombstoneMs);
  const swept = await sweepOut(work, at.partition, dirty, fromStart ? at.low - 1 : progress.cleaned, dueOf);
  if (work.signal.aborted) return false;
  const cleaned = Math.max(progress.cleaned, dirty.through);
  const next: CompactionProgress = {
    cleaned,
    reached,
    tombstonesDueMs: earlier(swept, fromStart ? null : progress.tombstonesDueMs),
    sweptMs: fromStart ? nowMs : progress.sweptMs,
    cleanings: withCleaning(progress.cleanings, cleaned, work.host.clock.now(), tombstoneMs),
  };
  await registry.putToken(name, progressValue(next), { expected: revision });
  return dirty.cut;
}

/** Nothing was removed from the partition because of an event beyond this one. */
export async function compactionReached(host: Host, topic: string, partition: number): Promise<Seq> {
  const token = await host.store.registry.token(progressToken("compaction", topic, partition));
  return progressOf(token?.value).reached;
}

/** When the time of a tombstone has come. */
type DueMs = (tombstone: Tombstone) => number;

function retentionMs({ topic }: PartitionCompaction): number {
  return topic.tombstoneRetentionMs ?? DEFAULT_TOMBSTONE_RETENTION_MS;
}

interface DirtyStretch {
  readonly newest: NewestSeqs;
  readonly through: Seq;
  /** It ended because memory is bounded, not because there was no more. */
  readonly cut: boolean;
}

async function learnNewest(
  work: PartitionCompaction,
  { partition, head }: PartitionHead,
  after: Seq,
): Promise<DirtyStretch> {
  const { host, topic, keepMs } = work;
  const nowMs = host.clock.now();
  const window = { fromMs: nowMs - keepMs, nowMs };
  const newest = new NewestSeqs();
  let through = after;
  const stretch = { topic: topic.name, partition, after, through: head };
  for await (const page of scanPages(host.store.log, stretch, work)) {
    for (const event of page.events) {
      if (isWithin(window, event)) return { newest, through, cut: false };
      if (newest.size >= work.maxKeys) return { newest, through, cut: true };
      newest.see(event);
      through = event.seq;
    }
    work.counts.scanned += page.events.length;
    through = page.through;
    await work.breathe();
  }
  return { newest, through, cut: false };
}

/** Looks through (after, dirty.through]; returns when the first of the tombstones that stay may go. */
async function sweepOut(
  work: PartitionCompaction,
  partition: number,
  { newest, through }: DirtyStretch,
  after: Seq,
  dueOf: DueMs,
): Promise<number | null> {
  const { host, topic, counts } = work;
  let dueMs: number | null = null;
  let tombstones: Tombstone[] = [];
  const stretch = { topic: topic.name, partition, after, through };
  for await (const page of scanPages(host.store.log, stretch, work)) {
    const sorted = sortPage(page.events, newest);
    counts.removed += await remove(work, partition, sorted.superseded);
    tombstones.push(...sorted.tombstones);
    if (work.hasKeyIndex || tombstones.length >= work.maxKeys) {
      dueMs = earlier(dueMs, await removeTombstones(work, partition, tombstones, dueOf));
      tombstones = [];
    }
    counts.scanned += page.events.length;
    await work.breathe();
  }
  return earlier(dueMs, await removeTombstones(work, partition, tombstones, dueOf));
}

/**
 * Removes those whose time has come; returns when the first of the others may go. First it is made sure that nothing
 * older of the key is left, then the cursors are read: a group that has seen the older event is known by then, and one
 * that begins later sees neither.
 */
async function removeTombstones(
  work: PartitionCompaction,
  partition: number,
  tombstones: readonly Tombstone[],
  dueOf: DueMs,
): Promise<number | null> {
  const { host, topic, counts } = work;
  const nowMs = host.clock.now();
  const due = tombstones.filter((tombstone) => dueOf(tombstone) <= nowMs);
  const alone = work.hasKeyIndex
    ? await asyncFilter(due, (tombstone) => isAlone(work, tombstone))
    : await findAlone(work, due);
  const floor =
    alone.length === 0 ? 0 : slowestFloor(await cursorsAt(host.store, topic.name, partition, nowMs));
  const gone = new Set(alone.map(({ seq }) => seq).filter((seq) => seq <= floor));
  counts.tombstonesRemoved += await remove(work, partition, [...gone]);
  return tombstones
    .filter(({ seq }) => !gone.has(seq))
    .reduce<number | null>((dueMs, tombstone) => earlier(dueMs, dueOf(tombstone)), null);
}

/** Whether nothing but tombstones is left of its key. */
async function isAlone({ host, topic }: PartitionCompaction, { key }: Tombstone): Promise<boolean> {
  const events = await host.store.log.history(topic.name, key, { limit: TOMBSTONES });
  return events.length < TOMBSTONES && events.every(isTombstoneEvent);
}

/** As `isAlone`, of all of them in one walk through the topic. */
async function findAlone(work: PartitionCompaction, tombstones: readonly Tombstone[]): Promise<Tombstone[]> {
  if (tombstones.length === 0) return [];
  const { log } = work.host.store;
  const alone = new Set<string | undefined>(tombstones.map(({ key }) => key));
  for (const { partition, low, head } of await log.heads(work.topic.name)) {
    const stretch = { topic: work.topic.name, partition, after: low - 1, through: head };
    for await (const { events } of scanPages(log, stretch, work)) {
      for (const event of events) if (!isTombstoneEvent(event)) alone.delete(event.key);
      await work.breathe();
    }
  }
  // Whoever is told to stop has not seen everything.
  return work.signal.aborted ? [] : tombstones.filter(({ key }) => alone.has(key));
}

/** Removes from the clean part, by index, what the stretch supersedes. */
async function removeOlder(
  work: PartitionCompaction,
  partition: number,
  newest: NewestSeqs,
  cleaned: Seq,
): Promise<void> {
  const { host, topic, counts } = work;
  const older = async (key: string): Promise<Seq[]> => {
    const events = await host.store.log.history(topic.name, key, { through: cleaned, limit: OLDER_EVENTS });
    return events.filter((event) => event.partition === partition).map(({ seq }) => seq);
  };
  let keys: string[] = [];
  let seqs: Seq[] = [];
  const flush = async (least: number): Promise<void> => {
    seqs.push(...(await Promise.all(keys.map(older))).flat());
    keys = [];
    if (seqs.length < least) return;
    counts.removed += await remove(work, partition, seqs);
    seqs = [];
    await work.breathe();
  };
  for (const key of newest.keys()) {
    if (work.signal.aborted) return;
    keys.push(key);
    if (keys.length >= LOOKUPS) await flush(work.pageSize);
  }
  await flush(0);
}

async function remove(work: PartitionCompaction, partition: number, seqs: readonly Seq[]): Promise<number> {
  if (seqs.length === 0) return 0;
  return work.host.store.log.remove(work.topic.name, partition, seqs);
}

async function asyncFilter<T>(items: readonly T[], keep: (item: T) => Promise<boolean>): Promise<T[]> {
  const kept: T[] = [];
  for (let i = 0; i < items.length; i += LOOKUPS) {
    const some = items.slice(i, i + LOOKUPS);
    const answers = await Promise.all(some.map(keep));
    kept.push(...some.filter((_, j) => answers[j]));
  }
  return kept;
}
