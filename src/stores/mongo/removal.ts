/**
 * Removing events: retention (`trim`) and compaction (`remove`, P11).
 *
 * A removed range is recorded before its events go, in the place of its first event, whose document becomes the range.
 * So a range stands wherever a reader or a late writer could take a missing event for one that is still to come, the head
 * never falls, and a seq is never given twice (P2). A trim that is interrupted leaves events that count as removed;
 * the next one takes them away.
 */
import type { AnyBulkWriteOperation, ClientSession, Document } from "mongodb";
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import type { EventDocument, RangePart } from "./collections.js";
import type { Connection } from "./connection.js";
import type { Place, RemovedRange } from "./event-lookup.js";
import { fewerParts, removeSeqs } from "./removed-ranges.js";

/** What a range keeps of the event it began with: its place and the sums up to the range's end. */
const FORGET = { $unset: ["payload", "body", "key", "headers", "caused_by", "tags", "sid", "last"] };
/** Removals that met another one in the same partition try again this often. */
const MAX_TRIES = 50;
const SWEPT_AT_ONCE = 10_000;

export class Removal {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Removes everything up to `through`; returns how many events went. */
  async trim(place: Place, through: Seq): Promise<number> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const removed = await this.#tryTrim(place, through);
      if (removed !== undefined) return removed;
    }
    throw rivals(place);
  }

  /** One try; undefined if another removal came in between. */
  async #tryTrim(place: Place, through: Seq): Promise<number | undefined> {
    const { events } = this.#connection.collections;
    const first = await events.findOne({ ...place, seq: 1 });
    if (first === null) return 0;
    // The newest event or range that begins at or below the mark: where the range ends, and the sums there.
    const last = await events.findOne({ ...place, seq: { $lte: through } }, { sort: { seq: -1 } });
    const to = last === null ? 0 : Math.max(last.to ?? last.seq, first.to ?? 0);
    if (last === null || to <= (first.to ?? 0)) return await this.#sweep(place, first.to ?? 0);
    const inner = await events
      .find(
        { ...place, to: { $lte: to, $gt: first.to ?? 0 }, seq: { $gt: 1 } },
        { projection: { seq: 1, to: 1 } },
      )
      .toArray();
    const closed = inner.reduce((sum, range) => sum + ((range.to as Seq) - range.seq + 1), 0);
    const { maxTs, sumBytes } = last;
    const parts = fewerParts([...(first.parts ?? []), { from: (first.to ?? 0) + 1, to }]);
    const { matchedCount } = await events.updateOne(sameState(place, first), [
      { $set: { to, maxTs, sumBytes, parts: this.#timed(parts), ...counted(-closed) } },
      FORGET,
    ]);
    if (matchedCount === 0) return undefined;
    await events.deleteMany({ ...place, seq: { $gt: 1, $lte: to }, to: { $exists: true } });
    const swept = await this.#sweep(place, to);
    return swept + (first.to === undefined ? 1 : 0);
  }

  /** Takes the events of a removed range away, in bounded steps: however many there are, no call lasts long. */
  async #sweep(place: Place, to: Seq): Promise<number> {
    const { events } = this.#connection.collections;
    let removed = 0;
    for (let from = 2; from <= to; ) {
      const left = { ...place, to: { $exists: false } };
      const next = await events.findOne(
        { ...left, seq: { $gte: from, $lte: to } },
        { sort: { seq: 1 }, projection: { seq: 1 } },
      );
      if (next === null) break;
      from = next.seq + SWEPT_AT_ONCE;
      const seq = { $gte: next.seq, $lte: Math.min(to, from - 1) };
      removed += (await events.deleteMany({ ...left, seq })).deletedCount;
    }
    return removed;
  }

  /** Removes these events, all in one step; returns how many there were. */
  async remove(place: Place, seqs: readonly Seq[]): Promise<number> {
    if (seqs.length === 0) return 0;
    if (this.#connection.replicaSet) {
      return await this.#connection.transact((session) => this.#removeIn(place, seqs, session));
    }
    return await this.#removeIn(place, seqs);
  }

  async #removeIn(place: Place, seqs: readonly Seq[], session?: ClientSession): Promise<number> {
    const { events } = this.#connection.collections;
    const options = session === undefined ? {} : { session };
    const fields = { projection: { seq: 1, to: 1, maxTs: 1, sumBytes: 1, parts: 1 } };
    const present = await events
      .find({ ...place, seq: { $in: [...seqs] }, to: { $exists: false } }, { ...options, ...fields })
      .sort({ seq: 1 })
      .toArray();
    const first = await events.findOne({ ...place, seq: 1 }, options);
    if (present.length === 0 || first === null) return 0;
    const lowest = (present[0] as EventDocument).seq;
    const highest = (present.at(-1) as EventDocument).seq;
    const around = await events
      .find({ ...place, to: { $gte: lowest - 1 }, seq: { $lte: highest + 1 } }, { ...options, ...fields })
      .sort({ to: 1 })
      .toArray();
    const visible = present.filter(({ seq }) => !around.some((r) => r.seq <= seq && seq <= (r.to as Seq)));
    const change = removeSeqs(
      visible.map(({ seq }) => seq),
      around.map(rangeOf),
    );
    const holes = holesMade(visible.length, first, change.ranges);
    await events.bulkWrite(
      [
        ...change.ranges.map((range) => this.#recordRange(place, range, [...present, ...around])),
        { updateOne: { filter: sameState(place, first), update: [{ $set: counted(holes) }] } },
        { deleteMany: { filter: { ...place, seq: { $in: [...change.gone] } } } },
      ],
      { ...options, ordered: true },
    );
    return visible.length;
  }

  #recordRange(
    place: Place,
    range: Required<RemovedRange>,
    known: readonly EventDocument[],
  ): AnyBulkWriteOperation<EventDocument> {
    const end = known.find((document) => (document.to ?? document.seq) === range.to) as EventDocument;
    const { maxTs, sumBytes } = end;
    const set = { to: range.to, maxTs, sumBytes, parts: this.#timed(range.parts) };
    return { updateOne: { filter: { ...place, seq: range.from }, update: [{ $set: set }, FORGET] } };
  }

  /** Parts that have no time yet get the present one. */
  #timed(parts: readonly RangePart[]): Document[] {
    if (!this.#connection.replicaSet) return [...parts];
    return parts.map(({ from, to, at = "$$CLUSTER_TIME" }) => ({ from, to, at }));
  }
}

/** What is removed at the beginning is no hole: the range at seq 1 tells of it. */
function holesMade(removed: number, first: EventDocument, ranges: readonly RemovedRange[]): number {
  const low = ranges.find(({ from }) => from === 1)?.to ?? first.to ?? 0;
  return removed - (low - (first.to ?? 0));
}

/** More holes, and one more removal, on the document at seq 1. */
function counted(holes: number): Document {
  return {
    removals: { $add: [{ $ifNull: ["$removals", 0] }, 1] },
    holes: { $add: [{ $ifNull: ["$holes", 0] }, holes] },
  };
}

/** The document at seq 1, if nothing was removed since it was read. */
function sameState(place: Place, first: EventDocument): { topic: string; partition: number; seq: Seq } {
  const removals = first.removals ?? { $exists: false };
  return { ...place, seq: 1, ...({ removals } as object) };
}

function rangeOf(document: EventDocument): RemovedRange {
  return { from: document.seq, to: document.to ?? document.seq, parts: document.parts ?? [] };
}

function rivals(place: Place): BusError {
  return new BusError(
    "WRITE_CONFLICT",
    `other removals in partition ${place.partition} of "${place.topic}" kept getting in the way`,
  );
}
