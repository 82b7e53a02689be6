/** Errors as HTTP answers (RFC 9457) and as WebSocket terms. The only place where codes become numbers. */
import { BusError, type ErrorCode } from "../model/errors.js";

/** Those of the library, and those that only HTTP has. */
export type HubCode =
  | ErrorCode
  | "UNSUPPORTED_MEDIA_TYPE"
  | "BODY_TOO_LARGE"
  | "METHOD_NOT_ALLOWED"
  | "REQUEST_TIMEOUT"
  | "HEADERS_TOO_LARGE";

const STATUS: { readonly [C in HubCode]: number } = {
  BAD_REQUEST: 400,
  INVALID_TOPIC: 400,
  INVALID_OPTION: 400,
  INVALID_PAYLOAD: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  ID_CONFLICT: 409,
  TOPIC_CONFLICT: 409,
  SCHEMA_CONFLICT: 409,
  WRITE_CONFLICT: 409,
  LEASE_LOST: 409,
  PAYLOAD_TOO_LARGE: 413,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  SCHEMA_VIOLATION: 422,
  SCHEMA_INCOMPATIBLE: 422,
  HEADERS_TOO_LARGE: 431,
  RATE_LIMITED: 429,
  QUEUE_FULL: 429,
  UNSUPPORTED: 501,
  ACK_TIMEOUT: 504,
  HANDLER_FAILED: 500,
  ABORTED: 503,
  CLOSED: 503,
  OUTCOME_UNKNOWN: 503,
  STORE_UNAVAILABLE: 503,
  STORE_LOCKED: 503,
  STORE_DAMAGED: 503,
  STORE_INCOMPATIBLE: 503,
  STORE_FULL: 507,
  INTERNAL: 500,
};

const TITLES: { readonly [status: number]: string } = {
  400: "Bad request",
  401: "Not authenticated",
  403: "Forbidden",
  404: "Not found",
  405: "Method not allowed",
  408: "Timed out",
  409: "Conflict",
  413: "Too large",
  415: "Unsupported media type",
  422: "Unprocessable content",
  429: "Too many requests",
  431: "Too large",
  500: "Internal error",
  501: "Not supported",
  503: "Unavailable",
  504: "Timed out",
  507: "Insufficient storage",
};

/** A failure that the hub answers with. */
export class HubError extends Error {
  readonly code: HubCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    code: HubCode,
    message: string,
    o: { details?: Readonly<Record<string, unknown>>; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, o.cause === undefined ? undefined : { cause: o.cause });
    this.code = code;
    this.details = o.details;
    this.retryAfterMs = o.retryAfterMs;
  }
}

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: HubCode;
  readonly detail: string;
  readonly [extension: string]: unknown;
}

/** What a client is told. An error nobody foresaw says nothing of its insides. */
export function problemOf(error: unknown): Problem {
  const known = error instanceof HubError || error instanceof BusError;
  const code: HubCode = known ? error.code : "INTERNAL";
  const status = STATUS[code];
  const detail =
    known && code !== "INTERNAL" ? error.message : "something went wrong inside the hub; its log says what";
  return {
    type: `urn:promethean:problem:${code.toLowerCase().replaceAll("_", "-")}`,
    title: TITLES[status] ?? "Error",
    status,
    code,
    detail,
    ...(known && code !== "INTERNAL" ? safeDetails(code, error.details) : undefined),
  };
}

/** Seconds for Retry-After, where waiting helps. */
export function retryAfterSeconds(error: unknown): number | undefined {
  if (error instanceof HubError && error.retryAfterMs !== undefined)
    return Math.max(1, Math.ceil(error.retryAfterMs / 1_000));
  const { status } = problemOf(error);
  return status === 503 || status === 429 ? 1 : undefined;
}

/** Where an id is taken is for those to know who may read there: they find it by its id. */
const PLACE: ReadonlySet<string> = new Set(["topic", "partition", "seq"]);

function safeDetails(
  code: HubCode,
  details: Readonly<Record<string, unknown>> | undefined,
): Record<string, unknown> {
  const { type: _t, title: _i, status: _s, code: _c, detail: _d, ...rest } = details ?? {};
  if (code !== "ID_CONFLICT") return rest;
  const { failed } = rest;
  return { ...withoutPlace(rest), ...(Array.isArray(failed) && { failed: failed.map(withoutPlace) }) };
}

function withoutPlace(details: object): object {
  return Object.fromEntries(Object.entries(details).filter(([name]) => !PLACE.has(name)));
}
