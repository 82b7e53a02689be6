/**
 * The log in memory: segments per partition, one index of ids for the whole store (P3), an index by key for topics
 * that are asked by key. An append never waits, so seqs are dense by construction (P2). Events keep the body they came
 * with: no JSON text is made here.
 */
import { BusError } from "../../model/errors.js";
import { type EventDraft, type Seq, StoredEvent } from "../../model/event.js";
import type { Fence } from "../../ports/groups.js";
import type { AppendResult, HistoryOptions, Log, Page, PartitionHead, ReadOptions } from "../../ports/log.js";
import { headsOfOne } from "../heads-of-one.js";
import { IdIndex } from "./id-index.js";
import { KeyIndex } from "./key-index.js";
import type { Lifetime } from "./lifetime.js";
import { type Kept, PartitionLog } from "./partition-log.js";
import type { Signals } from "./signals.js";

const NO_DUPLICATES: ReadonlySet<number> = new Set();

export interface MemoryLogOptions {
  readonly lifetime: Lifetime;
  readonly signals: Signals;
  /** Number of partitions of a topic that is defined. */
  readonly partitionsOf: (topic: string) => number | undefined;
  /** Throws LEASE_LOST unless the lease is held. */
  readonly fence: (fence: Fence) => void;
  readonly maxEvents: number;
}

export class MemoryLog implements Log {
  readonly #options: MemoryLogOptions;
  readonly #lifetime: Lifetime;
  readonly #topics = new Map<string, PartitionLog[]>();
  readonly #ids = new IdIndex();
  readonly #keys = new Map<string, KeyIndex>();

  constructor(options: MemoryLogOptions) {
    this.#options = options;
    this.#lifetime = options.lifetime;
  }

  async append(
    topic: string,
    partition: number,
    drafts: readonly EventDraft[],
    fence?: Fence,
  ): Promise<AppendResult> {
    this.#lifetime.check();
    if (fence !== undefined) this.#options.fence(fence);
    const log = this.#writable(topic, partition);
    const before = log.head;
    const result = this.#add(log, topic, partition, drafts);
    if (log.head > before) {
      this.#options.signals.send({ type: "appended", topic, partition, head: log.head });
    }
    return result;
  }

  async read(topic: string, partition: number, options: ReadOptions): Promise<Page> {
    this.#lifetime.check();
    return this.#partition(topic, partition)?.read(options) ?? { events: [], through: options.after };
  }

  async heads(topic: string): Promise<readonly PartitionHead[]> {
    return headsOfOne(await this.headsOf([topic]), topic);
  }

  async headsOf(topics: readonly string[]): Promise<ReadonlyMap<string, readonly PartitionHead[]>> {
    this.#lifetime.check();
    const found = new Map<string, readonly PartitionHead[]>();
    for (const topic of topics) {
      const length = this.#options.partitionsOf(topic);
      if (length === undefined) continue;
      found.set(
        topic,
        Array.from({ length }, (_, partition) => headOf(partition, this.#partition(topic, partition))),
      );
    }
    return found;
  }

  /** How many events were ever appended to the topic. */
  written(topic: string): number {
    return this.#topics.get(topic)?.reduce((sum, { head }) => sum + head, 0) ?? 0;
  }

  async seqAt(topic: string, partition: number, ts: number): Promise<Seq> {
    this.#lifetime.check();
    return this.#partition(topic, partition)?.seqAt(ts) ?? 1;
  }

  async find(id: string): Promise<StoredEvent | null> {
    this.#lifetime.check();
    const kept = this.#ids.get(id);
    return kept === undefined ? null : this.#whole(kept);
  }

  async latestByKey(topic: string, keys: readonly string[]): Promise<ReadonlyMap<string, StoredEvent>> {
    this.#lifetime.check();
    const index = this.#keyIndex(topic);
    const newest = new Map<string, StoredEvent>();
    for (const key of keys) {
      const kept = index.newest(key);
      if (kept !== undefined) newest.set(key, this.#whole(kept));
    }
    return newest;
  }

  async history(topic: string, key: string, options: HistoryOptions): Promise<readonly StoredEvent[]> {
    this.#lifetime.check();
    return this.#keyIndex(topic)
      .history(key, options)
      .map((kept) => this.#whole(kept));
  }

  async trim(topic: string, partition: number, through: Seq): Promise<number> {
    this.#lifetime.check();
    const log = this.#partition(topic, partition);
    return log === undefined ? 0 : this.#forget(topic, log, log.trim(through));
  }

  async remove(topic: string, partition: number, seqs: readonly Seq[]): Promise<number> {
    this.#lifetime.check();
    const log = this.#partition(topic, partition);
    return log === undefined ? 0 : this.#forget(topic, log, log.remove(seqs));
  }

  #add(log: PartitionLog, topic: string, partition: number, drafts: readonly EventDraft[]): AppendResult {
    const index = this.#keys.get(topic);
    const events = new Array<StoredEvent>(drafts.length);
    let duplicates: Set<number> | undefined;
    for (let i = 0; i < drafts.length; i++) {
      const draft = drafts[i] as EventDraft;
      const known = draft.freshId ? undefined : this.#ids.get(draft.id);
      if (known !== undefined) {
        duplicates ??= new Set();
        duplicates.add(i);
        events[i] = this.#whole(known);
        continue;
      }
      if (this.#ids.size >= this.#options.maxEvents) {
        events.length = i;
        return { events, duplicates: duplicates ?? NO_DUPLICATES, error: this.#full() };
      }
      const event = new StoredEvent(topic, partition, log.head + 1, draft);
      const kept = log.push(event);
      this.#ids.add(log, kept, draft.freshId);
      index?.add(kept);
      events[i] = event;
    }
    return { events, duplicates: duplicates ?? NO_DUPLICATES };
  }

  #full(): BusError {
    const { maxEvents } = this.#options;
    return new BusError(
      "STORE_FULL",
      `the memory store holds ${maxEvents} events, as many as it may; give topics a retention, or raise maxEvents`,
      { details: { maxEvents } },
    );
  }

  #partition(topic: string, partition: number): PartitionLog | undefined {
    return this.#topics.get(topic)?.[partition];
  }

  #writable(topic: string, partition: number): PartitionLog {
    let partitions = this.#topics.get(topic);
    if (partitions === undefined) {
      partitions = [];
      this.#topics.set(topic, partitions);
    }
    while (partitions.length <= partition) partitions.push(new PartitionLog());
    return partitions[partition] as PartitionLog;
  }

  #keyIndex(topic: string): KeyIndex {
    const present = this.#keys.get(topic);
    if (present !== undefined) return present;
    const partitions = this.#topics.get(topic);
    const index = new KeyIndex(partitions ?? []);
    // A topic that was never written is not remembered: names that callers make up must not fill the memory.
    if (partitions !== undefined) this.#keys.set(topic, index);
    return index;
  }

  /** The event that is kept in this form. */
  #whole(kept: Kept): StoredEvent {
    return kept instanceof StoredEvent
      ? kept
      : (this.#partition(kept.topic, kept.partition)?.at(kept.seq) as StoredEvent);
  }

  #forget(topic: string, log: PartitionLog, events: readonly Kept[]): number {
    this.#ids.forget(log, events);
    this.#keys.get(topic)?.forget(events);
    return events.length;
  }
}

function headOf(partition: number, log: PartitionLog | undefined): PartitionHead {
  const { head, low, events, bytes } = log ?? { head: 0, low: 1, events: 0, bytes: 0 };
  return { partition, head, low, events, bytes };
}
