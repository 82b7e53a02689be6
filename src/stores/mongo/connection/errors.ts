/**
 * What went wrong in MongoDB, as codes of ours with what to do about it. The only place that knows the driver's error
 * classes and the server's numbers.
 *
 * A failed read had no effect. A failed write may have had one unless the server said otherwise: the driver retries by
 * itself and then shows only the last failure, so that even "no server found" may hide a write that went through.
 */
import { BusError, describeThrown, type ErrorCode } from "../../../model/errors.js";
import { verdictOnConnecting } from "./connect-errors.js";
import { isMongo } from "./driver-kinds.js";
import { type MissingRight, missingRight } from "./rights.js";

/** Whether a call that failed may have changed something. */
export type Effect = "none" | "possible";

export interface Verdict {
  readonly code: ErrorCode;
  readonly advice: string;
  readonly retryable?: boolean;
}

const NOT_SERVING: Verdict = {
  code: "STORE_UNAVAILABLE",
  advice:
    "the MongoDB server cannot serve just now (it is shutting down, or another primary is being elected)",
};
/** By an administrator, or by the server itself. Of an insert of many, some may be in. */
const INTERRUPTED: Verdict = {
  code: "STORE_UNAVAILABLE",
  advice: "MongoDB ended it before it was done (its session, cursor or operation was killed)",
};
const TOO_LARGE: Verdict = {
  code: "PAYLOAD_TOO_LARGE",
  advice: "MongoDB takes 16 MiB per document at most",
};
const FOREIGN_INDEX: Verdict = {
  code: "STORE_INCOMPATIBLE",
  advice: "an index that is not ours is in the way: drop it, or use another database or prefix",
};
const TRANSACTION_ENDED: Verdict = {
  code: "WRITE_CONFLICT",
  advice: "the transaction was ended by the server",
};
const FULL: Verdict = { code: "STORE_FULL", advice: "MongoDB has no room left: free or add disk space" };

const ATLAS = 8000;

const BY_SERVER_CODE: ReadonlyMap<number, Verdict> = new Map([
  ...[6, 7, 89, 91, 189, 9001, 10058, 10107, 11600, 11602, 13435, 13436, 134, 133].map(
    (code) => [code, NOT_SERVING] as const,
  ),
  ...[24, 43, 175, 237, 279, 355, 365, 11601, 46841].map((code) => [code, INTERRUPTED] as const),
  [18, refused("MongoDB refused the credentials: check user, password and authSource in the address")],
  [ATLAS, refused("MongoDB refused the credentials: check user, password and authSource in the address")],
  [334, refused("MongoDB has not enabled this way to sign in: check authMechanism in the address")],
  [13, refused("MongoDB refuses: the address must name a user (mongodb://user:password@…) who may do this")],
  [20, { code: "UNSUPPORTED", advice: "this needs a replica set; the server is a standalone one" }],
  [50, { code: "STORE_UNAVAILABLE", advice: "MongoDB did not finish in time" }],
  [262, { code: "STORE_UNAVAILABLE", advice: "MongoDB did not finish in time" }],
  [
    100,
    {
      code: "STORE_UNAVAILABLE",
      advice: "the replica set has too few data nodes for a majority: bring them back",
    },
  ],
  [112, { code: "WRITE_CONFLICT", advice: "another writer changed the same documents" }],
  [251, TRANSACTION_ENDED],
  [
    13297,
    { code: "INVALID_OPTION", advice: "MongoDB takes no two databases whose names differ in case alone" },
  ],
  [
    73,
    {
      code: "INVALID_OPTION",
      advice: "MongoDB does not take the name: database, prefix and view have 255 bytes together at most",
    },
  ],
  [
    171,
    {
      code: "INVALID_PAYLOAD",
      advice: "of the fields of one index of a view, MongoDB lets no more than one hold a list",
    },
  ],
  [15, { code: "INVALID_PAYLOAD", advice: "MongoDB takes a document of 180 levels at most" }],
  [241, { code: "INVALID_PAYLOAD", advice: "a sum is beyond the largest number, and has no JSON form" }],
  [
    388,
    {
      code: "PAYLOAD_TOO_LARGE",
      advice:
        "what one transaction writes must fit into a part of MongoDB's cache: write less at once, or give it more",
    },
  ],
  [85, FOREIGN_INDEX],
  [86, FOREIGN_INDEX],
  [10334, TOO_LARGE],
  [17419, TOO_LARGE],
  [17420, TOO_LARGE],
  [14031, FULL],
  [12501, FULL],
  [10003, FULL],
]);

