/**
 * The log: what every store must do with events. A driver author's obligations stand in the comments; the
 * conformance suite checks them. Drivers need not batch (the publish path does), check names and sizes (the bus
 * does), or compare payloads of duplicates (the publish path does).
 */

import type { BusError } from "../model/errors.js";
import type { EventDraft, Seq, StoredEvent } from "../model/event.js";
import type { Fence } from "./groups.js";

/** What became of the drafts of an append. */
export interface AppendResult {
  /**
   * For each draft, in order, the event as it stands in the log: the new one, or the first one under that id. Shorter
   * than the drafts if the append stopped early; `error` then says why, and the rest had no effect or is unknown.
   */
  readonly events: readonly StoredEvent[];
  /** Indexes of drafts whose id was there before (in the store, or earlier in the same call). */
  readonly duplicates: ReadonlySet<number>;
  readonly error?: BusError;
}

/** From where, and how much. */
export interface ReadOptions {
  /** Events with seq greater than this. */
  readonly after: Seq;
  readonly limit: number;
  /** Stop once this many bytes are gathered; at least one event comes if there is one. */
  readonly maxBytes?: number;
}

/** Some events of a partition, and how far they reach. */
export interface Page {
  /** In seq order. */
  readonly events: readonly StoredEvent[];
  /**
   * The page covers (after, through]: a seq in there without an event was removed by retention or compaction.
   * At the end of the log it is the head. Never less than `after`.
   */
  readonly through: Seq;
}

/** Where a partition begins and ends, and how much is in it. */
export interface PartitionHead {
  readonly partition: number;
  /** Newest committed seq; 0 if none ever was. Trimming does not lower it. */
  readonly head: Seq;
  /** Lowest seq that may still be present: everything below was removed. 1 at first; at most head + 1. */
  readonly low: Seq;
  /** Events and bytes present now; bytes may be an estimate. */
  readonly events: number;
  readonly bytes: number;
}

/** Which events of a key are wanted. */
export interface HistoryOptions {
  readonly after?: Seq;
  /** Only events whose seq is at most this. */
  readonly through?: Seq;
  readonly limit: number;
  /** Newest first. Then `after` is meaningless and must be absent. */
  readonly newestFirst?: boolean;
}

/** Events by partition and seq, by id, and by key. */
export interface Log {
  /**
   * Adds drafts in their order at the end of one partition, all or a prefix, durably before it returns (P1). The
   * partition exists: topics are defined before they are written. Seqs are dense (P2), also among processes that
   * append at once. An id that the store holds, in whatever topic, is not added again (P3). With a fence, nothing is
   * added unless that lease is still held, decided in the same atomic step (P7): else it throws LEASE_LOST.
   */
  append(
    topic: string,
    partition: number,
    drafts: readonly EventDraft[],
    fence?: Fence,
  ): Promise<AppendResult>;

  /**
   * Optional. As `append`, if that needs nobody else and takes no longer than a short sync (P1): it has happened when this
   * returns. Undefined if it has to be asked for by `append`; nothing was done then.
   */
  appendNow?(topic: string, partition: number, drafts: readonly EventDraft[]): AppendResult | undefined;

  /**
   * Optional. The draft waits while an append is under way: a driver may make what it will need of it meanwhile. Most
   * likely it is appended next, to `topic`, right behind `before`, which was prepared as well if it waited like this; without
   * one it is the first of its append.
   */
  prepare?(draft: EventDraft, topic: string, before?: EventDraft): void;

  /** Never skips a committed event (P2). A topic or partition that was never written is an empty one. */
  read(topic: string, partition: number, options: ReadOptions): Promise<Page>;

  /** One entry for each partition of a defined topic, in order; NOT_FOUND for an undefined one. */
  heads(topic: string): Promise<readonly PartitionHead[]>;

  /**
   * The same of several topics, by name; what is not defined is left out. One question, or a few, however many topics
   * there are: whoever waits for news asks it again and again.
   */
  headsOf(topics: readonly string[]): Promise<ReadonlyMap<string, readonly PartitionHead[]>>;

  /** Lowest present seq whose ts is at least `ts`; head + 1 if there is none. Not a scan of the log. */
  seqAt(topic: string, partition: number, ts: number): Promise<Seq>;

  /** The event under this id, if it is retained. */
  find(id: string): Promise<StoredEvent | null>;

  /**
   * The newest event of each key that has one. By index for topics with `keyed` or `compaction`. Events of a key that
   * was spread over partitions by hand are ordered by seq, then partition.
   */
  latestByKey(topic: string, keys: readonly string[]): Promise<ReadonlyMap<string, StoredEvent>>;

  /** Events of one key in seq order, by index for topics with `keyed` or `compaction`. */
  history(topic: string, key: string, options: HistoryOptions): Promise<readonly StoredEvent[]>;

  /**
   * Optional, for drivers that have an index by key only for topics that were first defined with `keyed` or `compaction`:
   * false if both questions above walk through the topic. Whoever has many keys to ask for walks once instead.
   */
  hasKeyIndex?(topic: string): Promise<boolean>;

  /** Removes what is there up to and including `through`; the head stays. Returns how many events went. */
  trim(topic: string, partition: number, through: Seq): Promise<number>;

  /** Removes these events in one atomic step (compaction, P11); seqs that are not there are ignored. */
  remove(topic: string, partition: number, seqs: readonly Seq[]): Promise<number>;
}
