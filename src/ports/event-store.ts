/** The small store interfaces of the first days, as thin facades over a Store, for those who compose by hand. */
import { systemClock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import { type EventRecord, type StoredEvent, saysTheSame } from "../model/event.js";
import type { CursorPosition } from "../model/event-bus.js";
import { jsonBody } from "../model/json.js";
import { DEFAULT_LIMITS } from "../model/limits.js";
import { jumpHash } from "../model/partition.js";
import { checkTopicName, type TopicConfig } from "../model/topic.js";
import { START_CURSOR } from "./groups.js";
import type { Store } from "./store.js";

/** Which events to scan: after one of them, from a time on, and how many. */
export interface ScanParams {
  readonly afterId?: string;
  readonly ts?: number;
  readonly limit?: number;
}

/** The log by three verbs, for those who compose by hand. */
export interface EventStore {
  insert<T>(event: Omit<EventRecord<T>, "partition" | "seq"> & { partition?: number }): Promise<void>;
  /** In log order within a partition; partitions merged by time; nothing if nobody inserted any. An `afterId` that the topic does not have is NOT_FOUND. */
  scan(topic: string, params?: ScanParams): Promise<EventRecord[]>;
  latestByKey(topic: string, keys: readonly string[]): Promise<Record<string, EventRecord | undefined>>;
}

/** Positions of groups, to get and to set, for those who compose by hand. */
export interface CursorStore {
  get(topic: string, group: string): Promise<CursorPosition | null>;
  set(topic: string, group: string, cursor: CursorPosition): Promise<void>;
}

/** An EventStore on any Store. */
export class StoreEvents implements EventStore {
  readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  async insert<T>(event: Omit<EventRecord<T>, "partition" | "seq"> & { partition?: number }): Promise<void> {
    const { partitions } = await topicOf(this.store, event.topic, event.partition);
    checkPartition(event.topic, partitions, event.partition);
    const { id, ts, key, topic, payload, headers, tags, caused_by, sid } = event;
    const meta = Object.fromEntries(
      Object.entries({ headers, caused_by, tags, sid }).filter(([, value]) => value !== undefined),
    );
    const body = jsonBody(payload, DEFAULT_LIMITS);
    const draft = {
      id,
      ts,
      key,
      meta: Object.keys(meta).length > 0 ? meta : undefined,
      body,
      freshId: false,
    };
    const partition = event.partition ?? jumpHash(key ?? id, partitions);
    const { events, error } = await this.store.log.append(topic, partition, [draft]);
    if (error !== undefined) throw error;
    if (!saysTheSame(events[0] as StoredEvent, topic, draft)) {
      throw new BusError("ID_CONFLICT", `event ${id} exists with another topic, key or payload`);
    }
  }

  async scan(topic: string, params: ScanParams = {}): Promise<EventRecord[]> {
    checkTopicName(topic);
    const partitions = (await this.store.registry.topic(topic))?.partitions ?? 0;
    const limit = params.limit ?? 1_000;
    const after = await eventOf(this.store, topic, params.afterId);
    const pages: (readonly StoredEvent[])[] = [];
    for (let partition = 0; partition < partitions; partition++) {
      const from =
        after?.partition === partition ? after.seq : (await this.#seqAt(topic, partition, after, params)) - 1;
      pages.push((await this.store.log.read(topic, partition, { after: from, limit })).events);
    }
    return merged(pages, limit).map((event) => event.record);
  }

  async latestByKey(
    topic: string,
    keys: readonly string[],
  ): Promise<Record<string, EventRecord | undefined>> {
    const found = await this.store.log.latestByKey(topic, keys);
    return Object.fromEntries(keys.map((key) => [key, found.get(key)?.record]));
  }

  #seqAt(topic: string, partition: number, after: StoredEvent | null, params: ScanParams): Promise<number> {
    return this.store.log.seqAt(topic, partition, after?.ts ?? params.ts ?? 0);
  }
}

/** A CursorStore on any Store: the same cursors that a bus on it uses. */
export class StoreCursors implements CursorStore {
  readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  async get(topic: string, group: string): Promise<CursorPosition | null> {
    const state = await this.store.groups.state({ topic, group }, { nowMs: systemClock.now() });
    if (state === null) return null;
    let last: StoredEvent | undefined;
    for (const { partition, cursor } of state.leases) {
      if (cursor.floor === 0) continue;
      const { events } = await this.store.log.read(topic, partition, { after: cursor.floor - 1, limit: 1 });
      const event = events[0];
      if (event?.seq === cursor.floor && (last === undefined || event.ts > last.ts)) last = event;
    }
    return { topic, ...(last && { lastId: last.id, lastTs: last.ts }) };
  }

  /** Fences whoever owns the partitions. An id that the topic does not have is NOT_FOUND. */
  async set(topic: string, group: string, cursor: CursorPosition): Promise<void> {
    const { partitions } = await topicOf(this.store, topic);
    const after = await eventOf(this.store, topic, cursor.lastId);
    const floors = new Array<number>(partitions).fill(0);
    await this.store.groups.start({ topic, group }, floors);
    for (let partition = 0; partition < partitions; partition++) {
      const ts = after?.ts ?? cursor.lastTs ?? 0;
      const floor =
        after?.partition === partition ? after.seq : (await this.store.log.seqAt(topic, partition, ts)) - 1;
      await this.store.groups.move({ topic, group, partition }, { ...START_CURSOR, floor, mark: floor });
    }
  }
}

/** By time, each partition in its own order. */
function merged(pages: readonly (readonly StoredEvent[])[], limit: number): StoredEvent[] {
  const next = pages.map(() => 0);
  const all: StoredEvent[] = [];
  while (all.length < limit) {
    let first = -1;
    let earliest: StoredEvent | undefined;
    for (const [lane, page] of pages.entries()) {
      const event = page[next[lane] as number];
      if (event === undefined || (earliest !== undefined && earliest.ts <= event.ts)) continue;
      first = lane;
      earliest = event;
    }
    if (earliest === undefined) break;
    all.push(earliest);
    next[first] = (next[first] as number) + 1;
  }
  return all;
}

/** Null if none is named; NOT_FOUND for one that the topic does not have. */
async function eventOf(store: Store, topic: string, id: string | undefined): Promise<StoredEvent | null> {
  if (id === undefined) return null;
  const event = await store.log.find(id);
  if (event?.topic === topic) return event;
  throw new BusError("NOT_FOUND", `${topic} has no event ${id}`);
}

function checkPartition(topic: string, partitions: number, partition: number | undefined): void {
  if (partition === undefined) return;
  if (!Number.isSafeInteger(partition) || partition < 0 || partition >= partitions)
    throw new BusError("INVALID_OPTION", `${topic} has partitions 0 to ${partitions - 1}, not ${partition}`);
}

/** A topic that is made here is asked by key, like all that this interface serves. None is made that does not have `partition`. */
async function topicOf(store: Store, name: string, partition?: number): Promise<TopicConfig> {
  checkTopicName(name);
  const known = await store.registry.topic(name);
  if (known !== null) return known;
  // One that was removed comes back with those that it had.
  const removed = (await store.log.headsOf([name])).get(name);
  const partitions = removed?.length ?? store.capabilities.defaultPartitions;
  checkPartition(name, partitions, partition);
  return store.registry.defineTopic({ name, partitions, keyed: true }, { ifAbsent: true });
}
