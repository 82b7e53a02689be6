/**
 * What a key was at a time, and what became of it since. By index: the cost grows with that key's events, not with the
 * log. The state at T is the last event of the key, in log order, whose ts is not above T; a clock that was wrong
 * shifts its own events only.
 *
 * What retention and compaction removed is not there to be seen; the snapshot helps where it has the key.
 */
import { BusError } from "../../model/errors.js";
import type { EventRecord, Seq, StoredEvent } from "../../model/event.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import {
  checkTopicName,
  snapshotTopic,
  type TopicConfig,
  type TopicRef,
  topicName,
} from "../../model/topic.js";
import type { Log } from "../../ports/log.js";
import { checkHost, type Host } from "../host.js";
import { checkCount, checkRange } from "../option-checks.js";
import { isTombstoneEvent } from "../tombstone.js";
import { sourceOf } from "./snapshot.js";
import { isRepeat } from "./snapshotter.js";

/** Which part of a key's history. */
export interface KeyHistoryOptions {
  /** Default 100, at most 10,000. */
  readonly limit?: number;
  /** Only events with a seq above this. */
  readonly after?: Seq;
  /** Only events with a seq below this. */
  readonly before?: Seq;
  /** The newest ones, newest first. */
  readonly newestFirst?: boolean;
}

const HISTORY_OPTIONS = namesOf<KeyHistoryOptions>({
  limit: true,
  after: true,
  before: true,
  newestFirst: true,
});

/**
 * The events of a key, in log order.
 *
 * @example
 * const last = await history(bus, "orders", "order-7", { newestFirst: true, limit: 10 });
 */
export async function history<T = unknown>(
  host: Host,
  topic: TopicRef<T>,
  key: string,
  options: KeyHistoryOptions = {},
): Promise<readonly EventRecord<T>[]> {
  checkKey(key);
  checkOptionNames("history", options, HISTORY_OPTIONS);
  const { limit = 100, after, before, newestFirst = false } = options;
  checkCount("limit", limit, 1, 10_000);
  checkRange("after", after, 0);
  checkRange("before", before, 0);
  if (newestFirst && after !== undefined) {
    throw new BusError("INVALID_OPTION", "newestFirst goes with before, not with after");
  }
  const { name } = await knownTopic(host, topic);
  const events = await host.store.log.history(name, key, {
    limit,
    ...(after === undefined ? undefined : { after }),
    ...(before === undefined ? undefined : { through: before - 1 }),
    ...(newestFirst ? { newestFirst } : undefined),
  });
  return events.map((event) => event.record as EventRecord<T>);
}

/**
 * The event that made the key what it was at that time, that moment included; null if it was not there, or had been deleted.
 *
 * @example
 * const order = await stateAt(bus, "orders", "order-7", Date.parse("2024-05-01T12:00:00Z"));
 */
export async function stateAt<T = unknown>(
  host: Host,
  topic: TopicRef<T>,
  key: string,
  at: number | Date,
): Promise<EventRecord<T> | null> {
  const ts = timeOf(at);
  checkKey(key);
  const newest = await newestAt(host, await knownTopic(host, topic), { key, ts, counts: () => true });
  return newest === null || isTombstoneEvent(newest) ? null : (newest.record as EventRecord<T>);
}

export interface Moment {
  readonly key: string;
  readonly ts: number;
  /** Whether an event says what the key was: else it is as if it were not there. */
  readonly counts: (event: StoredEvent) => boolean;
}

/** The event that stood for a key at a time, be it a tombstone. */
export async function newestAt(host: Host, topic: TopicConfig, at: Moment): Promise<StoredEvent | null> {
  const fromLog = await newestInLog(host.store.log, topic, at);
  const fromSnapshot = await newestInSnapshot(host, topic.name, at);
  return (fromSnapshot?.seq ?? 0) > (fromLog?.seq ?? 0) ? fromSnapshot : fromLog;
}

export async function knownTopic(host: Host, topic: TopicRef): Promise<TopicConfig> {
  checkHost(host);
  const name = topicName(topic);
  checkTopicName(name);
  const config = await host.store.registry.topic(name);
  if (config === null) throw new BusError("NOT_FOUND", `there is no topic ${name}`);
  return config;
}

/** In milliseconds since the epoch. */
export function timeOf(at: number | Date): number {
  const ts: unknown = at instanceof Date ? at.getTime() : at;
  if (typeof ts !== "number" || !Number.isFinite(ts) || ts < 0) {
    throw new BusError("INVALID_OPTION", "a time is given in milliseconds since the epoch, or as a Date");
  }
  return ts;
}

export function checkKey(key: unknown): void {
  if (typeof key !== "string") throw new BusError("INVALID_OPTION", "the key of an event is a string");
}

async function newestInLog(log: Log, topic: TopicConfig, at: Moment): Promise<StoredEvent | null> {
  for await (const event of newestFirst(log, topic.name, at.key)) {
    if (event.ts <= at.ts && at.counts(event) && !(await isRepeat(log, event, topic))) return event;
  }
  return null;
}

async function newestInSnapshot(host: Host, topic: string, at: Moment): Promise<StoredEvent | null> {
  const name = snapshotTopic(topic);
  if ((await host.store.registry.topic(name)) === null) return null;
  for await (const entry of newestFirst(host.store.log, name, at.key)) {
    const source = sourceOf(entry, topic);
    if (source !== null && source.ts <= at.ts && at.counts(source)) return source;
  }
  return null;
}

const FIRST_PAGE = 8;
const LAST_PAGE = 512;

/** The events of a key from the newest to the oldest, in growing pages: the wanted one is mostly near the end. */
export async function* newestFirst(log: Log, topic: string, key: string): AsyncGenerator<StoredEvent> {
  let through: Seq | undefined;
  // Of a key that was spread over partitions by hand, several may have the same seq.
  let seenThere = new Set<number>();
  for (let limit = FIRST_PAGE; ; limit = Math.min(limit * 4, LAST_PAGE)) {
    const wanted = limit + seenThere.size;
    const page = await log.history(topic, key, {
      limit: wanted,
      newestFirst: true,
      ...(through === undefined ? undefined : { through }),
    });
    for (const event of page) {
      if (event.seq === through && seenThere.has(event.partition)) continue;
      if (event.seq !== through) seenThere = new Set();
      through = event.seq;
      seenThere.add(event.partition);
      yield event;
    }
    if (page.length < wanted || through === undefined) return;
  }
}
