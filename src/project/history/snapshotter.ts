/**
 * Writes the snapshot of a topic: for each key that changed since the last run, one entry with its newest event. How
 * far it has come is the cursor of a group, so it goes on where it stopped, one process at a time works on a
 * partition (P7), tombstones wait for it (P11) and retention can.
 *
 * A stretch is folded in memory up to a bound of keys and bytes; then its entries are appended under the lease, the
 * mark is kept, and the cursor moves, in this order: a crash anywhere repeats the stretch and loses nothing.
 *
 * An entry is a little larger than its event. Before one that the store will not have, the snapshot of its partition
 * waits: passing it over would leave an older value as the newest of its key. It goes on once the key has another event.
 */
import { chunkEnd } from "../../model/chunk-end.js";
import { BusError, inBrief } from "../../model/errors.js";
import { type EventDraft, type Seq, StoredEvent } from "../../model/event.js";
import { FirstFailure } from "../../model/first-failure.js";
import { apart } from "../../model/json.js";
import { firstSeqOf, isForOneGroup } from "../../model/redrive.js";
import { snapshotTopic, type TopicConfig } from "../../model/topic.js";
import type { AppendResult, Log } from "../../ports/log.js";
import type { Host } from "../host.js";
import { scanKey } from "../key-scan.js";
import { scanPages } from "../log-scan.js";
import type { PartitionLease, WorkSession } from "../partition-lease.js";
import { mostBytes } from "../stored-bytes.js";
import { SNAPSHOT_GROUP } from "./expected-lag.js";
import { addMark, ensureSnapshotTopic, entryOf, readMarks } from "./snapshot.js";

const CHUNK = { items: 500, bytes: 1_048_576 };

export interface SnapshotOptions {
  /** Keys and bytes that a stretch may hold in memory. */
  readonly maxKeys: number;
  readonly maxBytes: number;
  readonly pageSize: number;
  /** Called between pages: waits, so that others get their turn. */
  readonly breathe: () => Promise<void>;
  readonly signal: AbortSignal;
}

export interface SnapshotCounts {
  snapshotEntries: number;
  scanned: number;
}

interface FoldedStretch {
  readonly newest: ReadonlyMap<string, StoredEvent>;
  readonly through: Seq;
  readonly maxTs: number;
}

/** Brings the snapshot of every partition up to its head, as far as nobody else is doing so. */
export async function snapshotTopicOnce(
  host: Host,
  topic: TopicConfig,
  session: WorkSession,
  options: SnapshotOptions,
  counts: SnapshotCounts,
): Promise<void> {
  const { groups, log } = host.store;
  await ensureSnapshotTopic(host.store, topic);
  const heads = await log.heads(topic.name);
  const ref = { topic: topic.name, group: SNAPSHOT_GROUP };
  await groups.start(
    ref,
    heads.map(({ low }) => low - 1),
  );
  const failures = new FirstFailure();
  for (const { partition, head } of heads) {
    if (options.signal.aborted) return;
    const lease = await session.claim({ ...ref, partition });
    if (lease === null) continue;
    try {
      await failures.note(snapshotPartition(host, topic, lease, head, { session, options, counts }));
    } finally {
      await lease.release();
    }
  }
  failures.throwIfAny();
}

interface Run {
  readonly session: WorkSession;
  readonly options: SnapshotOptions;
  readonly counts: SnapshotCounts;
}

async function snapshotPartition(
  host: Host,
  topic: TopicConfig,
  lease: PartitionLease,
  head: Seq,
  run: Run,
): Promise<void> {
  const { store } = host;
  const { partition } = lease.fence.ref;
  let known = await readMarks(store, topic.name, partition);
  const last = known.marks.at(-1);
  let maxTs = last?.ts ?? 0;
  // A run that ended between its mark and its cursor is taken up at the mark.
  let after = Math.max(lease.floor, last?.position ?? 0);
  while (after < head && !run.options.signal.aborted) {
    const { folded, tooLarge } = await writeStretch(host, topic, lease, { partition, after, head }, run);
    if (folded.through === after) return throwIfPresent(tooLarge);
    maxTs = Math.max(maxTs, folded.maxTs);
    const entry = (await store.log.heads(snapshotTopic(topic.name)))[partition]?.head ?? 0;
    const mark = { ts: maxTs, position: folded.through, entry };
    known = await addMark(store, topic.name, partition, known, mark);
    await lease.advance(folded.through);
    after = folded.through;
    throwIfPresent(tooLarge);
  }
  if (lease.floor < after) await lease.advance(after);
}

function throwIfPresent(error: BusError | undefined): void {
  if (error !== undefined) throw error;
}

interface Stretch {
  readonly partition: number;
  readonly after: Seq;
  readonly head: Seq;
}

/** Folds a stretch and writes its entries. It ends before the first event that is too large for one. */
async function writeStretch(
  host: Host,
  topic: TopicConfig,
  lease: PartitionLease,
  stretch: Stretch,
  run: Run,
): Promise<{ readonly folded: FoldedStretch; readonly tooLarge?: BusError }> {
  let tooLarge: TooLarge | undefined;
  for (;;) {
    const head = tooLarge === undefined ? stretch.head : tooLarge.event.seq - 1;
    const folded = await fold(host, topic, { ...stretch, head }, run);
    const failed = await appendEntries(host, topic, lease, folded.newest, run);
    if (failed === undefined) return { folded, ...(tooLarge && { tooLarge: waitsBefore(tooLarge) }) };
    tooLarge = failed;
  }
}

