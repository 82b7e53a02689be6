/**
 * The log in MongoDB where each event is a document: one collection of events, read by the index of their places. What the
 * pages, positions and marks of a partition are follows from its documents alone; there is no counter that could
 * disagree with them.
 */
import type { Document } from "mongodb";
import { type EventDraft, type Seq, StoredEvent } from "../../../model/event.js";
import type { Fence } from "../../../ports/groups.js";
import type { AppendResult, HistoryOptions, Page, PartitionHead, ReadOptions } from "../../../ports/log.js";
import type { Signal } from "../../../ports/store.js";
import { bsonText } from "../bson-json.js";
import type { EventDocument } from "../collections.js";
import type { Connection } from "../connection/connection.js";
import { findAtOnce } from "../connection/single-reply.js";
import { Appender } from "./append.js";
import { storedEvent } from "./event-document.js";
import { EventLookup, type FindElsewhere, type Place } from "./event-lookup.js";
import { appendAndTell, type Target } from "./fenced-append.js";
import type { LayoutLog, TopicByKey } from "./layout-log.js";
import { pageOf } from "./page.js";
import { headOf, headsByTopic, headsPipeline, type PartitionEnds } from "./partition-head.js";
import { DOCUMENTS_AS_BYTES, placeIn, type Row, rowsIn } from "./raw-row.js";
import { REPLY_BYTES, ReadsTogether } from "./reads-together.js";
import { Removal } from "./removal.js";
import { eventMarks, firstReaching } from "./time-search.js";

const MAJORITY = { level: "majority" } as const;
const IN_ORDER = { topic: 1, partition: 1, seq: 1 } as const;
const TIMES = { _id: 0, seq: 1, ts: 1, maxTs: 1, to: 1, gone: 1 } as const;

export interface MongoLogOptions {
  readonly queryablePayloads: boolean;
  /** Tells listeners in this process at once; those elsewhere hear from the server. */
  readonly signal: (signal: Signal) => void;
  /** Finds events of other layouts by their ids. */
  readonly elsewhere: FindElsewhere;
}

export class MongoLog implements LayoutLog {
  readonly #connection: Connection;
  readonly #signal: (signal: Signal) => void;
  readonly #lookup: EventLookup;
  readonly #removal: Removal;
  readonly #appender: Appender;
  readonly #reads: ReadsTogether<Uint8Array>;

