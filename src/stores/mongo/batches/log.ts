/**
 * The log of topics whose events are kept in batches: one document for each append to a partition. Same promises as for
 * single documents (../log.ts); what is different is told in append.ts, pages.ts and removal.ts.
 */
import type { EventDraft, Seq, StoredEvent } from "../../../model/event.js";
import type { Fence } from "../../../ports/groups.js";
import type { AppendResult, HistoryOptions, Page, PartitionHead, ReadOptions } from "../../../ports/log.js";
import type { Signal } from "../../../ports/store.js";
import type { Connection } from "../connection/connection.js";
import type { FindElsewhere, Place } from "../events/event-lookup.js";
import { appendAndTell, type Target } from "../events/fenced-append.js";
import type { LayoutLog, TopicByKey } from "../events/layout-log.js";
import { headsByTopic } from "../events/partition-head.js";
import { BatchAppender } from "./append.js";
import { BYTES, storedEvents } from "./batch-document.js";
import { type BatchEnds, headOf, headsPipeline } from "./heads.js";
import { KeyWalk } from "./key-walk.js";
import { BatchKeys } from "./keys.js";
import { BatchLookup } from "./lookup.js";
import { Pages } from "./pages.js";
import { BatchRemoval } from "./removal.js";

export interface BatchLogOptions {
  /** Tells listeners in this process at once; those elsewhere hear from the server. */
  readonly signal: (signal: Signal) => void;
  /** Finds events of other layouts by their ids. */
  readonly elsewhere: FindElsewhere;
}

export class BatchLog implements LayoutLog {
  readonly #connection: Connection;
  readonly #signal: (signal: Signal) => void;
  readonly #lookup: BatchLookup;
  readonly #appender: BatchAppender;
  readonly #pages: Pages;
  readonly #keys: BatchKeys;
  readonly #walk: KeyWalk;
  readonly #removal: BatchRemoval;

  constructor(connection: Connection, { signal, elsewhere }: BatchLogOptions) {
    const lookup = new BatchLookup(connection);
    this.#connection = connection;
    this.#signal = signal;
    this.#lookup = lookup;
    this.#pages = new Pages(connection, lookup);
    this.#keys = new BatchKeys(connection, lookup);
    this.#walk = new KeyWalk(connection, lookup);
    this.#removal = new BatchRemoval(connection, lookup);
    this.#appender = new BatchAppender(connection, lookup, {
      elsewhere,
      remove: (place, seqs) => this.#removal.remove(place, seqs),
    });
  }

  append(target: Target, drafts: readonly EventDraft[], fence?: Fence): Promise<AppendResult> {
    return appendAndTell(this.#connection, this.#appender, { target, drafts, fence }, this.#signal);
  }

  /** Of this layout, the events under these ids that a majority holds and that were not removed. */
  readonly retained: FindElsewhere = (ids, session) => this.#lookup.retained(ids, session);

  read(topic: string, partition: number, options: ReadOptions): Promise<Page> {
    return this.#connection.gate.read(async () => {
      if (options.limit < 1) return { events: [], through: options.after };
      return await this.#pages.read({ topic, partition }, options);
    });
  }

  async headsOf(names: readonly string[]): Promise<ReadonlyMap<string, readonly PartitionHead[]>> {
    if (names.length === 0) return new Map();
    const ends = await this.#connection.gate.read(() => {
      const { topics, batches } = this.#connection.collections;
      return topics.aggregate<BatchEnds>(headsPipeline(names, batches.collectionName)).toArray();
    });
    return headsByTopic(ends, headOf);
  }

  seqAt(topic: string, partition: number, ts: number): Promise<Seq> {
    return this.#connection.gate.read(() => this.#seqAt({ topic, partition }, ts));
  }

  /** Binary search for the first batch up to whose end the highest ts is high enough, then a look into it. */
  async #seqAt(place: Place, ts: number): Promise<Seq> {
    const { topic, partition } = place;
    const { batches } = this.#connection.collections;
    const { seq: head, maxTs } = await this.#appender.tail(place);
    if (maxTs < ts) return head + 1;
    const floor = await this.#lookup.floor(place);
    let low = floor + 1;
    let high = head + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const batch = await batches.findOne(
        { topic, partition, first: { $gt: floor, $lte: middle } },
        { sort: { first: -1 }, projection: { first: 1, last: 1, maxTs: 1 } },
      );
      if (batch !== null && batch.maxTs < ts) low = Math.max(middle, batch.last) + 1;
      else high = Math.min(middle, batch?.first ?? low);
    }
    return (await this.#firstSince(place, Math.max(low, floor + 1), ts)) ?? head + 1;
  }

  /** The event that raised the maximum may have been removed since: then the first one after it counts. */
  async #firstSince({ topic, partition }: Place, from: Seq, ts: number): Promise<Seq | undefined> {
    const cursor = this.#connection.collections.batches.find(
      { topic, partition, first: { $gte: from }, topTs: { $gte: ts } },
      { sort: { first: 1 }, projection: BYTES, batchSize: 2 },
    );
    for await (const document of cursor) {
      const [event] = storedEvents(document, (candidate) => candidate.ts >= ts);
      if (event !== undefined) return event.seq;
    }
    return undefined;
  }

  latestByKey(topic: TopicByKey, keys: readonly string[]): Promise<ReadonlyMap<string, StoredEvent>> {
    const { name, keyIndex } = topic;
    const source = keyIndex ? this.#keys : this.#walk;
    return this.#connection.gate.read(() => source.latest(name, keys));
  }

  history(topic: TopicByKey, key: string, options: HistoryOptions): Promise<readonly StoredEvent[]> {
    const { name, keyIndex } = topic;
    const source = keyIndex ? this.#keys : this.#walk;
    return this.#connection.gate.read(() => source.history(name, key, options));
  }

  trim(topic: string, partition: number, through: Seq): Promise<number> {
    return this.#connection.gate.write(() => this.#removal.trim({ topic, partition }, through));
  }

  remove(topic: string, partition: number, seqs: readonly Seq[]): Promise<number> {
    return this.#connection.gate.write(() => this.#removal.remove({ topic, partition }, seqs));
  }
}
