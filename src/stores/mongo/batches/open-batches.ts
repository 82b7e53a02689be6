/**
 * The batches that pages ended in the middle of, so that the next page need not load them again. The server is asked
 * all the same: it leaves out the bytes if the batch has not changed.
 */
import type { Document } from "mongodb";
import type { Seq } from "../../../model/event.js";
import type { Place } from "../events/event-lookup.js";
import { type BatchDocument, BYTES } from "./batch-document.js";

const MAX_BYTES = 8 * 1_048_576;

export class OpenBatches {
  /** Oldest first. */
  readonly #batches = new Set<BatchDocument>();
  #bytes = 0;

  keep(batch: BatchDocument): void {
    if (this.#batches.has(batch)) return;
    for (const other of this.#batches)
      if (isSamePlace(batch, other) && other.first === batch.first) this.#drop(other);
    this.#batches.add(batch);
    this.#bytes += sizeOf(batch);
    for (const oldest of this.#batches) {
      if (this.#bytes <= MAX_BYTES || oldest === batch) break;
      this.#drop(oldest);
    }
  }

  /** The one that holds `seq`, if it is kept. */
  holding(place: Place, seq: Seq): BatchDocument | undefined {
    for (const batch of this.#batches) {
      if (isSamePlace(batch, place) && batch.first <= seq && seq <= batch.last) return batch;
    }
    return undefined;
  }

  #drop(batch: BatchDocument): void {
    if (this.#batches.delete(batch)) this.#bytes -= sizeOf(batch);
  }
}

/** What to ask for of a batch that may be `kept`. */
export function unlessKept(kept: BatchDocument | undefined): Document {
  if (kept === undefined) return BYTES;
  const isKept = {
    $and: [
      { $eq: ["$first", kept.first] },
      { $eq: ["$revision", kept.revision] },
      { $eq: ["$_id", kept._id] },
    ],
  };
  const unless = (field: string): Document => ({ $cond: [isKept, "$$REMOVE", field] });
  return { ...BYTES, uuids: unless("$uuids"), data: unless("$data") };
}

/** The batch as it was asked for, or as it was kept, if it is still the same. */
export function keptOr(found: BatchDocument | null, kept: BatchDocument | undefined): BatchDocument | null {
  if (found === null || kept === undefined) return found;
  return kept._id.equals(found._id) && kept.revision === found.revision ? kept : found;
}

function isSamePlace(a: Place, b: Place): boolean {
  return a.partition === b.partition && a.topic === b.topic;
}

function sizeOf({ uuids, data }: BatchDocument): number {
  return (uuids?.length() ?? 0) + (data?.length() ?? 0) + 200;
}
