/**
 * Removing events out of batches: retention (`trim`) and compaction (`remove`, P11).
 *
 * A trim moves the floor, which the batch at seq 1 tells. A batch that the floor would lie in is cut in two by the same
 * transaction, so that none that counts begins at the floor or below. What is below goes afterwards; if that is
 * interrupted, the next trim does it. Batches that were appended only just now are made to forget what they said, but keep
 * their places (trust.ts), and go with a later trim.
 *
 * Compaction writes a batch anew without the events that go. The batch stays where it is, even if nothing is left in it.
 */
import type { ClientSession } from "mongodb";
import type { Seq } from "../../../model/event.js";
import { MAX_SPAN, pack } from "../../batch-codec.js";
import type { RangePart } from "../collections.js";
import type { Connection } from "../connection/connection.js";
import type { Place } from "../events/event-lookup.js";
import { fewerParts } from "../events/removed-ranges.js";
import { freeBefore } from "../events/trust.js";
import { type BatchDocument, batchOf, type NewBatchDocument, remaining, SAID } from "./batch-document.js";
import type { Anchor, BatchLookup } from "./lookup.js";

const SWEPT_AT_ONCE = 100_000;
const FORGET = [{ $set: { gone: true } }, { $unset: SAID }];

export class BatchRemoval {
  readonly #connection: Connection;
  readonly #lookup: BatchLookup;

  constructor(connection: Connection, lookup: BatchLookup) {
    this.#connection = connection;
    this.#lookup = lookup;
  }

