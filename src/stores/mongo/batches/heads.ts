/** Where each partition of topics of batches begins and ends, and how much is in it, in one question. */
import type { Document } from "mongodb";
import type { PartitionHead } from "../../../ports/log.js";
import { firstOf, partitionsOf } from "../events/partition-head.js";
import type { BatchDocument } from "./batch-document.js";

/** One partition: the batch that begins last, and the one at seq 1. */
export interface BatchEnds {
  /** The topic. */
  readonly _id: string;
  readonly partition: number;
  readonly last: readonly Pick<BatchDocument, "first" | "last" | "sumBytes">[];
  readonly anchor: readonly Pick<BatchDocument, "floor" | "floorBytes" | "missing">[];
}

/** On the collection of topics: one row per partition; none if undefined. The floor is read last. */
export function headsPipeline(topics: readonly string[], batches: string): Document[] {
  const sort = { first: -1 };
  const last = { first: 1, last: 1, sumBytes: 1 };
  const anchor = { floor: 1, floorBytes: 1, missing: 1 };
  return [
    ...partitionsOf(topics),
    firstOf("last", { from: batches, match: {}, sort, fields: last }),
    firstOf("anchor", { from: batches, match: { first: 1 }, sort, fields: anchor }),
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
