/** Wakes a drainer when an entry was committed, by a change stream of the outbox's collection. */
import type { Collection, Document } from "mongodb";
import { callSafely } from "../../../model/call-safely.js";
import type { OutboxDocument } from "../collections.js";
import { ChangeLoop } from "../signals/change-loop.js";

/** Entries that appear, and entries that become pending again. */
const PIPELINE: Document[] = [
  {
    $match: {
      $or: [{ operationType: "insert" }, { "updateDescription.updatedFields.status": "pending" }],
    },
  },
  { $project: { _id: 1 } },
];

export interface OutboxWatch {
  stop(): Promise<void>;
}

export function watchOutbox(rows: Collection<OutboxDocument>, wake: () => void): OutboxWatch {
  return new ChangeLoop({
    open: (resumeAfter) =>
      rows.watch(PIPELINE, { maxAwaitTimeMS: 1_000, ...(resumeAfter ? { resumeAfter } : {}) }),
    onChange: () => callSafely(wake),
    onGap: () => callSafely(wake),
    // Drainers poll as well: without change streams they are only slower.
    onUnavailable: () => undefined,
  });
}
