/**
 * Removing events: retention (`trim`) and compaction (`remove`, P11).
 *
 * A removed range is recorded before its events go, in the place of its first event, whose document becomes the range.
 * So a range stands wherever a reader or a late writer could take a missing event for one that is still to come, the head
 * never falls, and a seq is never given twice (P2). A trim that is interrupted leaves events that count as removed;
 * the next one takes them away. Events that were appended only just now are made to forget what they said, but keep their
 * places (trust.ts), and go with a later trim.
 */
import type { AnyBulkWriteOperation, ClientSession, Document, Filter } from "mongodb";
import { BusError } from "../../../model/errors.js";
import type { Seq } from "../../../model/event.js";
import type { EventDocument, RangePart } from "../collections.js";
import type { Connection } from "../connection/connection.js";
import { mostRanges, type Place, type RemovedRange } from "./event-lookup.js";
import { fewerParts, removeSeqs } from "./removed-ranges.js";
import { eventMarks, firstReaching } from "./time-search.js";
import { freeBefore } from "./trust.js";

/** What a range keeps of the event it began with: its place and the sums up to the range's end. */
const SAID = ["payload", "body", "key", "keyed", "headers", "caused_by", "tags", "sid", "last"];
const FORGET = { $unset: SAID };
/** What keeps the place of an event, or of a range that another one took in, and nothing else. */
const KEEP_PLACE = [{ $set: { gone: true } }, { $unset: [...SAID, "ts", "to", "parts"] }];
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
    const last = await this.#lastUpTo(place, through);
    const to = last === null ? 0 : Math.max(last.to ?? last.seq, first.to ?? 0);
    if (last === null || to <= (first.to ?? 0)) {
      await this.#clear(place, first.to ?? 0);
      return 0;
    }
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
    await this.#clear(place, to);
    return to - (first.to ?? 0) - closed;
  }

  /** The newest event or range that begins at or below the mark: where the range ends, and the sums there. */
  async #lastUpTo(place: Place, through: Seq): Promise<EventDocument | null> {
    const { events } = this.#connection.collections;
    const last = await events.findOne({ ...place, seq: { $lte: through } }, { sort: { seq: -1 } });
    if (last === null || last.to !== undefined) return last;
    // What keeps its place in a range, or was left there, is not what the range ends in.
    const next = await events.findOne({ ...place, to: { $gte: last.seq } }, { sort: { to: 1 } });
    return next !== null && next.seq <= last.seq ? next : last;
  }

  /** Takes away what the range from the beginning to `to` covers, as far as its places may be free. */
  async #clear(place: Place, to: Seq): Promise<void> {
    const { events } = this.#connection.collections;
    const freeTo = await this.#freeTo(place, to);
    await this.#inSteps({ ...place }, 2, freeTo, (part) => events.deleteMany(part));
    await this.#inSteps({ ...place, gone: { $exists: false } }, Math.max(2, freeTo + 1), to, (part) =>
      events.updateMany(part, KEEP_PLACE),
    );
  }

  /** Documents from one seq to another, so many at a time: no call lasts long, nor does closing, however many there are. */
  async #inSteps(
    filter: Filter<EventDocument>,
    from: Seq,
    to: Seq,
    work: (part: Filter<EventDocument>) => Promise<unknown>,
  ): Promise<void> {
    const { events } = this.#connection.collections;
    for (let begin = from; begin <= to; ) {
      if (begin > from) this.#connection.gate.check();
      const next = await events.findOne(
        { ...filter, seq: { $gte: begin, $lte: to } },
        { sort: { seq: 1 }, projection: { seq: 1 } },
      );
      if (next === null) break;
      begin = next.seq + SWEPT_AT_ONCE;
      await work({ ...filter, seq: { $gte: next.seq, $lte: Math.min(to, begin - 1) } });
    }
  }

  /** Up to where, at most `to`, places may be free: see trust.ts. Without a logical time, no writer trusts a place. */
  async #freeTo(place: Place, to: Seq, inside?: ClientSession): Promise<Seq> {
    if (to === 0 || !this.#connection.replicaSet) return to;
    const look = async (session: ClientSession): Promise<Seq> => {
      const { events } = this.#connection.collections;
      const options = { session, projection: { seq: 1, at: 1 } };
      const stamped = { ...place, at: { $exists: true } };
      const stamps = eventMarks(events, stamped, { timeOf: ({ at }) => at?.t ?? 0, find: options });
      const end = await stamps.from(to);
      if (session.operationTime === undefined) return 0;
      const before = freeBefore(session.operationTime);
      if (end?.at !== undefined && end.at.compare(before) < 0) return to;
      const fresh = await firstReaching(before.t, to + 1, stamps);
      const last = await events.findOne(
        { ...stamped, seq: { $lt: fresh?.seq ?? to + 1 } },
        { ...options, sort: { seq: -1 } },
      );
      return last?.seq ?? 0;
    };
    return inside === undefined ? await this.#connection.client.withSession(look) : await look(inside);
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
    const beside = await events
      .find({ ...place, to: { $gte: lowest - 1 } }, { ...options, ...fields })
      .sort({ to: 1 })
      .limit(mostRanges(lowest - 1, highest + 1))
      .toArray();
    const around = beside.filter(({ seq }) => seq <= highest + 1);
    const visible = present.filter(({ seq }) => !around.some((r) => r.seq <= seq && seq <= (r.to as Seq)));
    const change = removeSeqs(
      visible.map(({ seq }) => seq),
      around.map(rangeOf),
    );
    const holes = holesMade(visible.length, first, change.ranges);
    const freeTo = await this.#freeTo(place, change.gone.at(-1) ?? 0, session);
    const free = change.gone.filter((seq) => seq <= freeTo);
    const kept = change.gone.filter((seq) => seq > freeTo);
    await events.bulkWrite(
      [
        ...change.ranges.map((range) => this.#recordRange(place, range, [...present, ...around])),
        { updateOne: { filter: sameState(place, first), update: [{ $set: counted(holes) }] } },
        { deleteMany: { filter: { ...place, seq: { $in: free } } } },
        { updateMany: { filter: { ...place, seq: { $in: kept } }, update: KEEP_PLACE } },
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
