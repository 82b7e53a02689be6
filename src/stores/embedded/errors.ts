/**
 * What SQLite says, in the codes of the bus, with a word on what to do; and errors on their way between threads,
 * where only plain objects survive.
 */
import { BusError, describeThrown, type ErrorCode } from "../../model/errors.js";
import { SqliteFault } from "./sqlite.js";

/** A BusError as a plain object. */
export interface PackedError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>> | undefined;
}

export function packError(error: BusError): PackedError {
  const { code, message, retryable, details } = error;
  return { code, message, retryable, details };
}

export function unpackError({ code, message, retryable, details }: PackedError): BusError {
  return new BusError(code, message, { retryable, ...(details === undefined ? undefined : { details }) });
}

/** Of these our own words say all that is to be known; of the others, SQLite's stand beside them. */
const SAID: ReadonlySet<string> = new Set("FULL BUSY LOCKED NOTADB READONLY PERM CANTOPEN".split(" "));

/** Any error that a connection to `path` threw, as a BusError. */
export function busError(error: unknown, path: string): BusError {
  if (error instanceof BusError) return error;
  if (!(error instanceof SqliteFault)) return BusError.from(error);
  // Every statement is a fixed text: a table or column that it does not find was there once.
  const isTorn = error.code === "SQLITE_ERROR" && /^no such (table|column)|malformed/.test(error.message);
  const [code, words, retryable] = explain(isTorn ? "SQLITE_CORRUPT" : error.code, path);
  const isSaid = SAID.has(error.code.split("_")[1] ?? "");
  return new BusError(code, isSaid ? words : `${words} (${error.code}: ${describeThrown(error)})`, {
    cause: error,
    details: { path, sqlite: error.code },
    ...(retryable === undefined ? undefined : { retryable }),
  });
}

/** What the file system says; a BusError stays what it is. */
export function unavailable(words: string, cause: unknown): BusError {
  if (BusError.is(cause)) return cause;
  const why = WHY[String((cause as NodeJS.ErrnoException).code)] ?? describeThrown(cause);
  return new BusError("STORE_UNAVAILABLE", `${words}: ${why}`, { cause, retryable: false });
}

/** The system's own words name the file that failed, and that is one that nobody but us knows of. */
const WHY: Readonly<Record<string, string>> = {
  ENOENT: "its folder is not there",
  ENOTDIR: "what should be its folder is a file",
  EACCES: "the right to write there is missing",
  EPERM: "the right to write there is missing",
  EROFS: "the file system can only be read",
};

/** Whether somebody else holds the file just now. */
export function isBusy(error: unknown): boolean {
  return error instanceof SqliteFault && /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(error.code);
}

export function isFull(error: unknown): boolean {
  return error instanceof SqliteFault && error.code.startsWith("SQLITE_FULL");
}

/** Whether the device failed in the middle of a commit, so that nobody knows what of it is on disk. */
export function isUncertain(error: unknown): boolean {
  return error instanceof SqliteFault && error.code.startsWith("SQLITE_IOERR");
}

function explain(sqlite: string, path: string): [code: ErrorCode, words: string, retryable?: boolean] {
  const family = sqlite.split("_")[1];
  switch (family) {
    case "FULL":
      return ["STORE_FULL", `there is no room left for ${path}; free some, and writing goes on by itself`];
    case "BUSY":
    case "LOCKED":
    case "PROTOCOL":
      return ["STORE_LOCKED", `another program holds ${path}; close it, or try again later`];
    case "CORRUPT":
      return ["STORE_DAMAGED", `${path} is damaged; restore it from a backup`];
    case "NOTADB":
      return [
        "STORE_INCOMPATIBLE",
        `${path} is not a SQLite database; give another path, or move that file away`,
      ];
    case "READONLY":
    case "PERM":
    case "AUTH":
      return [
        "STORE_UNAVAILABLE",
        `${path} cannot be written; check the rights of the file and its folder`,
        false,
      ];
    case "CANTOPEN":
      return [
        "STORE_UNAVAILABLE",
        `${path} cannot be opened; check that the folder exists and can be written`,
        false,
      ];
    case "IOERR":
      return ["STORE_UNAVAILABLE", `the device of ${path} failed`];
    default:
      return sqlite === "CLOSED"
        ? ["CLOSED", `the embedded store ${path} is closed`]
        : ["INTERNAL", `an unexpected fault of ${path}`];
  }
}