/** An event, and what the store said to its entry. */
interface TooLarge {
  readonly event: StoredEvent;
  readonly cause: BusError;
}

function waitsBefore({ event: { topic, partition, seq, key }, cause }: TooLarge): BusError {
  return new BusError(
    "PAYLOAD_TOO_LARGE",
    `the snapshot of "${topic}" waits before seq ${seq} of partition ${partition} (key ${inBrief(JSON.stringify(key))}), which is too large to be copied, until that key has a smaller event: ${cause.message}`,
    { cause, details: { topic, partition, seq } },
  );
}

/** The newest event of each key in a stretch that begins after `after` and is cut where the bounds are reached. */
async function fold(
  host: Host,
  topic: TopicConfig,
  at: Stretch,
  { session, options, counts }: Run,
): Promise<FoldedStretch> {
  const newest = new Map<string, StoredEvent>();
  let bytes = 0;
  let maxTs = 0;
  let through = at.after;
  const stretch = { topic: topic.name, partition: at.partition, after: at.after, through: at.head };
  for await (const page of scanPages(host.store.log, stretch, options)) {
    const fresh = new Set<string>();
    for (const event of page.events) {
      maxTs = Math.max(maxTs, event.ts);
      const mayRepeat = isForOneGroup(event.meta?.headers);
      if (event.key === undefined || (mayRepeat && (await isRepeat(host.store.log, event, topic)))) continue;
      const before = newest.get(event.key);
      bytes += mostBytes(event) - (before === undefined ? 0 : mostBytes(before));
      newest.set(event.key, event);
      fresh.add(event.key);
    }
    // Each may be all that is wanted of its page.
    for (const key of fresh) newest.set(key, byItself(newest.get(key) as StoredEvent));
    counts.scanned += page.events.length;
    through = page.through;
    await session.renew();
    if (newest.size >= options.maxKeys || bytes >= options.maxBytes) break;
    await options.breathe();
  }
  return { newest, through, maxTs };
}

function byItself(event: StoredEvent): StoredEvent {
  const body = apart(event.body);
  if (body === event.body) return event;
  const { topic, partition, seq, id, ts, key, meta } = event;
  return new StoredEvent(topic, partition, seq, { id, ts, key, meta, body });
}

/**
 * Whether an event is a dead letter that was published again for one group, and says nothing new to the others. In a compacted topic
 * it may be all that is left of the event it repeats, or that event mended; it never stands for more than that: while it was on its
 * way back its key may have got a newer one.
 *
 * Whoever walks through a log asks `isForOneGroup` first: of all other events there is nothing to wait for.
 */
export async function isRepeat(log: Log, event: StoredEvent, topic: TopicConfig): Promise<boolean> {
  const { key, partition, seq, meta } = event;
  if (!isForOneGroup(meta?.headers)) return false;
  if (topic.compaction !== true) return true;
  const first = firstSeqOf(event.record);
  if (first === seq) return false;
  const origin = meta?.caused_by?.[1];
  const repeated = origin === undefined ? null : await log.find(origin);
  if (repeated?.topic === topic.name && repeated.body.equals(event.body)) return true;
  if (key === undefined) return false;
  const since = { topic: topic.name, partition, after: first, through: seq - 1 };
  for await (const other of scanKey(log, key, [since])) if (!isForOneGroup(other.meta?.headers)) return true;
  return false;
}

/** Tells of the first event whose entry the store will not have; those before it are written. */
async function appendEntries(
  host: Host,
  topic: TopicConfig,
  lease: PartitionLease,
  newest: ReadonlyMap<string, StoredEvent>,
  { session, options, counts }: Run,
): Promise<TooLarge | undefined> {
  const events = [...newest.values()].sort((a, b) => a.seq - b.seq);
  for (let start = 0; start < events.length; ) {
    const chunk = events.slice(
      start,
      chunkEnd(events, start, CHUNK, ({ size }) => size),
    );
    const drafts = chunk.map((event) => entryOf(event, lease.fence.epoch, host.clock.now()));
    const { events: written, duplicates, error } = await append(host, topic, lease, drafts);
    counts.snapshotEntries += written.length - duplicates.size;
    const event = chunk[written.length];
    if (event !== undefined && BusError.is(error, "PAYLOAD_TOO_LARGE")) return { event, cause: error };
    if (error !== undefined) throw error;
    start += chunk.length;
    await session.renew();
    await options.breathe();
  }
  return undefined;
}

/** A store that refuses all drafts because one is too large says so in the same way as one that takes those before it. */
async function append(
  { store }: Host,
  { name }: TopicConfig,
  { fence }: PartitionLease,
  drafts: readonly EventDraft[],
): Promise<AppendResult> {
  try {
    return await store.log.append(snapshotTopic(name), fence.ref.partition, drafts, fence);
  } catch (error) {
    if (drafts.length > 1 || !BusError.is(error, "PAYLOAD_TOO_LARGE")) throw error;
    return { events: [], duplicates: new Set(), error };
  }
}
