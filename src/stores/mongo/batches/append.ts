/**
 * Appending batches: dense seqs (P2) by one insert under a unique index, without a counter and without a transaction.
 *
 * A writer inserts a batch right behind the end that it knows, T. Every end is the end of a batch, and the next batch
 * begins at T + 1: so of all who know T one succeeds, whatever the sizes, and the others look where the end is now. No
 * two batches overlap, and none leaves a gap.
 *
 * The same index makes retries safe (P1, P3). Ids are looked for after the end was learnt, and what is not found goes to
 * T + 1: had an earlier try, or anybody else, brought it to this partition in between, that place would be taken, and all
 * begins anew. The same event always goes to the same partition; of ids in several, the unique index of chosen ones decides.
 *
 * An end may be remembered for long (by a process that slept), and a trim frees places, though not soon (trust.ts). What
 * is inserted below the floor does not count, at no moment; so a writer that came late looks where the floor is before
 * it answers, takes out what it brought, and appends it again at the true end.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ClientSession, Timestamp } from "mongodb";
import { BusError } from "../../../model/errors.js";
import type { EventDraft, Seq, StoredEvent } from "../../../model/event.js";
import type { AppendResult } from "../../../ports/log.js";
import type { Connection } from "../connection/connection.js";
import { busError } from "../connection/errors.js";
import { AppendBatch } from "../events/append-batch.js";
import { type FindElsewhere, nameOf, type Place } from "../events/event-lookup.js";
import type { Target } from "../events/fenced-append.js";
import { type Inserted, insertByCommand, insertByDriver } from "../events/insert-outcome.js";
import { InsertsTogether } from "../events/inserts-together.js";
import { removedSince } from "../events/removed-ranges.js";
import { isTrusted, laterOf } from "../events/trust.js";
import {
  type BatchDocument,
  type BatchTail,
  documentsAfter,
  EMPTY_TAIL,
  type NewBatchDocument,
} from "./batch-document.js";
import type { BatchLookup } from "./lookup.js";

/** How long an append goes on through failovers before it gives up: an election and a bit. */
const PATIENCE_MS = 20_000;
/** Ends remembered at once; forgetting one costs a look. */
const MAX_TAILS = 20_000;
/** What a document of 16 MiB has room for, beside all the rest. */
const MAX_DATA_BYTES = 16 * 1_048_576 - 65_536;

export interface BatchAppenderOptions {
  /** Finds events of other layouts by their ids. */
  readonly elsewhere: FindElsewhere;
  readonly remove: (place: Place, seqs: readonly Seq[]) => Promise<unknown>;
}

export class BatchAppender {
  readonly #connection: Connection;
  readonly #lookup: BatchLookup;
  readonly #options: BatchAppenderOptions;
  readonly #inserts: InsertsTogether;
  readonly #tails = new Map<string, BatchTail>();
  /** The latest of the server's logical times that an insert was answered at. */
  #seen: Timestamp | undefined;

