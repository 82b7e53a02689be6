/**
 * The snapshot of a topic: in `<topic>.snapshot` there stands, for each key that changed, a copy of its newest event
 * with the place it was copied from. Entries of a partition lie in the same partition of the snapshot topic. The last
 * entry of a key is its newest: one owner at a time writes them, in the order of their places, and whoever takes over
 * from one that crashed writes the unfinished stretch again under ids of its own, since it may cut it differently.
 *
 * A mark says: among the entries up to `entry`, those from places up to `position` are the state of the partition after
 * that event, and no event up to there is newer than `ts`. A reader goes on from there (warm), or begins at a time in
 * the past (viewAt).
 */

import { derivedId } from "../../model/derived-id.js";
import { BusError } from "../../model/errors.js";
import { type EventDraft, type EventRecord, type Seq, StoredEvent } from "../../model/event.js";
import { JsonBody, type JsonValue } from "../../model/json.js";
import { snapshotTopic, type TopicConfig } from "../../model/topic.js";
import type { Epoch } from "../../ports/groups.js";
import type { Token } from "../../ports/registry.js";
import type { Store } from "../../ports/store.js";
import { isTombstoneEvent } from "../tombstone.js";
import { progressToken } from "../upkeep-progress.js";

/** The payload of an event in `<topic>.snapshot`. */
export interface SnapshotEntry<T = unknown> {
  readonly key: string;
  readonly payload: T;
  /** ts, seq and partition of the event it was copied from. */
  readonly ts: number;
  readonly seq: Seq;
  readonly partition: number;
  /** The key is gone: the entry is a tombstone itself. */
  readonly _deleted?: true;
}

export interface SnapshotMark {
  readonly ts: number;
  readonly position: Seq;
  readonly entry: Seq;
}

export interface SnapshotMarks {
  /** Oldest first. */
  readonly marks: readonly SnapshotMark[];
  readonly revision: number;
}

const MAX_MARKS = 48;

/** The snapshot topic, made if need be: as many partitions as its source, and compacted. */
export async function ensureSnapshotTopic(store: Store, source: TopicConfig): Promise<TopicConfig> {
  const { partitions, tombstoneRetentionMs } = source;
  const config = await store.registry.defineTopic(
    {
      name: snapshotTopic(source.name),
      partitions,
      compaction: true,
      keyed: true,
      ...(tombstoneRetentionMs === undefined ? undefined : { tombstoneRetentionMs }),
    },
    { ifAbsent: true },
  );
  if (config.partitions === partitions) return config;
  throw new BusError(
    "TOPIC_CONFLICT",
    `${config.name} has ${config.partitions} partitions; a snapshot of ${source.name} needs ${partitions}`,
  );
}

/** What the owner under `epoch` writes for an event; the same again adds nothing (P3). */
export function entryOf(event: StoredEvent, epoch: Epoch, nowMs: number): EventDraft {
  const { topic, partition, seq, ts, meta } = event;
  const key = event.key ?? "";
  const deleted = isTombstoneEvent(event) ? ',"_deleted":true' : "";
  const place = `"ts":${ts},"seq":${seq},"partition":${partition}`;
  return {
    id: derivedId(snapshotTopic(topic), event.id, epoch),
    ts: nowMs,
    key,
    meta: { ...meta, caused_by: [event.id] },
    body: JsonBody.ofText(`{"key":${JSON.stringify(key)},"payload":${event.body.text},${place}${deleted}}`),
    freshId: false,
  };
}

/** The event that an entry was copied from, but for what it was caused by; null if somebody else put it there. */
export function sourceOf(entry: StoredEvent, topic: string): StoredEvent | null {
  const from = entry.body.value as Partial<SnapshotEntry> | null;
  const id = entry.meta?.caused_by?.[0];
  if (typeof from?.key !== "string" || typeof from.seq !== "number" || id === undefined) return null;
  const { caused_by: _, ...meta } = entry.meta ?? {};
  return new StoredEvent(topic, from.partition ?? entry.partition, from.seq, {
    id,
    ts: from.ts ?? entry.ts,
    key: from.key,
    meta: Object.keys(meta).length === 0 ? undefined : meta,
    body: JsonBody.ofFrozen(from.payload ?? null, entry.body.size),
  });
}

export function sourceRecordOf<T>(entry: StoredEvent, topic: string): EventRecord<T> | null {
  return (sourceOf(entry, topic)?.record as EventRecord<T> | undefined) ?? null;
}

export async function readMarks(store: Store, topic: string, partition: number): Promise<SnapshotMarks> {
  const token = await store.registry.token(progressToken("snapshot", topic, partition));
  return { marks: token === null ? [] : marksOf(token), revision: token?.revision ?? 0 };
}

/** Adds a mark; older ones thin out, so that near times have many and far ones a few. Returns the new revision. */
export async function addMark(
  store: Store,
  topic: string,
  partition: number,
  known: SnapshotMarks,
  mark: SnapshotMark,
): Promise<SnapshotMarks> {
  const marks = thinned([...known.marks.filter(({ position }) => position < mark.position), mark]);
  const value = { marks: marks.map(({ ts, position, entry }) => [ts, position, entry]) };
  const revision = await store.registry.putToken(progressToken("snapshot", topic, partition), value, {
    expected: known.revision,
  });
  return { marks, revision };
}

/** Every second mark of the older half goes. */
export function thinned(marks: readonly SnapshotMark[]): readonly SnapshotMark[] {
  if (marks.length <= MAX_MARKS) return marks;
  const half = marks.length >> 1;
  return marks.filter((_, i) => i >= half || i % 2 === 0);
}

function marksOf(token: Token): SnapshotMark[] {
  const { marks } = token.value as { marks: readonly (readonly number[])[] } & { [name: string]: JsonValue };
  return marks.map(([ts = 0, position = 0, entry = 0]) => ({ ts, position, entry }));
}
