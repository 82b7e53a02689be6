/** One ordered insert into the log, and what became of it, told from the server's answer or from what the driver threw. */
import {
  type Collection,
  type Db,
  type Document,
  type MongoClient,
  MongoServerError,
  MongoWriteConcernError,
  type Timestamp,
} from "mongodb";
import { IDS_INDEX, PLACE_INDEX } from "../collections.js";
import { isMongo } from "../connection/driver-kinds.js";
import { duplicateIndex, mayHaveHappened } from "../connection/errors.js";

/** How many documents are in for sure, and what stopped the rest. */
export interface Inserted {
  readonly count: number;
  readonly stop: "none" | "seq taken" | "id taken" | "unknown" | "refused";
  /** The server's logical time right after it. */
  readonly at?: Timestamp | undefined;
  readonly error?: unknown;
}

const DURABLE = { w: "majority", j: true } as const;
type WriteConcernReply = ConstructorParameters<typeof MongoWriteConcernError>[0];

/** The driver's own way measures every document before it writes it, and retries what is resolved by id here. */
export async function insertByCommand(
  db: Db,
  insert: string,
  documents: readonly object[],
  maxTimeMS?: number,
): Promise<Inserted> {
  const bound = maxTimeMS === undefined ? undefined : { maxTimeMS };
  try {
    const reply = await db.command({ insert, documents, ordered: true, writeConcern: DURABLE, ...bound });
    return { ...answered(reply, documents.length), at: reply.operationTime as Timestamp | undefined };
  } catch (error) {
    return stoppedBy(error);
  }
}

/** As many commands as it takes. */
export async function insertByDriver<T extends Document>(
  client: MongoClient,
  collection: Collection<T>,
  documents: Parameters<Collection<T>["insertMany"]>[0],
): Promise<Inserted> {
  return await client.withSession(async (session) => {
    try {
      await collection.insertMany(documents, { ordered: true, session });
      return { count: documents.length, stop: "none", at: session.operationTime };
    } catch (error) {
      return { ...stoppedBy(error), at: session.operationTime };
    }
  });
}

/** What the server says of an insert that it went through. */
function answered(reply: Document, count: number): Inserted {
  if (reply.writeConcernError !== undefined) {
    return { count: 0, stop: "unknown", error: new MongoWriteConcernError(reply as WriteConcernReply) };
  }
  const [first] = (reply.writeErrors ?? []) as { index: number; code: number; errmsg: string }[];
  if (first === undefined) return { count, stop: "none" };
  const error = new MongoServerError(first);
  // A router tells so of a shard that it heard no end of: what stands before may be in as well, and was not counted.
  return mayHaveHappened(error) ? { count: 0, stop: "unknown", error } : stoppedAt(first, error);
}

function stoppedBy(error: unknown): Inserted {
  if (mayHaveHappened(error)) return { count: 0, stop: "unknown", error };
  if (!isMongo(error, "MongoBulkWriteError")) return { count: 0, stop: "refused", error };
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
