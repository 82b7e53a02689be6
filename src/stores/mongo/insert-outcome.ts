/** What became of one ordered insert into the log, told from the server's answer or from what the driver threw. */
import {
  type Document,
  MongoBulkWriteError,
  MongoServerError,
  MongoWriteConcernError,
  type Timestamp,
} from "mongodb";
import { IDS_INDEX, PLACE_INDEX } from "./collections.js";
import { duplicateIndex, mayHaveHappened } from "./errors.js";

/** How many documents are in for sure, and what stopped the rest. */
export interface Inserted {
  readonly count: number;
  readonly stop: "none" | "seq taken" | "id taken" | "unknown" | "refused";
  /** The server's logical time right after it. */
  readonly at?: Timestamp | undefined;
  readonly error?: unknown;
}

export const DURABLE = { w: "majority", j: true } as const;
type WriteConcernReply = ConstructorParameters<typeof MongoWriteConcernError>[0];

/** What the server says of an insert that it went through. */
export function answered(reply: Document, count: number): Inserted {
  if (reply.writeConcernError !== undefined) {
    return { count: 0, stop: "unknown", error: new MongoWriteConcernError(reply as WriteConcernReply) };
  }
  const [first] = (reply.writeErrors ?? []) as { index: number; code: number; errmsg: string }[];
  return first === undefined ? { count, stop: "none" } : stoppedAt(first, new MongoServerError(first));
}

export function stoppedBy(error: unknown): Inserted {
  if (mayHaveHappened(error)) return { count: 0, stop: "unknown", error };
  if (!(error instanceof MongoBulkWriteError)) return { count: 0, stop: "refused", error };
  const [first] = [error.writeErrors].flat();
  return stoppedAt({ index: first?.index ?? 0, code: first?.code, errmsg: first?.errmsg }, error);
}

interface WriteError {
  readonly index: number;
  readonly code: number | undefined;
  readonly errmsg: string | undefined;
}

/** Everything before the one that failed is in. */
function stoppedAt({ index: count, code, errmsg }: WriteError, error: unknown): Inserted {
  const index = code === 11000 ? duplicateIndex(errmsg) : undefined;
  if (index === PLACE_INDEX) return { count, stop: "seq taken" };
  const isId = index === "_id_" || index === IDS_INDEX;
  return isId ? { count, stop: "id taken" } : { count, stop: "refused", error };
}
