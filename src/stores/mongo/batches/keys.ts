/**
 * Events by key, out of the batches that hold the key. Batches of one partition never overlap, those of several do (a key
 * may be spread over partitions by hand): so batches come by their last seq, and one that is still to come can hold
 * only seqs within MAX_SPAN of its last.
 */
import type { Document, ObjectId, Sort } from "mongodb";
import type { Seq, StoredEvent } from "../../../model/event.js";
import type { HistoryOptions } from "../../../ports/log.js";
import { type BatchCursor, MAX_SPAN } from "../../batch-codec.js";
import { bsonText, plainText } from "../bson-json.js";
import type { Text } from "../collections.js";
import type { Connection } from "../connection/connection.js";
import { type BatchDocument, BYTES, storedEvents } from "./batch-document.js";
import type { BatchLookup } from "./lookup.js";

/** Whole batches are loaded to look into them: not too many at once. */
export const BATCHES_AT_ONCE = 16;
const KEYS_AT_ONCE = 1_000;

/** The two newest batches that hold a key. */
interface Newest {
  readonly key: Text;
  readonly found: readonly { readonly _id: ObjectId; readonly partition: number }[];
}

export class BatchKeys {
  readonly #connection: Connection;
  readonly #lookup: BatchLookup;

  constructor(connection: Connection, lookup: BatchLookup) {
    this.#connection = connection;
    this.#lookup = lookup;
  }

  async latest(topic: string, keys: readonly string[]): Promise<ReadonlyMap<string, StoredEvent>> {
    const latest = new Map<string, StoredEvent>();
    const wanted = [...new Set(keys)];
    for (let i = 0; i < wanted.length; i += KEYS_AT_ONCE) {
      const doubtful = await this.#latestAtOnce(topic, wanted.slice(i, i + KEYS_AT_ONCE), latest);
      for (const key of doubtful) {
        const [event] = await this.history(topic, key, { limit: 1, newestFirst: true });
        if (event !== undefined) latest.set(key, event);
      }
    }
    return latest;
  }

  /** Adds what is certain; returns the keys that need a closer look. */
  async #latestAtOnce(
    topic: string,
    keys: readonly string[],
    latest: Map<string, StoredEvent>,
  ): Promise<string[]> {
    const doubtful: string[] = [];
    const byBatch = new Map<string, { _id: ObjectId; keys: Set<string> }>();
    for (const { key, found } of await this.#newestBatches(topic, keys)) {
      const [first, second] = found;
      if (first === undefined) continue;
      // Of one partition, the newest batch has the newest event; of several, any may.
      if (second !== undefined && second.partition !== first.partition) doubtful.push(plainText(key));
      else {
        const batch = byBatch.get(String(first._id)) ?? { _id: first._id, keys: new Set() };
        byBatch.set(String(first._id), batch);
        batch.keys.add(plainText(key));
      }
    }
    const batches = [...byBatch.values()];
    for (let i = 0; i < batches.length; i += BATCHES_AT_ONCE) {
      const some = batches.slice(i, i + BATCHES_AT_ONCE);
      for (const event of await this.#eventsIn(topic, some)) latest.set(event.key as string, event);
    }
    // Removed since the first look, or below the floor: then an older one may count, in another partition.
    for (const { keys: asked } of batches) doubtful.push(...[...asked].filter((key) => !latest.has(key)));
    return doubtful;
  }

  /** One look into the index for each key, all in one question. */
  async #newestBatches(topic: string, keys: readonly string[]): Promise<Newest[]> {
    const { db, collections } = this.#connection;
    const newest: Document[] = [
      { $match: { topic } },
      { $sort: { last: -1 } },
      { $limit: 2 },
      { $project: { partition: 1 } },
    ];
    return await db
      .aggregate<Newest>([
        { $documents: { $literal: keys.map((key) => ({ key: bsonText(key) })) } },
        {
          $lookup: {
            ...{ from: collections.batches.collectionName, as: "found" },
            ...{ localField: "key", foreignField: "keys", pipeline: newest },
          },
        },
      ])
      .toArray();
  }

  /** Of each batch, the events of its keys, in order. */
  async #eventsIn(
    topic: string,
    wanted: readonly { readonly _id: ObjectId; readonly keys: ReadonlySet<string> }[],
  ): Promise<StoredEvent[]> {
    const keysOf = new Map(wanted.map(({ _id, keys }) => [String(_id), keys]));
    const documents = await this.#connection.collections.batches
      .find({ _id: { $in: wanted.map(({ _id }) => _id) } }, { projection: BYTES })
      .toArray();
    return await this.#counted(topic, documents, ({ _id }) => {
      // Of what is left of a batch that was cut, it is not told here which keys it has; a closer look is.
      const keys = keysOf.get(String(_id));
      return (event) => {
        const key = event.keyBytes?.toString("utf8");
        return key !== undefined && keys?.has(key) === true;
      };
    });
  }

  async history(topic: string, key: string, options: HistoryOptions): Promise<readonly StoredEvent[]> {
    if (options.limit < 1) return [];
    const { limit, newestFirst = false } = options;
    const after = newestFirst ? 0 : (options.after ?? 0);
    const through = options.through ?? Number.MAX_SAFE_INTEGER;
    const bytes = Buffer.from(key, "utf8");
    const isWanted = (event: BatchCursor): boolean =>
      event.seq > after && event.seq <= through && event.keyBytes?.equals(bytes) === true;
    // What is left of a batch that was cut may come a second time.
    const found = new Map<string, StoredEvent>();
    const sort: Sort = { last: newestFirst ? -1 : 1 };
    const cursor = this.#connection.collections.batches.find(
      { topic, keys: bsonText(key), last: { $gt: after, $lt: through + MAX_SPAN } },
      { projection: BYTES, sort, batchSize: Math.min(limit, BATCHES_AT_ONCE) },
    );
    try {
      while (await cursor.hasNext()) {
        const documents = cursor.readBufferedDocuments();
        for (const event of await this.#counted(topic, documents, () => isWanted)) {
          found.set(`${event.partition}/${event.seq}`, event);
        }
        const { last } = documents.at(-1) as BatchDocument;
        const settled = [...found.values()].filter(({ seq }) => isSettled(seq, last, newestFirst));
        if (settled.length >= limit) break;
      }
    } finally {
      await cursor.close();
    }
    return firstOf([...found.values()], options);
  }

  /** The events that are asked for of each batch that counts. */
  async #counted(
    topic: string,
    documents: readonly BatchDocument[],
    wantedOf: (document: BatchDocument) => (event: BatchCursor) => boolean,
  ): Promise<StoredEvent[]> {
    const { counting } = await this.#lookup.counting(topic, documents);
    return counting.flatMap((document) => storedEvents(document, wantedOf(document)));
  }
}

/** Whether no batch that comes after one that ends at `last` can hold an event before this one. */
function isSettled(seq: Seq, last: Seq, newestFirst: boolean): boolean {
  return newestFirst ? seq > last : seq <= last - MAX_SPAN;
}

/** Those of a history that were asked for, in its order. */
export function firstOf(
  events: StoredEvent[],
  { limit, newestFirst = false }: HistoryOptions,
): StoredEvent[] {
  const direction = newestFirst ? -1 : 1;
  events.sort((a, b) => direction * (a.seq - b.seq || a.partition - b.partition));
  return events.slice(0, limit);
}
