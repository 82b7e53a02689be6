/**
 * The one error class. Callers branch on `code`; the message is for people. Only drivers translate their
 * engine's errors into codes, and only the hub translates codes into HTTP or WebSocket terms.
 */

/** Programs branch on it. The last four are said by hubs alone, to their clients. */
export type ErrorCode =
  | "INVALID_TOPIC"
  | "INVALID_OPTION"
  | "INVALID_PAYLOAD"
  | "PAYLOAD_TOO_LARGE"
  | "SCHEMA_VIOLATION"
  | "SCHEMA_INCOMPATIBLE"
  | "SCHEMA_CONFLICT"
  | "TOPIC_CONFLICT"
  | "ID_CONFLICT"
  | "NOT_FOUND"
  | "LEASE_LOST"
  | "WRITE_CONFLICT"
  | "ACK_TIMEOUT"
  | "HANDLER_FAILED"
  | "QUEUE_FULL"
  | "CLOSED"
  | "ABORTED"
  | "UNSUPPORTED"
  | "OUTCOME_UNKNOWN"
  | "STORE_UNAVAILABLE"
  | "STORE_FULL"
  | "STORE_DAMAGED"
  | "STORE_LOCKED"
  | "STORE_INCOMPATIBLE"
  | "INTERNAL"
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "RATE_LIMITED"
  | "BAD_REQUEST";

/** Codes after which the same call, with the same id, may well succeed. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  "QUEUE_FULL",
  "OUTCOME_UNKNOWN",
  "STORE_UNAVAILABLE",
  "STORE_FULL",
  "WRITE_CONFLICT",
  "STORE_LOCKED",
  "RATE_LIMITED",
]);

/** What an error is given besides its code and its message. */
export interface BusErrorOptions {
  readonly cause?: unknown;
  /** Overrides what the code implies. */
  readonly retryable?: boolean;
  /** Facts for programs: paths, positions, limits. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * Every failure this library reports.
 *
 * @example
 * try { await bus.publish("orders", order); }
 * catch (e) { if (BusError.is(e, "QUEUE_FULL")) slowDown(); else throw e; }
 */
export class BusError extends Error {
  override readonly name: string = "BusError";
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, options: BusErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? RETRYABLE.has(code);
    this.details = options.details;
  }

  static is(error: unknown, code?: ErrorCode): error is BusError {
    return error instanceof BusError && (code === undefined || error.code === code);
  }

  /** Any thrown value as a BusError; strings, undefined and foreign errors included. */
  static from(error: unknown, code: ErrorCode = "INTERNAL"): BusError {
    if (error instanceof BusError) return error;
    return new BusError(code, describeThrown(error), { cause: error });
  }
}

/** Thrown by a handler that knows a retry is pointless: the event is dead-lettered at once. */
export class Fatal extends BusError {
  override readonly name: string = "Fatal";

  constructor(message: string, options: BusErrorOptions = {}) {
    super("HANDLER_FAILED", message, { ...options, retryable: false });
  }
}

const MOST_SAID = 500;
/** No more is looked at: to find the line breaks among a million blanks would take hours. */
const MOST_READ = 4 * MOST_SAID;

/** One line about whatever was thrown, safe for logs and cursors: no stack, bounded length. */
export function describeThrown(thrown: unknown): string {
  let text: string;
  try {
    text = thrown instanceof Error ? String(thrown.message || thrown.name) : printable(thrown);
  } catch {
    text = "something that cannot be described was thrown";
  }
  return inBrief(text);
}

/** One line of bounded length. */
export function inBrief(text: string): string {
  const line = text.slice(0, MOST_READ).replace(/\s*[\r\n]+\s*/g, " ");
  return line.length > MOST_SAID || text.length > MOST_READ ? `${line.slice(0, MOST_SAID - 1)}…` : line;
}

function printable(value: unknown): string {
  if (value === "") return "an empty string was thrown";
  if (value === null || typeof value !== "object") return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
