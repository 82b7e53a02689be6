/**
 * Appending: dense seqs (P2) by ordered inserts under a unique index, without a counter and without a transaction.
 *
 * A writer inserts at tail + 1, tail + 2 … A seq that is taken means that another writer was there: look where the tail
 * is now, renumber the rest, go on. An id that is taken is P3. An insert whose outcome is unknown is resolved by looking
 * for the ids: since ids are unique, inserting them once more can never double them (P1, P3).
 *
 * A tail may be remembered for long (by a process that slept), and removal frees seqs, though not soon (trust.ts). So
 * after an insert that came late, and before it is acknowledged, the writer makes sure that its predecessor is still
 * there; or that its own seqs lie in no removed range; or that they were removed after they were inserted, by the server's
 * logical time. Else they count as removed already, so they are taken out and appended again at the true end.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ClientSession, Document, Timestamp } from "mongodb";
import type { BusError } from "../../../model/errors.js";
import type { EventDraft, Seq } from "../../../model/event.js";
import type { AppendResult } from "../../../ports/log.js";
import type { EventDocument } from "../collections.js";
import type { Connection } from "../connection/connection.js";
import { busError } from "../connection/errors.js";
import { findAtOnce } from "../connection/single-reply.js";
import { AppendBatch } from "./append-batch.js";
import {
  type Before,
  type DocumentExtras,
  documentAfter,
  EMPTY_TAIL,
  metaSize,
  type Tail,
  tailOf,
} from "./event-document.js";
import { type EventLookup, nameOf, type Place } from "./event-lookup.js";
import type { Target } from "./fenced-append.js";
import { type Inserted, insertByCommand, insertByDriver } from "./insert-outcome.js";
import { COMMAND_CHARACTERS, InsertsTogether } from "./inserts-together.js";
import { removedSince } from "./removed-ranges.js";
import { isTrusted, laterOf, STAMP } from "./trust.js";
import { waitForTurn } from "./turn.js";

/** How long an append goes on through failovers before it gives up: an election and a bit. */
const PATIENCE_MS = 20_000;
/** Tails remembered at once; forgetting one costs a look. */
const MAX_TAILS = 20_000;

/** How the end of a partition is asked for: in a transaction, or as of a time of the server's. */
interface Asking {
  readonly session?: ClientSession;
  readonly after?: Timestamp;
}

export class Appender {
  readonly #connection: Connection;
  readonly #lookup: EventLookup;
  readonly #removeAgain: (place: Place, seqs: readonly Seq[]) => Promise<unknown>;
  readonly #queryable: boolean;
  readonly #inserts: InsertsTogether;
  readonly #tails = new Map<string, Tail>();
  /** The latest of the server's logical times that an insert was answered at. */
  #seen: Timestamp | undefined;