  constructor(connection: Connection, options: MongoLogOptions) {
    this.#connection = connection;
    this.#signal = options.signal;
    this.#lookup = new EventLookup(connection, options.elsewhere);
    this.#removal = new Removal(connection);
    this.#appender = new Appender(connection, this.#lookup, {
      queryable: options.queryablePayloads,
      remove: (place, seqs) => this.#removal.remove(place, seqs),
    });
    this.#reads = new ReadsTogether({
      find: (filter, limit) => this.#documents(filter, limit),
      placeOf: placeIn,
      bytesOf: (document) => document.length,
    });
  }

  append(target: Target, drafts: readonly EventDraft[], fence?: Fence): Promise<AppendResult> {
    return appendAndTell(this.#connection, this.#appender, { target, drafts, fence }, this.#signal);
  }

  read(topic: string, partition: number, options: ReadOptions): Promise<Page> {
    return this.#connection.gate.read(() => this.#page({ topic, partition }, options));
  }

  async #page(
    place: Place,
    { after, limit, maxBytes = Number.POSITIVE_INFINITY }: ReadOptions,
  ): Promise<Page> {
    // To MongoDB, a limit of 0 is none.
    if (limit < 1) return { events: [], through: after };
    const rows = await this.#rows(place, { after, limit, maxBytes });
    // A reader at the end that misses nothing need not ask; others may stand in a range that begins below `after`.
    const atEnd = rows.length > 0 && rows.length < limit;
    const whole = atEnd && rows.at(-1)?.seq === after + rows.length;
    return pageOf(rows, {
      after,
      maxBytes,
      removedTo: whole ? after : await this.#rangeAbove(place, after),
    });
  }

  /** Documents after `after`, until there are enough of them or of their bytes. */
  async #rows(place: Place, { after, limit, maxBytes }: Required<ReadOptions>): Promise<Row[]> {
    const rows: Row[] = [];
    for (let bytes = 0; ; ) {
      const last = rows.at(-1)?.seq ?? after;
      const batch = await this.#batch(place, last, limit - rows.length);
      for (const row of rowsIn(batch, place)) {
        rows.push(row);
        if (row instanceof StoredEvent) bytes += row.size;
      }
      // A reply that is not nearly full ends where the log does.
      const replied = batch.reduce((sum, document) => sum + document.length, 0);
      const cut = replied > REPLY_BYTES / 2 && rows.length < limit;
      if (!cut || bytes >= maxBytes) return rows;
    }
  }

  async #batch(place: Place, after: Seq, limit: number): Promise<readonly Uint8Array[]> {
    const filter = { ...place, seq: { $gt: after } };
    const { documents } = await this.#reads.read({ place, after, filter }, async () => {
      const found = await this.#documents(filter, limit);
      return { documents: found, isWhole: found.length < limit };
    });
    return documents.length > limit ? documents.slice(0, limit) : documents;
  }

  /** As bytes. */
  async #documents(filter: Document, limit: number): Promise<readonly Uint8Array[]> {
    const { db, collections } = this.#connection;
    const command = {
      find: collections.events.collectionName,
      filter,
      projection: { body: 0 },
      sort: IN_ORDER,
      limit,
      readConcern: MAJORITY,
    };
    return (await findAtOnce(db, command, DOCUMENTS_AS_BYTES)).firstBatch as readonly Uint8Array[];
  }

  /** End of the removed range that `after + 1` lies in. */
  async #rangeAbove(place: Place, after: Seq): Promise<Seq> {
    return (await this.#lookup.removedRange(place, after + 1, "majority"))?.to ?? after;
  }

  async headsOf(names: readonly string[]): Promise<ReadonlyMap<string, readonly PartitionHead[]>> {
    if (names.length === 0) return new Map();
    const ends = await this.#connection.gate.read(() => {
      const { topics, events } = this.#connection.collections;
      return topics.aggregate<PartitionEnds>(headsPipeline(names, events.collectionName)).toArray();
    });
    return headsByTopic(ends, headOf);
  }

  seqAt(topic: string, partition: number, ts: number): Promise<Seq> {
    return this.#connection.gate.read(() => this.#seqAt({ topic, partition }, ts));
  }

  async #seqAt(place: Place, ts: number): Promise<Seq> {
    const { events } = this.#connection.collections;
    const tail = await this.#appender.tail(place);
    const end = tail.seq + 1;
    if (tail.maxTs < ts) return end;
    const find = { projection: TIMES };
    const marks = eventMarks(events, place, { timeOf: ({ maxTs }) => maxTs, find });
    const first = await firstReaching(ts, end, marks);
    if (first === undefined) return end;
    if (first.ts >= ts && first.to === undefined && first.gone === undefined) return first.seq;
    // The event that raised the maximum was removed since: then the first one after it counts.
    const present = { ts: { $gte: ts }, to: { $exists: false }, gone: { $exists: false } };
    const found = await events.findOne(
      { ...place, seq: { $gte: first.seq }, ...present },
      { ...find, sort: { seq: 1 } },
    );
    return found?.seq ?? end;
  }

  /** Of this layout, the events under these ids that a majority holds and that were not removed. */
  readonly retained: FindElsewhere = (ids, session) => this.#lookup.ownRetained(ids, session);

  find(id: string): Promise<StoredEvent | null> {
    return this.#connection.gate.read(async () => (await this.#lookup.retained([id]))[0] ?? null);
  }

  latestByKey(topic: TopicByKey, keys: readonly string[]): Promise<ReadonlyMap<string, StoredEvent>> {
    return this.#connection.gate.read(async () => {
      const cursor = this.#connection.collections.events.aggregate<{ event: EventDocument }>([
        { $match: { ...byKey(topic), key: { $in: [...new Set(keys)].map(bsonText) } } },
        { $sort: { key: 1, seq: -1, partition: -1 } },
        { $group: { _id: "$key", event: { $first: "$$ROOT" } } },
      ]);
      const newest = new Map<string, StoredEvent>();
      for await (const { event } of cursor) {
        const stored = storedEvent(event);
        if (stored.key !== undefined) newest.set(stored.key, stored);
      }
      return newest;
    });
  }

  history(topic: TopicByKey, key: string, options: HistoryOptions): Promise<readonly StoredEvent[]> {
    return this.#connection.gate.read(async () => {
      if (options.limit < 1) return [];
      const seq = {
        $gt: options.newestFirst ? 0 : (options.after ?? 0),
        ...(options.through === undefined ? undefined : { $lte: options.through }),
      };
      const documents = await this.#connection.collections.events
        .find({ ...byKey(topic), key: bsonText(key), seq }, { projection: { body: 0 } })
        .sort(options.newestFirst ? { seq: -1, partition: -1 } : { seq: 1, partition: 1 })
        .limit(options.limit)
        .toArray();
      return documents.map(storedEvent);
    });
  }

  trim(topic: string, partition: number, through: Seq): Promise<number> {
    return this.#connection.gate.write(() => this.#removal.trim({ topic, partition }, through));
  }

  remove(topic: string, partition: number, seqs: readonly Seq[]): Promise<number> {
    return this.#connection.gate.write(() => this.#removal.remove({ topic, partition }, seqs));
  }
}

/** Only who names the mark is answered by the index of marked events; for others the server walks through the topic. */
function byKey({ name, keyIndex }: TopicByKey): { topic: string; keyed?: true } {
  return keyIndex ? { topic: name, keyed: true } : { topic: name };
}
