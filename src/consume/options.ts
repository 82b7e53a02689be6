/** Subscription options: checked, with defaults. */
import { BusError } from "../model/errors.js";
import type { SubscribeOptions } from "../model/event-bus.js";
import type { Limits } from "../model/limits.js";
import { DEFAULT_RETRY, type RetryPolicy } from "../model/retry.js";
import type { GroupPolicy, HandlingPolicy, Ordering } from "./delivery-state.js";

const KNOWN: { readonly [N in keyof SubscribeOptions]-?: (value: unknown) => boolean } = {
  from: (v) => v === "latest" || v === "earliest" || v === "ts" || v === "afterId",
  ts: isTime,
  afterId: (v) => typeof v === "string",
  batchSize: isCount,
  maxInFlight: isCount,
  ackTimeoutMs: isCount,
  maxAttempts: isCount,
  retry: (v) => typeof v === "object" && v !== null,
  deadLetter: (v) => typeof v === "boolean",
  ordering: (v) => v === "key" || v === "partition" || v === "none",
  manualAck: (v) => typeof v === "boolean",
  filter: (v) => typeof v === "function",
  signal: (v) => v instanceof AbortSignal,
};

const EXPECTED: { readonly [N in keyof SubscribeOptions]-?: string } = {
  from: '"latest", "earliest", "ts" or "afterId"',
  ts: "milliseconds since the epoch",
  afterId: "the id of an event",
  batchSize: "a whole number above 0",
  maxInFlight: "a whole number above 0",
  ackTimeoutMs: "a whole number above 0",
  maxAttempts: "a whole number above 0",
  retry: "an object with baseMs, maxMs, factor, jitter",
  deadLetter: "true or false",
  ordering: '"key", "partition" or "none"',
  manualAck: "true or false",
  filter: "a function",
  signal: "an AbortSignal",
};

/** Throws INVALID_OPTION that names the option and what it takes. */
export function checkSubscribeOptions(options: SubscribeOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (!(name in KNOWN)) {
      throw new BusError(
        "INVALID_OPTION",
        `subscribe knows no option "${name}"; it takes ${Object.keys(KNOWN).join(", ")}`,
      );
    }
    const known = name as keyof SubscribeOptions;
    if (value !== undefined && !KNOWN[known](value)) {
      throw new BusError("INVALID_OPTION", `${name} must be ${EXPECTED[known]}`);
    }
  }
  if (options.from === "ts" && options.ts === undefined)
    throw new BusError("INVALID_OPTION", 'from: "ts" needs ts');
  if (options.from === "afterId" && options.afterId === undefined) {
    throw new BusError("INVALID_OPTION", 'from: "afterId" needs afterId');
  }
  if (options.retry !== undefined) checkRetry(options.retry);
}

export function checkGroupName(group: unknown): asserts group is string {
  if (typeof group !== "string" || group.length === 0 || group.length > 200 || !/^[\w.:@/-]+$/.test(group)) {
    throw new BusError("INVALID_OPTION", 'a group name has 1 to 200 letters, digits or ". : @ / _ -"');
  }
}

function checkRetry(retry: Partial<RetryPolicy>): void {
  for (const [name, value] of Object.entries(retry)) {
    if (!(name in DEFAULT_RETRY)) {
      throw new BusError(
        "INVALID_OPTION",
        `retry knows no "${name}"; it takes ${Object.keys(DEFAULT_RETRY).join(", ")}`,
      );
    }
    if (
      typeof value !== "number" ||
      !Number.isFinite(value) ||
      value < 0 ||
      (name === "jitter" && value > 1)
    ) {
      throw new BusError(
        "INVALID_OPTION",
        `retry.${name} must be a number of 0 or more${name === "jitter" ? ", 1 at most" : ""}`,
      );
    }
  }
}

export function handlingPolicy(options: SubscribeOptions): HandlingPolicy {
  return {
    maxAttempts: options.maxAttempts ?? 5,
    ackTimeoutMs: options.ackTimeoutMs ?? 30_000,
    retry: { ...DEFAULT_RETRY, ...options.retry },
    deadLetter: options.deadLetter ?? true,
  };
}

export function groupPolicy(ordering: Ordering, limits: Limits): GroupPolicy {
  return {
    ordering,
    maxBufferedEvents: limits.maxBufferedEvents,
    maxBufferedBytes: limits.maxBufferedBytes,
    maxSpan: limits.maxSpan,
    stride: 1_000,
    commitEveryMs: 50,
    commitEverySettles: 1_000,
  };
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function isTime(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