  constructor(
    connection: Connection,
    lookup: EventLookup,
    o: { queryable: boolean; remove: (place: Place, seqs: readonly Seq[]) => Promise<unknown> },
  ) {
    this.#connection = connection;
    this.#lookup = lookup;
    this.#queryable = o.queryable;
    this.#removeAgain = o.remove;
    this.#inserts = new InsertsTogether((documents, maxMs) =>
      insertByCommand(connection.db, connection.collections.events.collectionName, documents, maxMs),
    );
  }

  async append(target: Target, drafts: readonly EventDraft[]): Promise<AppendResult> {
    const batch = new AppendBatch(drafts);
    const untilMs = performance.now() + PATIENCE_MS;
    for (let round = 0; ; round++) {
      let trouble: BusError | undefined;
      try {
        if (round === 0) batch.found(await this.#lookup.retainedOrFree(batch.unsureIds()));
        if (batch.waiting.length > 0) trouble = await this.#insertWaiting(target, batch);
      } catch (error) {
        this.#tails.delete(nameOf(target.place));
        trouble = busError(error, batch.inDoubt ? "possible" : "none");
        if (batch.inDoubt) batch.doubt();
      }
      if (batch.waiting.length === 0) return batch.result();
      if (trouble === undefined) continue;
      // The driver has waited for a server already. What is in doubt is worth more patience than what never began.
      if (!batch.inDoubt || trouble.code === "CLOSED" || performance.now() > untilMs)
        return batch.result(trouble);
      // Writers that are in the way of an election spread out.
      await pause(2 + Math.random() * 38);
    }
  }

  /** One round: as many of the waiting drafts as go in. Returns what keeps the rest out, if it is more than a rival. */
  async #insertWaiting(target: Target, batch: AppendBatch): Promise<BusError | undefined> {
    const { place } = target;
    const name = nameOf(place);
    const tail = this.#tails.get(name) ?? (await this.#learnTail(place, batch));
    const drafts = batch.waitingDrafts();
    const documents = this.#documentsAfter(tail, target, drafts);
    batch.inDoubt = true;
    const since = this.#seen;
    const { count, stop, error, at } = await this.#insert(name, documents, drafts);
    this.#seen = laterOf(this.#seen, at);
    if (stop !== "none" && stop !== "id taken") this.#tails.delete(name);
    if (stop === "unknown") {
      batch.doubt();
      batch.confirmed(await this.#lookup.settled(batch.waitingIds()));
      return busError(error, "possible");
    }
    if (count > 0) {
      const placed = documents.slice(0, count);
      if (await this.#follows(place, tail, at)) batch.placed(count, tail.seq, place);
      else {
        this.#tails.delete(name);
        await this.#takeOut(place, placed);
        batch.inDoubt = false;
        return undefined;
      }
      if (stop !== "seq taken") this.#remember(place, { ...tailOf(placed.at(-1) as EventDocument), since });
    }
    batch.inDoubt = false;
    batch.lostAt = stop === "seq taken" ? at : undefined;
    if (stop === "seq taken") batch.losses++;
    if (stop === "id taken") batch.found(await this.#lookup.settled(batch.waitingIds().slice(0, 1)));
    return stop === "refused" ? busError(error, "none") : undefined;
  }

  async #insert(
    name: string,
    documents: readonly EventDocument[],
    drafts: readonly EventDraft[],
  ): Promise<Inserted> {
    const characters = charactersOf(documents, drafts);
    if (!this.#queryable && characters <= COMMAND_CHARACTERS)
      return await this.#inserts.insert(name, documents, characters);
    const { client, collections } = this.#connection;
    return await insertByDriver(client, collections.events, documents);
  }

  /** Whether what was inserted after `tail`, no later than `at`, stands where nothing had been removed by then. */
  async #follows(place: Place, tail: Tail, at: Timestamp | undefined): Promise<boolean> {
    // The document at seq 1 never goes, so that nobody can take that place a second time.
    if (tail.seq === 0 || isTrusted(tail.since, at)) return true;
    if (tail.id !== null && (await this.#lookup.isEventAt(tail.id, tail.seq))) return true;
    const range = await this.#lookup.removedRange(place, tail.seq + 1, "local");
    return range === null || removedSince(range, tail.seq + 1, at);
  }

  /**
   * Undoes an insert into removed seqs: what lies beyond the range is removed as well, so that the order of the batch
   * holds, and all of it gives up its ids.
   */
  async #takeOut(place: Place, documents: readonly EventDocument[]): Promise<void> {
    const first = documents[0] as EventDocument;
    const range = await this.#lookup.removedRange(place, first.seq, "local");
    const beyond = documents.filter(({ seq }) => seq > (range?.to ?? 0)).map(({ seq }) => seq);
    await this.#removeAgain(place, beyond);
    await this.#lookup.free(documents);
  }

  /**
   * The end of the partition, as a majority holds it: a writer that counted on more could leave a hole behind when the
   * primary changes. After losing a race that includes what was in the way.
   */
  async #learnTail(place: Place, batch: AppendBatch): Promise<Tail> {
    const { lostAt, losses, waiting } = batch;
    if (lostAt === undefined) return await this.tail(place);
    const turnAt = await waitForTurn(this.#connection, place, { size: waiting.length, losses });
    return await this.tail(place, { after: laterOf(lostAt, turnAt) as Timestamp });
  }

  async tail(place: Place, asking: Asking = {}): Promise<Tail> {
    const last = await this.#first({ ...place }, { seq: -1 }, asking);
    if (last === undefined) return EMPTY_TAIL;
    if (last.to !== undefined) return tailOf(last);
    // What a late writer left in a removed range is not the end.
    const range = await this.#first({ ...place, to: { $gte: last.seq } }, { to: -1 }, asking);
    return tailOf(range ?? last);
  }

  async #first(
    filter: Document,
    sort: Record<string, -1>,
    { session, after }: Asking,
  ): Promise<EventDocument | undefined> {
    const { db, collections } = this.#connection;
    const { events } = collections;
    const projection = { seq: 1, to: 1, maxTs: 1, sumBytes: 1, at: 1 };
    if (session !== undefined)
      return (await events.findOne(filter, { session, sort, projection })) ?? undefined;
    const readConcern = { level: "majority", ...(after && { afterClusterTime: after }) };
    const find = events.collectionName;
    return (await findAtOnce(db, { find, filter, sort, projection, limit: 1, readConcern })).firstBatch[0];
  }

  /** In a transaction of the caller's: the tail is read in it, so nothing can have moved. */
  async appendIn(
    session: ClientSession,
    target: Target,
    drafts: readonly EventDraft[],
  ): Promise<AppendResult> {
    const { place } = target;
    const batch = new AppendBatch(drafts);
    batch.found(await this.#lookup.retainedOrFree(batch.unsureIds(), session));
    if (batch.waiting.length > 0) {
      const tail = await this.tail(place, { session });
      const documents = this.#documentsAfter(tail, target, batch.waitingDrafts());
      await this.#connection.collections.events.insertMany(documents, { ordered: true, session });
      batch.placed(documents.length, tail.seq, place);
    }
    return batch.result();
  }

  #documentsAfter(
    tail: Tail,
    { place, keyed }: Target,
    drafts: readonly EventDraft[],
  ): readonly EventDocument[] {
    return documentsAfter(tail, place, drafts, { queryable: this.#queryable, keyed });
  }

  #remember(place: Place, tail: Tail): void {
    if (this.#tails.size >= MAX_TAILS) this.#tails.clear();
    this.#tails.set(nameOf(place), tail);
  }
}

function documentsAfter(
  tail: Tail,
  place: Place,
  drafts: readonly EventDraft[],
  extras: DocumentExtras,
): EventDocument[] {
  let last: Before = tail;
  const documents = drafts.map((draft) => {
    const document = documentAfter(last, place, draft, extras);
    last = document;
    return document;
  });
  const end = documents.at(-1);
  if (end !== undefined) documents[documents.length - 1] = { ...end, last: true, at: STAMP };
  return documents;
}

/** About so many, at least. */
function charactersOf(documents: readonly EventDocument[], drafts: readonly EventDraft[]): number {
  const first = documents[0] as EventDocument;
  const last = documents.at(-1) as EventDocument;
  let characters = last.sumBytes - first.sumBytes + (first.payload?.length ?? 0);
  for (const { meta } of drafts) if (meta !== undefined) characters += metaSize(meta);
  return characters;
}
