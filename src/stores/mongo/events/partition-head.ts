/** Where the partitions of topics begin and end, from the documents at their ends. */
import type { Document } from "mongodb";
import type { PartitionHead } from "../../../ports/log.js";
import type { EventDocument } from "../collections.js";
import { EMPTY_TAIL, tailOf } from "./event-document.js";

/** One partition: the document at seq 1, the one with the highest seq, and the highest removed range. */
export interface PartitionEnds {
  /** The topic. */
  readonly _id: string;
  readonly partition: number;
  readonly first: readonly EventDocument[];
  readonly last: readonly EventDocument[];
  readonly range: readonly EventDocument[];
}

/** On the collection of topics: one row per partition, each end found by one look into an index; none if undefined. */
export function headsPipeline(topics: readonly string[], events: string): Document[] {
  const fields = { seq: 1, to: 1, maxTs: 1, sumBytes: 1, holes: 1 };
  return [
    ...partitionsOf(topics),
    firstOf("first", { from: events, match: { seq: 1 }, sort: { seq: -1 }, fields }),
    firstOf("last", { from: events, match: {}, sort: { seq: -1 }, fields }),
    firstOf("range", { from: events, match: { to: { $exists: true } }, sort: { to: -1 }, fields }),
  ];
}

/** On the collection of topics: a row `{ _id: topic, partition }` for each partition of these. */
export function partitionsOf(topics: readonly string[]): Document[] {
  return [
    { $match: { _id: { $in: topics } } },
    { $project: { partition: { $range: [0, "$partitions"] } } },
    { $unwind: "$partition" },
  ];
}

export interface FirstOf {
  readonly from: string;
  readonly match: Document;
  readonly sort: Document;
  readonly fields: Document;
}

/** Adds to each such row the first document of its partition in that order, in a list of one or none. */
export function firstOf(as: string, { from, match, sort, fields }: FirstOf): Document {
  const ofTopic = { $expr: { $eq: ["$topic", "$$topic"] } };
  return {
    $lookup: {
      from,
      localField: "partition",
      foreignField: "partition",
      let: { topic: "$_id" },
      as,
      pipeline: [{ $match: { ...ofTopic, ...match } }, { $sort: sort }, { $limit: 1 }, { $project: fields }],
    },
  };
}

/** Heads by topic, those of a topic in the order of its partitions. */
export function headsByTopic<E extends Pick<PartitionEnds, "_id">>(
  ends: readonly E[],
  headOf: (ends: E) => PartitionHead,
): Map<string, PartitionHead[]> {
  const found = new Map<string, PartitionHead[]>();
  for (const one of ends) {
    const heads = found.get(one._id) ?? [];
    const head = headOf(one);
    heads[head.partition] = head;
    found.set(one._id, heads);
  }
  return found;
}

export function headOf({
  partition,
  first: [first],
  last: [last],
  range: [range],
}: PartitionEnds): PartitionHead {
  const newest = last === undefined ? EMPTY_TAIL : tailOf(last);
  // What a late writer left in a removed range is not the end.
  const tail = range?.to !== undefined && range.to >= newest.seq ? tailOf(range) : newest;
  const low = (first?.to ?? 0) + 1;
  const spread = tail.seq - low + 1;
  const events = Math.max(0, spread - (first?.holes ?? 0));
  // Events removed in between are taken to have been of average size.
  const written = tail.sumBytes - (first?.to === undefined ? 0 : first.sumBytes);
  const bytes = spread === 0 ? 0 : Math.round((written * events) / spread);
  return { partition, head: tail.seq, low, events, bytes };
}