  /** Removes everything up to `through`; returns how many events went. */
  async trim(place: Place, through: Seq): Promise<number> {
    const { removed, floor } = await this.#connection.transact((session) =>
      this.#moveFloor(place, through, session),
    );
    await this.#sweep(place, floor);
    return removed;
  }

  async #moveFloor(
    place: Place,
    through: Seq,
    session: ClientSession,
  ): Promise<{ removed: number; floor: Seq }> {
    const { topic, partition } = place;
    const { batches } = this.#connection.collections;
    const anchor = await this.#lookup.anchor(place, { session });
    const floor = anchor?.floor ?? 0;
    const edge = await batches.findOne(
      { topic, partition, first: { $gt: floor, $lte: through } },
      { sort: { first: -1 }, session },
    );
    if (anchor === null || edge === null) return { removed: 0, floor };
    const to = Math.min(through, edge.last);
    const above = await this.#cut(edge, to, session);
    const inEdge = countIn(edge) - above.count;
    const holes = (await this.#holes(place, floor, edge.first, session)) + (to - edge.first + 1 - inEdge);
    const parts = fewerParts([...(anchor.parts ?? []), { from: floor + 1, to }]);
    await batches.updateOne(
      { _id: anchor._id },
      [
        {
          $set: {
            floor: to,
            floorTs: edge.maxTs,
            floorBytes: edge.sumBytes - above.bytes,
            parts: timed(parts),
            missing: (anchor.missing ?? 0) - holes,
            removals: (anchor.removals ?? 0) + 1,
          },
        },
      ],
      { session },
    );
    return { removed: to - floor - holes, floor: to };
  }

  /** Makes two of a batch: up to `to`, of which nothing is left, and what is above. */
  async #cut(
    edge: BatchDocument,
    to: Seq,
    session: ClientSession,
  ): Promise<{ count: number; bytes: number }> {
    const { batches } = this.#connection.collections;
    if (to === edge.last) return { count: 0, bytes: 0 };
    const span = { first: to + 1, last: edge.last };
    const batch = batchOf(edge);
    const packed = batch && pack(batch, ({ seq }) => seq > to, "sparse");
    const left = remaining(edge, span, packed);
    const { topic, partition, maxTs, sumBytes, at } = edge;
    const above: NewBatchDocument = {
      ...{ topic, partition, ...span, maxTs, sumBytes, at, revision: 1 },
      ...left.fields,
    };
    await batches.updateOne({ _id: edge._id }, [{ $set: { last: to, gone: true } }, { $unset: SAID }], {
      session,
    });
    await batches.insertOne(above as BatchDocument, { session });
    return left;
  }

  /** How many events were removed before, in batches that begin above the floor and below `before`. */
  async #holes(
    { topic, partition }: Place,
    floor: Seq,
    before: Seq,
    session: ClientSession,
  ): Promise<number> {
    const documents = await this.#connection.collections.batches
      .find(
        { topic, partition, first: { $gt: floor, $lt: before }, holes: { $exists: true } },
        { projection: { _id: 0, holes: 1 }, session },
      )
      .toArray();
    return documents.reduce((sum, { holes = 0 }) => sum + holes, 0);
  }

  /** Takes away what lies below the floor, as far as its places may be free; the rest forgets what it said. */
  async #sweep({ topic, partition }: Place, floor: Seq): Promise<void> {
    if (floor === 0) return;
    const { batches } = this.#connection.collections;
    await this.#connection.client.withSession(async (session) => {
      const below = async (from: Seq) =>
        await batches.findOne(
          { topic, partition, first: { $gte: from, $lte: floor } },
          { session, sort: { first: 1 }, projection: { first: 1 } },
        );
      for (let next = await below(1); next !== null; ) {
        const to = Math.min(floor, next.first + SWEPT_AT_ONCE);
        const first = { $gte: Math.max(2, next.first), $lte: to };
        const before = session.operationTime && freeBefore(session.operationTime);
        if (before) await batches.deleteMany({ topic, partition, first, at: { $lt: before } }, { session });
        const left = { topic, partition, first: { $gte: next.first, $lte: to }, gone: { $exists: false } };
        await batches.updateMany(left, FORGET, { session });
        this.#connection.gate.check();
        next = await below(to + 1);
      }
    });
  }

  /** Removes these events, all in one step; returns how many there were. */
  async remove(place: Place, seqs: readonly Seq[]): Promise<number> {
    if (seqs.length === 0) return 0;
    const sorted = [...new Set(seqs)].sort((a, b) => a - b);
    return await this.#connection.transact((session) => this.#removeIn(place, sorted, session));
  }

  async #removeIn(place: Place, seqs: readonly Seq[], session: ClientSession): Promise<number> {
    const anchor = await this.#lookup.anchor(place, { session });
    if (anchor === null) return 0;
    let removed = 0;
    for (const near of neighbours(seqs)) removed += await this.#removeNear(place, near, anchor, session);
    if (removed > 0) {
      await this.#connection.collections.batches.updateOne(
        { _id: anchor._id },
        { $inc: { missing: removed, removals: 1 } },
        { session },
      );
    }
    return removed;
  }

  async #removeNear(
    { topic, partition }: Place,
    seqs: readonly Seq[],
    { floor = 0 }: Anchor,
    session: ClientSession,
  ): Promise<number> {
    const { batches } = this.#connection.collections;
    const [lowest, highest] = [seqs[0] as Seq, seqs.at(-1) as Seq];
    const gone = new Set(seqs);
    const cursor = batches.find(
      {
        ...{ topic, partition },
        first: { $gt: Math.max(floor, lowest - MAX_SPAN), $lte: highest },
        last: { $gte: lowest },
      },
      { sort: { first: 1 }, session },
    );
    let removed = 0;
    for await (const document of cursor) {
      const batch = batchOf(document);
      if (batch === null) continue;
      const left = remaining(
        document,
        document,
        pack(batch, ({ seq }) => !gone.has(seq), "sparse"),
      );
      const fewer = countIn(document) - left.count;
      if (fewer === 0) continue;
      removed += fewer;
      const unset = SAID.filter((field) => !(field in left.fields));
      await batches.updateOne(
        { _id: document._id },
        {
          $set: { ...left.fields, revision: document.revision + 1 },
          ...(unset.length > 0 && { $unset: Object.fromEntries(unset.map((field) => [field, 1])) }),
        },
        { session },
      );
    }
    return removed;
  }
}

/** Runs of seqs that lie close enough together to be looked at in one go. */
function neighbours(seqs: readonly Seq[]): Seq[][] {
  const runs: Seq[][] = [];
  for (const seq of seqs) {
    const run = runs.at(-1);
    if (run !== undefined && seq - (run.at(-1) as Seq) <= MAX_SPAN) run.push(seq);
    else runs.push([seq]);
  }
  return runs;
}

function countIn({ first, last, holes = 0 }: BatchDocument): number {
  return last - first + 1 - holes;
}

/** Parts that have no time yet get the present one. */
function timed(parts: readonly RangePart[]): object[] {
  return parts.map(({ from, to, at = "$$CLUSTER_TIME" }) => ({ from, to, at }));
}