function refused(advice: string): Verdict {
  return { code: "STORE_UNAVAILABLE", advice, retryable: false };
}

/** Any thrown value as a BusError. */
export function busError(thrown: unknown, effect: Effect): BusError {
  const error = rootOf(thrown);
  if (error instanceof BusError) return error;
  if (isTooLarge(error)) return new BusError(TOO_LARGE.code, TOO_LARGE.advice, { cause: thrown });
  if (!isMongo(error, "MongoError") && !isSocketError(error)) return BusError.from(error);
  const missing = refusalIn(error);
  // Without a cause: that one repeats the command, and what is in it.
  if (missing !== undefined) {
    const { advice, right, on } = missing;
    return new BusError("STORE_UNAVAILABLE", advice, { retryable: false, details: { right, on } });
  }
  const { code, advice, retryable } = verdictOn(error, effect);
  return new BusError(code, `${advice}: ${describeThrown(error)}`, {
    cause: thrown,
    ...(retryable === undefined ? undefined : { retryable }),
  });
}

/** The driver measures some documents before it sends them; others run out of the room in which it writes them. */
function isTooLarge(error: unknown): boolean {
  if (isMongo(error, "MongoInvalidArgumentError")) return /larger than the maximum size/.test(error.message);
  return error instanceof RangeError && (error as NodeJS.ErrnoException).code === "ERR_OUT_OF_RANGE";
}

function verdictOn(error: Error, effect: Effect): Verdict {
  if (isClosed(error) && !(effect === "possible" && mayHaveHappened(error)))
    return { code: "CLOSED", advice: "the MongoDB client is closed" };
  const known = serverCodeOf(error);
  const verdict = isOverQuota(error, known) ? FULL : BY_SERVER_CODE.get(known ?? Number.NaN);
  if (verdict !== undefined && verdict.code !== "STORE_UNAVAILABLE") return verdict;
  if (verdict?.retryable === false) return verdict;
  if (effect === "possible" && mayHaveHappened(error)) {
    return { code: "OUTCOME_UNKNOWN", advice: "the connection to MongoDB was lost in the middle of a write" };
  }
  if (verdict !== undefined) return verdict;
  const connecting = verdictOnConnecting(error);
  if (connecting !== undefined) return connecting;
  if (isLostConnection(error)) {
    return { code: "STORE_UNAVAILABLE", advice: "the connection to MongoDB was lost" };
  }
  if (isDuplicateKey(error)) {
    return { code: "WRITE_CONFLICT", advice: "a unique index forbids it", retryable: false };
  }
  if (isRepeatable(error)) return TRANSACTION_ENDED;
  return {
    code: "INTERNAL",
    advice: isMongo(error, "MongoAPIError") ? "MongoDB's driver failed" : "MongoDB failed",
  };
}

/** MongoDB Atlas says all that it refuses by one number. */
function isOverQuota({ message }: Error, code: number | undefined): boolean {
  return code === ATLAS && /\bspace quota\b/.test(message);
}

function isClosed(error: Error): boolean {
  return (
    isMongo(error, "MongoNotConnectedError") ||
    isMongo(error, "MongoTopologyClosedError") ||
    isMongo(error, "MongoClientClosedError")
  );
}

/** The right that is missing, if that is what went wrong. */
function refusalIn(error: Error): MissingRight | undefined {
  const isRefusal = isMongo(error, "MongoServerError") && (error.code === 13 || error.code === ATLAS);
  return isRefusal ? missingRight(error.message) : undefined;
}

/** Credentials are refused while connecting, and show only as the reason why no server was found. */
function serverCodeOf(error: Error): number | undefined {
  if (isMongo(error, "MongoError") && typeof error.code === "number") return error.code;
  if (isMongo(error, "MongoServerSelectionError")) {
    for (const server of error.reason?.servers.values() ?? []) {
      const code = server.error?.code;
      if (code === 18 || code === 13) return code;
    }
  }
  return undefined;
}

