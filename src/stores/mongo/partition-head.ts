/** Where the partitions of a topic begin and end, from the documents at their ends. */
import type { Document } from "mongodb";
import type { PartitionHead } from "../../ports/log.js";
import type { EventDocument } from "./collections.js";
import { EMPTY_TAIL, tailOf } from "./event-document.js";

/** One partition: the document at seq 1, the one with the highest seq, and the highest removed range. */
export interface PartitionEnds {
  readonly partition: number;
  readonly first: readonly EventDocument[];
  readonly last: readonly EventDocument[];
  readonly range: readonly EventDocument[];
}

/** On the collection of topics: one row per partition, each end found by one look into an index; none if undefined. */
export function headsPipeline(topic: string, events: string): Document[] {
  const find = (as: string, match: Document, sort: Record<string, -1>): Document => ({
    $lookup: {
      from: events,
      localField: "partition",
      foreignField: "partition",
      as,
      pipeline: [
        { $match: { topic, ...match } },
        { $sort: sort },
        { $limit: 1 },
        { $project: { seq: 1, to: 1, maxTs: 1, sumBytes: 1, holes: 1 } },
      ],
    },
  });
  return [
    { $match: { _id: topic } },
    { $project: { partition: { $range: [0, "$partitions"] } } },
    { $unwind: "$partition" },
    find("first", { seq: 1 }, { seq: -1 }),
    find("last", {}, { seq: -1 }),
    find("range", { to: { $exists: true } }, { to: -1 }),
  ];
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
