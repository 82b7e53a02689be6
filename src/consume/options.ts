/** Subscription options: checked, with defaults. */

import { BusError } from "../model/errors.js";
import type { ReadPosition, SubscribeOptions } from "../model/event-bus.js";
import { checkOptionNames } from "../model/known-options.js";
import type { Limits } from "../model/limits.js";
import { checkRetry, DEFAULT_RETRY } from "../model/retry.js";
import type { GroupPolicy, Ordering } from "./delivery-state.js";
import type { HandlingPolicy } from "./entry.js";

/** What an option takes: the test, and the words for it. */
interface Rule {
  readonly fits: (value: unknown) => boolean;
  readonly expected: string;
}

type Rules<O> = { readonly [N in keyof O]-?: Rule };

const COUNT: Rule = { fits: isCount, expected: "a whole number above 0" };
const FLAG: Rule = { fits: (v) => typeof v === "boolean", expected: "true or false" };
const FUNCTION: Rule = { fits: (v) => typeof v === "function", expected: "a function" };

const PLACE: Rules<Pick<SubscribeOptions, "from" | "ts" | "afterId">> = {
  from: oneOf("latest", "earliest", "ts", "afterId"),
  ts: { fits: isTime, expected: "milliseconds since the epoch" },
  afterId: { fits: (v) => typeof v === "string", expected: "the id of an event" },
};

const SUBSCRIBE: Rules<SubscribeOptions> = {
  ...PLACE,
  batchSize: COUNT,
  maxInFlight: COUNT,
  ackTimeoutMs: COUNT,
  maxAttempts: COUNT,
  retry: {
    fits: (v) => typeof v === "object" && v !== null,
    expected: "an object with baseMs, maxMs, factor, jitter",
  },
  deadLetter: { fits: (v) => typeof v === "boolean" || v === "hold", expected: 'true, false or "hold"' },
  ordering: oneOf("key", "partition", "none"),
  manualAck: FLAG,
  filter: FUNCTION,
  signal: { fits: (v) => v instanceof AbortSignal, expected: "an AbortSignal" },
};

const READ: Rules<ReadPosition> = {
  ...PLACE,
  limit: { fits: (v) => v === 0 || v === Number.POSITIVE_INFINITY || isCount(v), expected: "a whole number" },
  partition: { fits: (v) => v === 0 || isCount(v), expected: "the number of a partition, from 0 on" },
  filter: FUNCTION,
};

/** Throws INVALID_OPTION that names the option and what it takes. */
export function checkSubscribeOptions(options: SubscribeOptions): void {
  checkOptions("subscribe", SUBSCRIBE, options);
  if (options.retry !== undefined) checkRetry(options.retry);
}

/** Throws INVALID_OPTION that names the option and what it takes. */
export function checkReadPosition(position: ReadPosition): void {
  checkOptions("read", READ, position);
}

function checkOptions<O extends { readonly from?: string; readonly ts?: number; readonly afterId?: string }>(
  call: string,
  rules: Rules<O>,
  options: O,
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new BusError("INVALID_OPTION", `${call} takes its options as an object`);
  checkOptionNames(call, options, Object.keys(rules));
  for (const [name, value] of Object.entries(options)) {
    const rule = rules[name as keyof O];
    if (value !== undefined && !rule.fits(value))
      throw new BusError("INVALID_OPTION", `${name} must be ${rule.expected}`);
  }
  for (const name of ["ts", "afterId"] as const) {
    if ((options.from === name) === (options[name] !== undefined)) continue;
    throw new BusError(
      "INVALID_OPTION",
      options.from === name ? `from: "${name}" needs ${name}` : `${name} counts only with from: "${name}"`,
    );
  }
}

function oneOf(...values: readonly string[]): Rule {
  const quoted = values.map((value) => `"${value}"`);
  return {
    fits: (v) => values.includes(v as string),
    expected: `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`,
  };
}

export function checkGroupName(group: unknown): asserts group is string {
  // Nothing but one or two dots would be no name in an address.
  if (typeof group !== "string" || group.length > 200 || !/^(?!\.{1,2}$)[\w.:@/-]+$/.test(group)) {
    throw new BusError(
      "INVALID_OPTION",
      `${typeof group === "string" ? JSON.stringify(group.slice(0, 220)) : typeof group} is not a group name: use 1 to 200 letters, digits or ". : @ / _ -", not "." or ".." alone`,
    );
  }
}

export const DEFAULT_ACK_TIMEOUT_MS = 30_000;

export function handlingPolicy(options: SubscribeOptions): HandlingPolicy {
  return {
    maxAttempts: options.maxAttempts ?? 5,
    ackTimeoutMs: options.ackTimeoutMs ?? DEFAULT_ACK_TIMEOUT_MS,
    retry: { ...DEFAULT_RETRY, ...options.retry },
    deadLetter: options.deadLetter !== false,
  };
}

/** What all subscribers of a group on a topic must agree on. */
export interface GroupMode {
  readonly ordering: Ordering;
  readonly hold: boolean;
  /** The most that its first subscriber takes at once; batches should not wait for the delivered mark. */
  readonly batchSize: number;
}

export function groupMode(options: SubscribeOptions, batchSize = 1): GroupMode {
  const mode = { ordering: options.ordering ?? "key", hold: options.deadLetter === "hold", batchSize };
  if (mode.hold && mode.ordering !== "key")
    throw new BusError("INVALID_OPTION", 'deadLetter: "hold" needs ordering: "key"');
  return mode;
}

export function groupPolicy(
  { ordering, hold, batchSize }: GroupMode,
  group: string,
  limits: Limits,
): GroupPolicy {
  return {
    ...(hold && {
      hold: { group, maxKeys: 1_000, releaseMs: 30_000, maxWaiting: limits.maxBufferedEvents >>> 2 },
    }),
    ordering,
    maxBufferedEvents: limits.maxBufferedEvents,
    maxBufferedBytes: limits.maxBufferedBytes,
    maxSpan: limits.maxSpan,
    stride: Math.max(1_000, Math.min(8 * batchSize, limits.maxBufferedEvents)),
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
