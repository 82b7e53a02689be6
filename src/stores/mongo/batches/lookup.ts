/**
 * Finding batches by the ids of their events, and where the floor of a partition is. The floor is always read after what
 * it is to judge: a batch that a late writer put below it never counted, at no moment.
 */
import type { ClientSession, FindOptions, ObjectId, ReadConcernLevel } from "mongodb";
import { addToList } from "../../../model/add-to-list.js";
import type { Seq, StoredEvent } from "../../../model/event.js";
import { ID_BYTES, readUuid } from "../../id-key.js";
import { bsonText } from "../bson-json.js";
import { AskedTogether } from "../connection/asked-together.js";
import type { Connection } from "../connection/connection.js";
import { findAtOnce } from "../connection/single-reply.js";
import { nameOf, type Place } from "../events/event-lookup.js";
import { IdsTogether } from "../events/ids-together.js";
import { type BatchDocument, BYTES, bytesOf, SAID, storedEvents } from "./batch-document.js";
import { rangesOf } from "./ids.js";

/** What the batch at seq 1 tells of its partition. */
export type Anchor = Pick<
  BatchDocument,
  "_id" | "partition" | "floor" | "parts" | "floorTs" | "floorBytes" | "missing" | "removals"
>;

const ANCHOR = {
  ...{ partition: 1, floor: 1, parts: 1, floorTs: 1, floorBytes: 1 },
  ...{ missing: 1, removals: 1 },
} as const;

/** How long to wait until a majority holds what the primary holds already. */
const SETTLE_MS = 10_000;
/** Ranges of ids that are asked for in one query. */
const RANGES_AT_ONCE = 64;

interface Found {
  /** Events under the ids, in batches that count. */
  readonly events: StoredEvent[];
  /** Batches that do not count. */
  readonly leftovers: BatchDocument[];
  readonly batches: number;
}

