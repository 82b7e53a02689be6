/**
 * Finding events by id, and telling whether a place in a partition was removed. An event that lies in a removed range
 * is a leftover of an interrupted removal, or of a writer that came too late; it counts as gone.
 */
import { type ClientSession, type Document, ObjectId, type ReadConcernLevel } from "mongodb";
import { addToList } from "../../../model/add-to-list.js";
import type { Seq, StoredEvent } from "../../../model/event.js";
import { bsonText, plainText } from "../bson-json.js";
import type { EventDocument, RangePart } from "../collections.js";
import type { Connection } from "../connection/connection.js";
import { type FindCommand, findAtOnce } from "../connection/single-reply.js";
import { storedEvent } from "./event-document.js";
import { IdsTogether } from "./ids-together.js";

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

export function nameOf({ topic, partition }: Place): string {
  return `${topic}/${partition}`;
}

/** Removed seqs, both ends included. */
export interface RemovedRange {
  readonly from: Seq;
  readonly to: Seq;
  readonly parts?: readonly RangePart[];
}

const AS_EVENT = { _id: 0, seq: 1, to: 1, gone: 1 };
const AS_RANGE = { _id: 0, seq: 1, to: 1, parts: 1 };

/** How long to wait until a majority holds what the primary holds already. */
const SETTLE_MS = 10_000;

/** Events under these ids that are kept in another layout: an id is unique in the store (P3). */
export type FindElsewhere = (ids: readonly string[], session?: ClientSession) => Promise<StoredEvent[]>;

export class EventLookup {
  readonly #connection: Connection;
  readonly #elsewhere: FindElsewhere;
  readonly #retained = new IdsTogether((ids) => this.#findRetained(ids));
  readonly #freed = new IdsTogether((ids) => this.#findOrFree(ids));

  constructor(connection: Connection, elsewhere: FindElsewhere) {
    this.#connection = connection;
    this.#elsewhere = elsewhere;
  }