  constructor(connection: Connection, lookup: BatchLookup, options: BatchAppenderOptions) {
    this.#connection = connection;
    this.#lookup = lookup;
    this.#options = options;
    this.#inserts = new InsertsTogether((documents, maxMs) =>
      insertByCommand(connection.db, connection.collections.batches.collectionName, documents, maxMs),
    );
  }

  async append(target: Target, drafts: readonly EventDraft[]): Promise<AppendResult> {
    const batch = new AppendBatch(drafts);
    const untilMs = performance.now() + PATIENCE_MS;
    for (let round = 0; batch.waiting.length > 0; round++) {
      let trouble: BusError | undefined;
      try {
        trouble = await this.#insertWaiting(target, batch, round);
      } catch (error) {
        this.#tails.delete(nameOf(target.place));
        trouble = busError(error, batch.inDoubt ? "possible" : "none");
        if (batch.inDoubt) batch.doubt();
      }
      if (trouble === undefined || batch.waiting.length === 0) continue;
      // The driver has waited for a server already. What is in doubt is worth more patience than what never began.
      if (!batch.inDoubt || trouble.code === "CLOSED" || performance.now() > untilMs)
        return batch.result(trouble);
      // Writers that are in the way of an election spread out.
      await pause(2 + Math.random() * 38);
    }
    return batch.result();
  }

  /** One round: as many of the waiting drafts as go in. Returns what keeps the rest out, if it is more than a rival. */
  async #insertWaiting(target: Target, batch: AppendBatch, round: number): Promise<BusError | undefined> {
    const { place } = target;
    const name = nameOf(place);
    const tail = await this.#learn(place, batch, round);
    if (batch.waiting.length === 0) return undefined;
    const documents = documentsAfter(tail, target, batch.waitingDrafts());
    batch.inDoubt = true;
    const since = this.#seen;
    const { count, stop, error, at } = await this.#insert(name, documents);
    this.#seen = laterOf(this.#seen, at);
    if (stop !== "none" && stop !== "id taken") this.#tails.delete(name);
    if (stop === "unknown") {
      batch.doubt();
      return busError(error, "possible");
    }
    batch.inDoubt = count > 0;
    if (count > 0) {
      const placed = documents.slice(0, count);
      if (!(await this.#follows(place, tail, at))) {
        this.#tails.delete(name);
        await this.#takeOut(place, placed);
        batch.inDoubt = false;
        return undefined;
      }
      const { last, maxTs, sumBytes } = placed.at(-1) as NewBatchDocument;
      batch.placed(last - tail.seq, tail.seq, place);
      if (stop !== "seq taken") this.#remember(place, { seq: last, maxTs, sumBytes, since });
    }
    batch.inDoubt = false;
    batch.lostAt = stop === "seq taken" ? at : undefined;
    if (stop === "id taken") batch.found(await this.#lookup.settled(batch.waitingIds()));
    return stop === "refused" ? busError(error, "none") : undefined;
  }

  /**
   * The end of the partition, and then what is known of the waiting ids. An end that was known before the append began
   * needs no look at new ones: had anybody brought one since, its place would be taken.
   */
  async #learn(place: Place, batch: AppendBatch, round: number): Promise<BatchTail> {
    const remembered = this.#tails.get(nameOf(place));
    if (remembered !== undefined) {
      batch.found(await this.#known(batch.unsureWaitingIds(), round === 0 ? [] : batch.freshWaitingIds()));
      return remembered;
    }
    const newest = await this.#newestAfter(place, batch.lostAt);
    // Both at once: whoever lost a race is to be quick.
    const [tail, known] = await Promise.all([
      this.#tailAt(place, newest),
      this.#known(batch.unsureWaitingIds(), batch.freshWaitingIds()),
    ]);
    batch.found(known);
    return tail;
  }

  /**
   * Events under ids of somebody's choice, in whatever layout, and under new ids, which only somebody who repeats a
   * publish can have brought here. Chosen ids that only something removed keeps are made free.
   */
  async #known(
    unsure: readonly string[],
    fresh: readonly string[],
    session?: ClientSession,
  ): Promise<StoredEvent[]> {
    const looks = [
      () => (unsure.length === 0 ? [] : this.#lookup.retainedOrFree(unsure, session)),
      () => (unsure.length === 0 ? [] : this.#options.elsewhere(unsure, session)),
      () => (fresh.length === 0 ? [] : this.#lookup.repeated(fresh, session)),
    ];
    if (session === undefined) return (await Promise.all(looks.map((look) => look()))).flat();
    // A transaction does one thing at a time.
    const found: StoredEvent[] = [];
    for (const look of looks) found.push(...(await look()));
    return found;
  }

  async #insert(name: string, all: readonly NewBatchDocument[]): Promise<Inserted> {
    const { client, collections } = this.#connection;
    const tooLarge = all.findIndex(isTooLarge);
    if (tooLarge === 0) return { count: 0, stop: "refused", error: tooLargeError() };
    const documents = tooLarge < 0 ? all : all.slice(0, tooLarge);
    // A command is one document for the server, of 16 MiB at most; the driver makes as many as it takes.
    const [first] = documents as [NewBatchDocument];
    return documents.length === 1
      ? await this.#inserts.insert(name, documents, first.data?.length() ?? 0)
      : await insertByDriver(client, collections.batches, documents as never[]);
  }

  /** Whether what was inserted after `tail`, no later than `at`, stood above the floor when it was. */
  async #follows(place: Place, tail: BatchTail, at: Timestamp | undefined): Promise<boolean> {
    // The batch at seq 1 never goes, so that nobody can take that place a second time.
    if (tail.seq === 0 || isTrusted(tail.since, at)) return true;
    const anchor = await this.#lookup.anchor(place, { level: "local" });
    const { floor = 0, parts = [] } = anchor ?? {};
    return tail.seq >= floor || removedSince({ from: 1, to: floor, parts }, tail.seq + 1, at);
  }

  /**
   * Undoes an insert that began below the floor. What lies above it is removed as well, so that the order of the events
   * holds when they are appended again.
   */
  async #takeOut(place: Place, documents: readonly NewBatchDocument[]): Promise<void> {
    const { topic, partition } = place;
    const floor = (await this.#lookup.anchor(place, { level: "local" }))?.floor ?? 0;
    const beyond = documents.filter(({ first }) => first > floor);
    await this.#options.remove(
      place,
      beyond.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, i) => first + i)),
    );
    const below = documents.filter(({ first }) => first <= floor).map(({ first }) => first);
    await this.#connection.collections.batches.deleteMany({ topic, partition, first: { $in: below } });
  }

  async tail(place: Place, session?: ClientSession): Promise<BatchTail> {
    return await this.#tailAt(place, await this.#newest(place, session), session);
  }

  /**
   * The batch that begins last, as a majority holds it: a writer that counted on more could leave a hole behind when the
   * primary changes. After losing a race it waits until a majority has what was in the way.
   */
  async #newestAfter(place: Place, lostAt: Timestamp | undefined): Promise<BatchDocument | null> {
    if (lostAt === undefined) return await this.#newest(place);
    return await this.#connection.client.withSession(async (session) => {
      session.advanceOperationTime(lostAt);
      return await this.#newest(place, session);
    });
  }

  async #newest({ topic, partition }: Place, session?: ClientSession): Promise<BatchDocument | null> {
    return await this.#connection.collections.batches.findOne(
      { topic, partition },
      {
        projection: { first: 1, last: 1, maxTs: 1, sumBytes: 1, at: 1 },
        sort: { first: -1 },
        ...(session && { session }),
      },
    );
  }

  /** Where a partition ends whose newest batch is this, or was just now. */
  async #tailAt(place: Place, newest: BatchDocument | null, session?: ClientSession): Promise<BatchTail> {
    if (newest === null) return EMPTY_TAIL;
    const anchor = await this.#lookup.anchor(place, session && { session });
    const { floor = 0, floorTs = 0, floorBytes = 0 } = anchor ?? {};
    if (newest.first <= floor) return { seq: floor, maxTs: floorTs, sumBytes: floorBytes };
    return { seq: newest.last, maxTs: newest.maxTs, sumBytes: newest.sumBytes, since: newest.at };
  }

  /** In a transaction of the caller's: end and ids are read in it, so nothing can have moved. */
  async appendIn(
    session: ClientSession,
    target: Target,
    drafts: readonly EventDraft[],
  ): Promise<AppendResult> {
    const { place } = target;
    const batch = new AppendBatch(drafts);
    const tail = await this.tail(place, session);
    batch.found(await this.#known(batch.unsureWaitingIds(), batch.freshWaitingIds(), session));
    if (batch.waiting.length > 0) {
      const documents = documentsAfter(tail, target, batch.waitingDrafts());
      await this.#connection.collections.batches.insertMany(documents as never[], { ordered: true, session });
      batch.placed(batch.waiting.length, tail.seq, place);
    }
    return batch.result();
  }

  #remember(place: Place, tail: BatchTail): void {
    if (this.#tails.size >= MAX_TAILS) this.#tails.clear();
    this.#tails.set(nameOf(place), tail);
  }
}

function isTooLarge({ data }: NewBatchDocument): boolean {
  return data !== undefined && data.length() > MAX_DATA_BYTES;
}

function tooLargeError(): BusError {
  return new BusError(
    "PAYLOAD_TOO_LARGE",
    "the event is too large: MongoDB takes 16 MiB per document at most",
  );
}