export class BatchLookup {
  readonly #connection: Connection;
  readonly #retained = new IdsTogether((ids) => this.#findRetained(ids));
  readonly #freed = new IdsTogether((ids) => this.#findOrFree(ids));
  readonly #floors = new AskedTogether((places: readonly Place[]) => this.#readFloors(places));

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async anchor(
    { topic, partition }: Place,
    o: { level?: ReadConcernLevel; session?: ClientSession } = {},
  ): Promise<Anchor | null> {
    const { level, session } = o;
    return await this.#connection.collections.batches.findOne(
      { topic, partition, first: 1 },
      { projection: ANCHOR, ...(level && { readConcern: { level } }), ...(session && { session }) },
    );
  }

  /** Asked for with every page. */
  floor(place: Place): Promise<Seq> {
    return this.#floors.ask(place);
  }

  async #readFloors(places: readonly Place[]): Promise<readonly Seq[]> {
    const { db, collections } = this.#connection;
    const { firstBatch } = await findAtOnce(db, {
      find: collections.batches.collectionName,
      filter: { $or: places.map(({ topic, partition }) => ({ topic, partition, first: 1 })) },
      projection: { _id: 0, topic: 1, partition: 1, floor: 1 },
      limit: places.length,
      readConcern: { level: "majority" },
    });
    const found = firstBatch as (Place & Pick<BatchDocument, "floor">)[];
    const floors = new Map(found.map((anchor) => [nameOf(anchor), anchor.floor]));
    return places.map((place) => floors.get(nameOf(place)) ?? 0);
  }

  /** Of these partitions of a topic, those that have one. */
  async floors(
    topic: string,
    partitions: Iterable<number>,
    session?: ClientSession,
  ): Promise<ReadonlyMap<number, Seq>> {
    const anchors = await this.#connection.collections.batches
      .find(
        { topic, partition: { $in: [...new Set(partitions)] }, first: 1 },
        { projection: { partition: 1, floor: 1 }, ...(session && { session }) },
      )
      .toArray();
    return new Map(anchors.map(({ partition, floor = 0 }) => [partition, floor]));
  }

  /** The events under these ids that a majority holds and that were not removed. */
  retained(ids: readonly string[], session?: ClientSession): Promise<StoredEvent[]> {
    return session === undefined ? this.#retained.find(ids) : this.#findRetained(ids, session);
  }

  async #findRetained(ids: readonly string[], session?: ClientSession): Promise<StoredEvent[]> {
    return (await this.#find(ids, session)).events;
  }

  /** As `retained`; ids that are kept only by something removed are made free, so that they can be published again. */
  retainedOrFree(ids: readonly string[], session?: ClientSession): Promise<StoredEvent[]> {
    return session === undefined ? this.#freed.find(ids) : this.#findOrFree(ids, session);
  }

  async #findOrFree(ids: readonly string[], session?: ClientSession): Promise<StoredEvent[]> {
    const { events, leftovers } = await this.#find(ids, session);
    await this.#free(leftovers, session);
    return events;
  }

  /** Of ids that a bus has just made: whoever else brings one of them has it from somewhere, and so chose it. */
  async repeated(ids: readonly string[], session?: ClientSession): Promise<StoredEvent[]> {
    const options = { projection: BYTES, ...(session && { session }) };
    return (await this.#judge(ids, await this.#chosen(ids, options), session)).events;
  }

  /** As `retainedOrFree`, but waits until what the primary has under these ids is held by a majority, or is gone. */
  async settled(ids: readonly string[]): Promise<StoredEvent[]> {
    const untilMs = performance.now() + SETTLE_MS;
    for (;;) {
      const { events, leftovers, batches } = await this.#find(ids);
      await this.#free(leftovers);
      if (events.length === ids.length || performance.now() > untilMs) return events;
      const present = await this.#candidates(ids, {
        projection: { _id: 1 },
        readConcern: { level: "local" },
      });
      if (present.length <= batches) return events;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async #find(ids: readonly string[], session?: ClientSession): Promise<Found> {
    if (ids.length === 0) return { events: [], leftovers: [], batches: 0 };
    const options = { projection: BYTES, ...(session && { session }) };
    return await this.#judge(ids, await this.#candidates(ids, options), session);
  }

  /** Which events of these batches have the ids, as far as the batches count. */
  async #judge(
    ids: readonly string[],
    documents: readonly BatchDocument[],
    session: ClientSession | undefined,
  ): Promise<Found> {
    const wanted = new Set(ids);
    const events: StoredEvent[] = [];
    const leftovers: BatchDocument[] = [];
    for (const [topic, group] of byTopic(documents)) {
      const judged = await this.counting(topic, group, session);
      leftovers.push(...judged.leftovers);
      for (const batch of judged.counting) {
        events.push(...storedEvents(batch, (event) => wanted.has(event.id)));
      }
    }
    return { events, leftovers, batches: documents.length };
  }

  /**
   * Which of these batches of a topic count. A trim may have cut one since it was read: then what stands above the floor
   * in its place counts.
   */
  async counting(
    topic: string,
    documents: readonly BatchDocument[],
    session?: ClientSession,
  ): Promise<{ readonly counting: BatchDocument[]; readonly leftovers: BatchDocument[] }> {
    const partitions = documents.map(({ partition }) => partition);
    const floors = await this.floors(topic, partitions, session);
    const floorOf = ({ partition }: BatchDocument): Seq => floors.get(partition) ?? 0;
    const counting = documents.filter((batch) => batch.first > floorOf(batch));
    const leftovers = documents.filter((batch) => batch.first <= floorOf(batch));
    const cut = leftovers.filter((batch) => batch.last > floorOf(batch));
    if (cut.length === 0) return { counting, leftovers };
    const known = new Set(counting.map(({ _id }) => String(_id)));
    const $or = cut.map((batch) => ({
      partition: batch.partition,
      first: { $gt: floorOf(batch), $lte: batch.last },
    }));
    const above = await this.#connection.collections.batches
      .find({ topic, $or }, { projection: BYTES, ...(session && { session }) })
      .toArray();
    const others = above.filter(({ _id }) => !known.has(String(_id)));
    return { counting: [...counting, ...(await this.counting(topic, others, session)).counting], leftovers };
  }

  async #chosen(ids: readonly string[], options: FindOptions): Promise<BatchDocument[]> {
    if (ids.length === 0) return [];
    const { batches } = this.#connection.collections;
    return await batches.find({ ids: { $in: ids.map(bsonText) } }, options).toArray();
  }

  /** Batches that have one of the ids. */
  async #candidates(ids: readonly string[], options: FindOptions): Promise<BatchDocument[]> {
    const looking = this.#chosen(ids, options);
    // A transaction does one thing at a time.
    if (options.session !== undefined) await looking;
    const [chosen, made] = await Promise.all([looking, this.#made(ids, options)]);
    const known = new Set(chosen.map(({ _id }) => String(_id)));
    return [...chosen, ...made.filter(({ _id }) => !known.has(String(_id)))];
  }

  /** Many could have one of them: their ids tell which do, and only those are loaded. */
  async #made(ids: readonly string[], options: FindOptions): Promise<BatchDocument[]> {
    const { batches } = this.#connection.collections;
    const ranges = rangesOf(ids);
    const wanted = new Set(ids);
    const holding: ObjectId[] = [];
    for (let i = 0; i < ranges.length; i += RANGES_AT_ONCE) {
      const $or = ranges.slice(i, i + RANGES_AT_ONCE);
      for await (const { _id, uuids } of batches.find({ $or }, { ...options, projection: { uuids: 1 } })) {
        if (uuids !== undefined && holdsOne(bytesOf(uuids), wanted)) holding.push(_id);
      }
    }
    return holding.length === 0 ? [] : await batches.find({ _id: { $in: holding } }, options).toArray();
  }

  /** What a batch below the floor said is forgotten; its place stays taken. */
  async #free(documents: readonly BatchDocument[], session?: ClientSession): Promise<void> {
    if (documents.length === 0) return;
    const _id = { $in: documents.map((document) => document._id) };
    await this.#connection.collections.batches.updateMany(
      { _id },
      [{ $set: { gone: true } }, { $unset: SAID }],
      session === undefined ? {} : { session },
    );
  }
}

function holdsOne(uuids: Uint8Array, wanted: ReadonlySet<string>): boolean {
  for (let at = 0; at < uuids.length; at += ID_BYTES) if (wanted.has(readUuid(uuids, at))) return true;
  return false;
}

function byTopic(documents: readonly BatchDocument[]): Map<string, BatchDocument[]> {
  const groups = new Map<string, BatchDocument[]>();
  for (const document of documents) {
    addToList(groups, document.topic, document);
  }
  return groups;
}
