/** Writes to a view, each by itself: those before one that is refused have taken effect. */
import type { AnyBulkWriteOperation, Collection } from "mongodb";
import { BusError } from "../../../model/errors.js";
import type { DocumentWrite, WriteResult } from "../../../ports/documents.js";
import type { ViewRow } from "../collections.js";
import { isMongo } from "../connection/driver-kinds.js";
import { duplicateIndex } from "../connection/errors.js";
import { mayMeetNoNumber, operatorsFor, updateFor } from "./document-write.js";

const MAX_TRIES = 20;

interface Applied {
  readonly applied: number;
  /** Operations that are through. */
  readonly count: number;
  readonly error?: { readonly code: number; readonly errmsg?: string | undefined };
  readonly cause?: unknown;
}

export async function writeEach(
  rows: Collection<ViewRow>,
  view: string,
  writes: readonly DocumentWrite[],
): Promise<WriteResult> {
  let operations = writes.map((write) =>
    mayMeetNoNumber(write) ? updateFor(write) : operatorsFor({ write, count: 1 }),
  );
  let applied = 0;
  for (let tries = 0; operations.length > 0; tries++) {
    const done = await apply(rows, operations);
    applied += done.applied;
    // Two writers that create one document at once: the one that lost finds it the second time.
    if (done.error !== undefined) {
      const retry = duplicateIndex(done.error.errmsg) === "_id_" && tries < MAX_TRIES;
      if (!retry) throw done.error.code === 11000 ? duplicateValues(view, done.cause) : done.cause;
    }
    operations = operations.slice(done.count);
  }
  return { applied, stale: writes.length - applied };
}

async function apply(
  rows: Collection<ViewRow>,
  operations: readonly AnyBulkWriteOperation<ViewRow>[],
): Promise<Applied> {
  try {
    const { modifiedCount, upsertedCount } = await rows.bulkWrite(operations, { ordered: true });
    return { applied: modifiedCount + upsertedCount, count: operations.length };
  } catch (error) {
    if (!isMongo(error, "MongoBulkWriteError") || error.result.getWriteConcernError() !== undefined)
      throw error;
    const [first] = [error.writeErrors].flat();
    if (first === undefined) throw error;
    const { modifiedCount, upsertedCount } = error.result;
    return { applied: modifiedCount + upsertedCount, count: first.index, error: first, cause: error };
  }
}

/** A unique index of the view keeps a document out. */
export function duplicateValues(view: string, cause: unknown): BusError {
  return new BusError(
    "WRITE_CONFLICT",
    `a document has the same values as another one in a unique index of view "${view}"`,
    { cause, retryable: false, details: { view } },
  );
}