/** In bulk, the driver wraps whatever goes wrong, a lost connection included, into an error of the server's. */
function rootOf(error: unknown): unknown {
  if (!isMongo(error, "MongoBulkWriteError")) return error;
  const response: unknown = error.errorResponse;
  return response instanceof Error ? response : error;
}

/** Whether a write that failed like this may still have been done, or be undone by a failover. */
export function mayHaveHappened(thrown: unknown): boolean {
  const error = rootOf(thrown);
  // The last one is of a command under way when the client's owner closed it.
  if (isLostConnection(error) || isMongo(error, "MongoClientClosedError")) return true;
  if (isMongo(error, "MongoWriteConcernError")) return true;
  if (isMongo(error, "MongoBulkWriteError") && error.result.getWriteConcernError() !== undefined) return true;
  if (!isMongo(error, "MongoError")) return false;
  if (error.hasErrorLabel("NoWritesPerformed")) return false;
  if (error.hasErrorLabel("RetryableWriteError") || error.hasErrorLabel("PoolRequestedRetry")) return true;
  const verdict = typeof error.code === "number" ? BY_SERVER_CODE.get(error.code) : undefined;
  return verdict?.code === "STORE_UNAVAILABLE" && verdict.retryable !== false;
}

/** Whether the server gave up in the middle, for the time that it was given: not for a majority that it waited for. */
export function isTimeUp(error: unknown): boolean {
  return isMongo(error, "MongoServerError") && !isMongo(error, "MongoWriteConcernError") && error.code === 50;
}

/** Whether an error ended a transaction without effect, so that it can be begun anew. */
export function isTransient(thrown: unknown): boolean {
  const error = rootOf(thrown);
  return isLostConnection(error) || isRepeatable(error);
}

/** Whether the driver itself says so. */
export function isRepeatable(error: unknown): boolean {
  return isMongo(error, "MongoError") && error.hasErrorLabel("TransientTransactionError");
}

/** Whether the server had ended the transaction, as it does with one whose time is up, before it was asked for this. */
export function isEndedByServer(error: unknown): boolean {
  return isMongo(error, "MongoServerError") && (error.code === 251 || error.code === 290);
}

/** Whether nobody can tell if a commit that failed like this took place. */
export function isCommitUnknown(error: unknown): boolean {
  if (isLostConnection(error)) return true;
  return isMongo(error, "MongoError") && error.hasErrorLabel("UnknownTransactionCommitResult");
}

/** Errors of the driver about a server or a command that it gave up, told apart by name only. The last one is of earlier releases. */
const GIVEN_UP = /^Mongo(ServerClosed|PoolClosed|WaitQueueTimeout|StalePrimary|OperationTimeout)Error$/;

function isLostConnection(error: unknown): boolean {
  if (isMongo(error, "MongoNetworkError") || isMongo(error, "MongoServerSelectionError")) return true;
  return isSocketError(error) || (isMongo(error, "MongoError") && GIVEN_UP.test(error.name));
}

/** A socket that breaks while a command is written to it shows as Node's own error, which the driver passes on. */
function isSocketError(error: unknown): error is Error {
  if (!(error instanceof Error) || isMongo(error, "MongoError") || error instanceof BusError) return false;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === "string" && /^(E[A-Z]+|ERR_(STREAM|SOCKET)_[A-Z_]+)$/.test(code);
}

/** A command that is not part of the interface that a client was told to keep to (`serverApi`, strict). */
export function isOutsideApi(error: unknown): boolean {
  return isMongo(error, "MongoServerError") && error.code === 323;
}

/** There is no such collection, or not any more. */
export function isNoCollection(error: unknown): boolean {
  return isMongo(error, "MongoServerError") && error.code === 26;
}

export function isDuplicateKey(error: unknown): boolean {
  return isMongo(error, "MongoServerError") && error.code === 11000;
}

/** The name of the unique index that a write ran into. */
export function duplicateIndex(message: string | undefined): string | undefined {
  return /index: (\S+)/.exec(message ?? "")?.[1];
}

/** Two upserts of the same new document may meet; the one that lost finds it the second time. */
export async function retryDuplicates<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return await write();
  }
}
