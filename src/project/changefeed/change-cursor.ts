/**
 * A change stream, batch by batch; behind one that brought something the next is asked for ahead. Each batch comes with the token from which a later stream goes on behind it, also
 * when it is empty: a feed on a quiet collection must move its resume point too, or a busy neighbour pushes it out of
 * the server's log (P12).
 */

import {
  type BSONSerializeOptions,
  type ChangeStreamDocument,
  type ClientSession,
  type Collection,
  type Db,
  type Document,
  Long,
  type MongoServerError,
  type ResumeToken,
  Timestamp,
} from "mongodb";
import { isErrorNamed } from "../../model/error-named.js";
import { BusError } from "../../model/errors.js";
import { NO_NAMES } from "../../model/no-names.js";

/** What a stream begins behind: a token, or a time of the server's own clock. */
export type StreamStart = { readonly after: ResumeToken } | { readonly at: Timestamp };

export interface ChangeBatch {
  readonly changes: readonly ChangeStreamDocument[];
  readonly token: ResumeToken;
}

/**
 * The place to go on from is gone, or cannot be gone on from: history lost, a fatal error, a token that no longer
 * fits, a position overwritten, an event too large for the server to tell.
 */
const LOST_PLACE = new Set([286, 280, 260, 136, 10_334, 40_647, 40_649, 50_811]);

export function isLostPlace(error: unknown): error is MongoServerError {
  return isErrorNamed(error, "MongoServerError") && LOST_PLACE.has(Number((error as MongoServerError).code));
}

const AWAIT_MS = 1_000;

/**
 * How documents are read, whatever the caller's client does: what is compared must have been read in one way. Whatever a server
 * holds must be readable, lest one document hold up all others: patterns that are none in JavaScript, text that is no UTF-8.
 */
const READING: BSONSerializeOptions = {
  promoteValues: true,
  promoteLongs: true,
  promoteBuffers: false,
  useBigInt64: false,
  bsonRegExp: true,
  enableUtf8Validation: false,
  raw: false,
  fieldsAsRaw: NO_NAMES,
};

/** The collection, for looking at its documents beside the stream. */
export function sourceOf(db: Db, name: string): Collection {
  return db.collection(name, { ...READING, readConcern: { level: "majority" }, readPreference: "primary" });
}

interface Reply {
  readonly cursor: {
    readonly id: Long | number;
    readonly firstBatch?: readonly ChangeStreamDocument[];
    readonly nextBatch?: readonly ChangeStreamDocument[];
    readonly postBatchResumeToken: ResumeToken;
  };
}

export interface CursorOptions {
  readonly start: StreamStart;
  readonly batchSize: number;
  /** The collection keeps images of its documents before and after each change. */
  readonly images: boolean;
}

export class ChangeCursor {
  readonly #db: Db;
  readonly #collection: string;
  readonly #session: ClientSession;
  readonly #batchSize: number;
  #id: Long;
  #first: ChangeBatch | null;
  #asked: Promise<ChangeBatch> | null = null;

  private constructor(db: Db, collection: string, session: ClientSession, batchSize: number, reply: Reply) {
    this.#db = db;
    this.#collection = collection;
    this.#session = session;
    this.#batchSize = batchSize;
    this.#id = Long.fromValue(reply.cursor.id);
    this.#first = batchOf(reply);
  }

  static async open(db: Db, collection: string, options: CursorOptions): Promise<ChangeCursor> {
    const { start, batchSize, images } = options;
    const stage: Document = {
      fullDocument: images ? "whenAvailable" : "updateLookup",
      fullDocumentBeforeChange: "whenAvailable",
      ...("after" in start ? { startAfter: start.after } : { startAtOperationTime: justAfter(start.at) }),
    };
    const session = db.client.startSession();
    try {
      const reply = await db.command(
        {
          aggregate: collection,
          pipeline: [{ $changeStream: stage }],
          cursor: { batchSize },
          readConcern: { level: "majority" },
        },
        { ...READING, session, readPreference: "primary" },
      );
      return new ChangeCursor(db, collection, session, batchSize, reply as unknown as Reply);
    } catch (error) {
      await session.endSession();
      throw error;
    }
  }

  /** The server has ended it: after an invalidation there is nothing more to come. */
  get over(): boolean {
    return this.#first === null && this.#asked === null && this.#id.isZero();
  }

  /** What has happened; waits a moment if nothing has. Not for long once `signal` says so: then it throws. */
  async next(signal: AbortSignal): Promise<ChangeBatch> {
    const kill = (): void => void this.#kill();
    signal.addEventListener("abort", kill, { once: true });
    try {
      const batch = await (this.#asked ?? this.#ask());
      const goesOn = batch.changes.length > 0 && !this.#id.isZero();
      this.#asked = goesOn ? this.#ask() : null;
      // Told to whoever asks next.
      this.#asked?.catch(() => undefined);
      return batch;
    } finally {
      signal.removeEventListener("abort", kill);
    }
  }

  async #ask(): Promise<ChangeBatch> {
    const first = this.#first;
    this.#first = null;
    if (first !== null && (first.changes.length > 0 || this.#id.isZero())) return first;
    const reply = (await this.#db.command(
      {
        getMore: this.#id,
        collection: this.#collection,
        batchSize: this.#batchSize,
        maxTimeMS: AWAIT_MS,
      },
      { ...READING, session: this.#session, readPreference: "primary" },
    )) as unknown as Reply;
    this.#id = Long.fromValue(reply.cursor.id);
    return batchOf(reply);
  }

  async close(): Promise<void> {
    await this.#kill();
    await this.#asked?.catch(() => undefined);
    await this.#session.endSession();
  }

  /** Whoever waits for it is told so. */
  async #kill(): Promise<void> {
    if (this.#id.isZero()) return;
    try {
      const command = { killCursors: this.#collection, cursors: [this.#id] };
      await this.#db.command(command, { session: this.#session });
    } catch {
      // The server is away, and ends it by itself.
    }
  }
}

function justAfter(time: Timestamp): Timestamp {
  return new Timestamp({ t: time.getHighBitsUnsigned(), i: time.getLowBitsUnsigned() + 1 });
}

function batchOf({ cursor }: Reply): ChangeBatch {
  return { changes: cursor.firstBatch ?? cursor.nextBatch ?? [], token: cursor.postBatchResumeToken };
}

/** The server's own time, now; whatever was committed before is at or below it. UNSUPPORTED where it has none. */
export async function clusterTime(db: Db): Promise<Timestamp> {
  const reply = await db.command({ ping: 1 }, { readPreference: "primary" });
  const time = (reply.$clusterTime?.clusterTime ?? reply.operationTime) as Timestamp | undefined;
  if (time !== undefined) return time;
  throw new BusError(
    "UNSUPPORTED",
    `the MongoDB server of "${db.databaseName}" is a standalone one: a change feed needs a replica set (one node is enough)`,
  );
}

export async function keepsImages(db: Db, collection: string): Promise<boolean> {
  const [found] = await db.listCollections({ name: collection }).toArray();
  const options = (found as { options?: Document } | undefined)?.options;
  return options?.changeStreamPreAndPostImages?.enabled === true;
}
