/**
 * Pages of a partition out of its batches. A trim may cut a batch in two while somebody reads, and a writer that came
 * late may leave one below the floor. So the floor is read last, and what does not fit it is read again: a seq without
 * an event counts as removed only where its batch, or the floor, says so (P2).
 */
import type { Document } from "mongodb";
import { BusError } from "../../../model/errors.js";
import type { Seq, StoredEvent } from "../../../model/event.js";
import type { Page, ReadOptions } from "../../../ports/log.js";
import { BatchCursor } from "../../batch-codec.js";
import type { Connection } from "../connection/connection.js";
import { findAtOnce } from "../connection/single-reply.js";
import type { Place } from "../events/event-lookup.js";
import { ReadsTogether, type Stretch } from "../events/reads-together.js";
import { type BatchDocument, BYTES, batchOf } from "./batch-document.js";
import type { BatchLookup } from "./lookup.js";
import { keptOr, OpenBatches, unlessKept } from "./open-batches.js";

/** Reads that met a removal are begun again this often. */
const MAX_TRIES = 50;
const IN_ORDER = { topic: 1, partition: 1, first: 1 } as const;
/** With seqs in (from, upTo]. */
type Batches = Stretch<BatchDocument>;
/** Batches asked for at once. */
const MAX_BATCHES = 1_000;

export class Pages {
  readonly #connection: Connection;
  readonly #lookup: BatchLookup;
  readonly #open = new OpenBatches();
  readonly #reads: ReadsTogether<BatchDocument>;

  constructor(connection: Connection, lookup: BatchLookup) {
    this.#connection = connection;
    this.#lookup = lookup;
    this.#reads = new ReadsTogether({
      find: (filter, limit) => this.#documents(filter, limit),
      placeOf: (batch) => batch,
      bytesOf: ({ data, uuids }) => (data?.length() ?? 0) + (uuids?.length() ?? 0),
    });
  }

  async read(place: Place, options: ReadOptions): Promise<Page> {
    const { limit, maxBytes = Number.POSITIVE_INFINITY } = options;
    const page = new GrowingPage(options.after, limit, maxBytes);
    let knownFloor = 0;
    for (let tries = 0; tries < MAX_TRIES && !page.isFull; tries++) {
      const from = page.through;
      const { documents: batches, isWhole } = await this.#stretch(
        place,
        from,
        from + limit,
        knownFloor,
        maxBytes,
      );
      const floor = await this.#lookup.floor(place);
      if (floor > knownFloor && (floor >= from || batches.some(({ first }) => first <= floor))) {
        page.pass(floor);
        knownFloor = floor;
        continue;
      }
      const inside = page.takeAll(batches);
      if (inside !== undefined) this.#open.keep(inside);
      // Nothing is missing between the batches, and there was none behind them.
      const isEnd = isWhole && page.through < from + limit && page.through >= (batches.at(-1)?.last ?? 0);
      if (isEnd && !page.isFull) return page.asPage();
      if (page.through > from) tries = 0;
    }
    if (page.isFull) return page.asPage();
    throw new BusError(
      "WRITE_CONFLICT",
      `removals in partition ${place.partition} of "${place.topic}" kept getting in the way of a read`,
    );
  }

  async #stretch(place: Place, from: Seq, upTo: Seq, floor: Seq, maxBytes: number): Promise<Batches> {
    const kept = this.#open.holding(place, from + 1);
    const [following, open] = await Promise.all([
      this.#following(place, Math.max(from, floor), upTo, maxBytes),
      kept === undefined ? null : this.#around(place, from, floor, kept),
    ]);
    if (from === 0 || following.documents[0]?.first === from + 1) return following;
    const around = open ?? (await this.#around(place, from, floor));
    return around === null ? following : { ...following, documents: [around, ...following.documents] };
  }

  /** Batches that begin in (after, upTo], enough of them for `maxBytes`. */
  #following(place: Place, after: Seq, upTo: Seq, maxBytes: number): Promise<Batches> {
    const { topic, partition } = place;
    const filter = { topic, partition, first: { $gt: after, $lte: upTo } };
    return this.#reads.read({ place, after, filter }, () => this.#walk(filter, upTo - after, maxBytes));
  }

  async #walk(filter: Document, seqs: number, maxBytes: number): Promise<Batches> {
    const cursor = this.#connection.collections.batches.find(filter, {
      projection: BYTES,
      sort: { first: 1 },
      batchSize: Math.min(seqs, MAX_BATCHES),
    });
    const documents: BatchDocument[] = [];
    let bytes = 0;
    let isWhole = false;
    try {
      while (bytes < maxBytes && !isWhole) {
        isWhole = !(await cursor.hasNext());
        for (const batch of cursor.readBufferedDocuments()) {
          documents.push(batch);
          bytes += batch.data?.length() ?? 0;
        }
      }
    } finally {
      await cursor.close();
    }
    return { documents, isWhole };
  }

  async #documents(filter: Document, limit: number): Promise<readonly BatchDocument[]> {
    const { db, collections } = this.#connection;
    const find = collections.batches.collectionName;
    const { firstBatch } = await findAtOnce(db, {
      ...{ find, filter, projection: BYTES, sort: IN_ORDER, limit },
      readConcern: { level: "majority" },
    });
    return firstBatch as readonly BatchDocument[];
  }

  /** The last batch that begins at `seq` or below. */
  async #around(
    { topic, partition }: Place,
    seq: Seq,
    floor: Seq,
    kept?: BatchDocument,
  ): Promise<BatchDocument | null> {
    const found = await this.#connection.collections.batches.findOne(
      { topic, partition, first: { $gt: floor, $lte: seq } },
      { projection: unlessKept(kept), sort: { first: -1 } },
    );
    return keptOr(found, kept);
  }
}

class GrowingPage {
  readonly events: StoredEvent[] = [];
  through: Seq;
  readonly #limit: number;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(after: Seq, limit: number, maxBytes: number) {
    this.through = after;
    this.#limit = limit;
    this.#maxBytes = maxBytes;
  }

  get isFull(): boolean {
    return this.events.length >= this.#limit || (this.events.length > 0 && this.#bytes >= this.#maxBytes);
  }

  asPage(): Page {
    return { events: this.events, through: this.through };
  }

  /** Everything up to here was removed. */
  pass(floor: Seq): void {
    this.through = Math.max(this.through, floor);
  }

  /** As many events as have room, up to where a batch is missing; returns the batch that it ended in the middle of. */
  takeAll(batches: readonly BatchDocument[]): BatchDocument | undefined {
    for (const batch of batches) {
      if (batch.last <= this.through) continue;
      if (batch.first > this.through + 1 || this.isFull) return undefined;
      this.#take(batch);
      if (this.through < batch.last) return batch;
    }
    return undefined;
  }

  #take(document: BatchDocument): void {
    const batch = batchOf(document);
    const cursor = batch === null ? undefined : new BatchCursor(batch);
    while (cursor?.next()) {
      if (cursor.seq <= this.through) continue;
      if (this.isFull) return;
      const event = cursor.event(document.topic, document.partition);
      this.events.push(event);
      this.#bytes += event.size;
      this.through = event.seq;
    }
    this.through = document.last;
  }
}