  /** The events under these ids that a majority holds and that were not removed. */
  async retained(ids: readonly string[]): Promise<StoredEvent[]> {
    return (await Promise.all([this.ownRetained(ids), this.#elsewhere(ids)])).flat();
  }

  /** The same, of single documents only. */
  ownRetained(ids: readonly string[], session?: ClientSession): Promise<StoredEvent[]> {
    return session === undefined ? this.#retained.find(ids) : this.#findRetained(ids, session);
  }

  async #findRetained(ids: readonly string[], session?: ClientSession): Promise<StoredEvent[]> {
    return (await this.#sort(ids, session)).retained.map(storedEvent);
  }

  /** As `retained`; ids that are kept only by something removed are made free, so that they can be published again. */
  async retainedOrFree(ids: readonly string[], session?: ClientSession): Promise<StoredEvent[]> {
    if (ids.length === 0) return [];
    // A transaction does one thing at a time.
    const elsewhere = session === undefined ? this.#elsewhere(ids) : await this.#elsewhere(ids, session);
    const own = session === undefined ? this.#freed.find(ids) : this.#findOrFree(ids, session);
    return (await Promise.all([own, elsewhere])).flat();
  }

  async #findOrFree(ids: readonly string[], session?: ClientSession): Promise<StoredEvent[]> {
    const { retained, leftovers } = await this.#sort(ids, session);
    await this.free(leftovers, session);
    return retained.map(storedEvent);
  }

  /** As `retainedOrFree`, but waits until what the primary has under these ids is held by a majority, or is gone. */
  async settled(ids: readonly string[]): Promise<StoredEvent[]> {
    const untilMs = performance.now() + SETTLE_MS;
    const _id = { $in: ids.map(bsonText) };
    const { events } = this.#connection.collections;
    for (;;) {
      const found = await this.retainedOrFree(ids);
      if (found.length === ids.length || performance.now() > untilMs) return found;
      const present = await events.countDocuments({ _id }, { readConcern: { level: "local" } });
      if (present <= found.length) return found;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** It may run once per append. */
  async isEventAt(id: string, seq: Seq): Promise<boolean> {
    const [document] = await this.#first({ _id: bsonText(id) }, { projection: AS_EVENT }, "local");
    return document?.seq === seq && !isRemoved(document);
  }

  /** The removed range that `seq` lies in, or null. */
  async removedRange(place: Place, seq: Seq, level: ReadConcernLevel): Promise<RemovedRange | null> {
    const { topic, partition } = place;
    const filter = { topic, partition, to: { $gte: seq } };
    const [document] = await this.#first(filter, { sort: { to: 1 }, projection: AS_RANGE }, level);
    if (document?.to === undefined || document.seq > seq) return null;
    return { from: document.seq, to: document.to, parts: document.parts ?? [] };
  }

  async #first(
    filter: Document,
    how: Pick<FindCommand, "sort" | "projection">,
    level: ReadConcernLevel,
  ): Promise<EventDocument[]> {
    const { db, collections } = this.#connection;
    const find = collections.events.collectionName;
    const command = { find, filter, ...how, limit: 1, readConcern: { level } };
    return (await findAtOnce(db, command)).firstBatch;
  }

  async #sort(
    ids: readonly string[],
    session?: ClientSession,
  ): Promise<{ retained: EventDocument[]; leftovers: EventDocument[] }> {
    if (ids.length === 0) return { retained: [], leftovers: [] };
    const documents = await this.#connection.collections.events
      .find({ _id: { $in: ids.map(bsonText) } }, within(session))
      .toArray();
    const retained: EventDocument[] = [];
    const leftovers = documents.filter(isRemoved);
    for (const group of byPlace(documents.filter((document) => !isRemoved(document)))) {
      const ranges = await this.#rangesAround(group, session);
      for (const document of group) {
        const gone = ranges.some(({ from, to }) => from <= document.seq && document.seq <= to);
        (gone ? leftovers : retained).push(document);
      }
    }
    return { retained, leftovers };
  }

  /** Removed ranges that any of these events of one partition could lie in. */
  async #rangesAround(
    documents: readonly EventDocument[],
    session: ClientSession | undefined,
  ): Promise<RemovedRange[]> {
    const { topic, partition } = documents[0] as EventDocument;
    const ranges: EventDocument[] = [];
    for (const { first, last } of runsOf(documents.map(({ seq }) => seq))) {
      const found = await this.#connection.collections.events
        .find(
          { topic, partition, to: { $gte: first } },
          { projection: { _id: 0, seq: 1, to: 1 }, ...within(session) },
        )
        .sort({ to: 1 })
        .limit(mostRanges(first, last))
        .toArray();
      ranges.push(...found);
    }
    return ranges.map(({ seq, to }) => ({ from: seq, to: to as Seq }));
  }

  /** What has the id of a removed event takes another one: its place stays taken. */
  async free(documents: readonly EventDocument[], session?: ClientSession): Promise<void> {
    if (documents.length === 0) return;
    const rename = (inside?: ClientSession): Promise<void> => this.#rename(documents, inside);
    if (session !== undefined) await rename(session);
    else if (this.#connection.replicaSet) await this.#connection.transact(rename);
    else await rename();
  }

  async #rename(documents: readonly EventDocument[], session: ClientSession | undefined): Promise<void> {
    const { events } = this.#connection.collections;
    const seqs = new Map(documents.map(({ _id, seq }) => [plainText(_id), seq]));
    const _id = { $in: documents.map((document) => document._id) };
    const present = await events.find({ _id }, within(session)).toArray();
    // An id that was freed by somebody else may stand for a new event by now.
    const same = present.filter((document) => seqs.get(plainText(document._id)) === document.seq);
    if (same.length === 0) return;
    await events.deleteMany({ _id: { $in: same.map((document) => document._id) } }, within(session));
    await events.insertMany(same.map(placeOf), within(session));
  }
}

/**
 * How many ranges there are, at most, that end in [first, last], and the next one: of those that end later, only that can begin
 * there. Asked for where they begin as well, the server would go through all that end later.
 */
export function mostRanges(first: Seq, last: Seq): number {
  return last - first + 2;
}

/** Seqs that lie further apart are looked at by themselves. */
const NEAR = 1_024;

function runsOf(seqs: readonly Seq[]): { first: Seq; last: Seq }[] {
  const runs: { first: Seq; last: Seq }[] = [];
  for (const seq of seqs.toSorted((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run !== undefined && seq - run.last <= NEAR) run.last = seq;
    else runs.push({ first: seq, last: seq });
  }
  return runs;
}

/** A range as it is, or what is left of a removed event, under an id that nobody publishes. */
function placeOf(document: EventDocument): EventDocument {
  if (document.to !== undefined) return { ...document, _id: new ObjectId() };
  const { topic, partition, seq, ts, maxTs, sumBytes, at } = document;
  const place = { _id: new ObjectId(), topic, partition, seq, ts, maxTs, sumBytes, gone: true } as const;
  return at === undefined ? place : { ...place, at };
}

function isRemoved({ to, gone }: Pick<EventDocument, "to" | "gone">): boolean {
  return to !== undefined || gone === true;
}

function byPlace(documents: readonly EventDocument[]): Iterable<EventDocument[]> {
  const groups = new Map<string, EventDocument[]>();
  for (const document of documents) {
    const name = `${document.topic}/${document.partition}`;
    addToList(groups, name, document);
  }
  return groups.values();
}

function within(session: ClientSession | undefined): { session?: ClientSession } {
  return session === undefined ? {} : { session };
}
