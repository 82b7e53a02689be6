/** Where each partition of a topic of batches begins and ends, and how much is in it, in one question. */
import type { Document } from "mongodb";
import type { PartitionHead } from "../../../ports/log.js";
import type { BatchDocument } from "./batch-document.js";

/** One partition: the batch that begins last, and the one at seq 1. */
export interface BatchEnds {
  readonly partition: number;
  readonly last: readonly Pick<BatchDocument, "first" | "last" | "sumBytes">[];
  readonly anchor: readonly Pick<BatchDocument, "floor" | "floorBytes" | "missing">[];
}

/** On the collection of topics: one row per partition; none if the topic is undefined. The floor is read last. */
export function headsPipeline(topic: string, batches: string): Document[] {
  const find = (as: string, match: Document, fields: Document): Document => ({
    $lookup: {
      from: batches,
      localField: "partition",
      foreignField: "partition",
      as,
      pipeline: [
        { $match: { topic, ...match } },
        { $sort: { first: -1 } },
        { $limit: 1 },
        { $project: fields },
      ],
    },
  });
  return [
    { $match: { _id: topic } },
    { $project: { partition: { $range: [0, "$partitions"] } } },
    { $unwind: "$partition" },
    find("last", {}, { first: 1, last: 1, sumBytes: 1 }),
    find("anchor", { first: 1 }, { floor: 1, floorBytes: 1, missing: 1 }),
  ];
}

export function headOf({ partition, last: [last], anchor: [anchor] }: BatchEnds): PartitionHead {
  const { floor = 0, floorBytes = 0, missing = 0 } = anchor ?? {};
  // What a late writer left below the floor is not the end.
  const end = last === undefined || last.first <= floor ? { last: floor, sumBytes: floorBytes } : last;
  const spread = end.last - floor;
  const events = Math.max(0, spread - missing);
  // Events removed in between are taken to have been of average size.
  const bytes = spread === 0 ? 0 : Math.round(((end.sumBytes - floorBytes) * events) / spread);
  return { partition, head: end.last, low: floor + 1, events, bytes };
}
