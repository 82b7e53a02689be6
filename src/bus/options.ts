/** What a bus is made of and how it behaves; checked, with defaults. */

import { step } from "../consume/delivery.js";
import type { Step } from "../consume/delivery-events.js";
import type { GroupPolicy } from "../consume/delivery-state.js";
import { type Clock, systemClock } from "../model/clock.js";
import { BusError, describeThrown } from "../model/errors.js";
import { checkOptionNames } from "../model/known-options.js";
import { DEFAULT_LIMITS, type Limits } from "../model/limits.js";
import { leftOutText, Seldom } from "../model/seldom.js";
import type { TopicDefinition } from "../model/topic.js";
import type { Trouble } from "../model/trouble.js";
import type { Store } from "../ports/store.js";

/** What createBus takes: a store, and what differs from the defaults. */
export interface BusOptions {
  /** Where everything durable is kept. The bus opens it, and closes it when the last bus on it is closed. */
  readonly store: Store;
  /** Defined when the bus opens; others are made with the defaults when something is published to them. */
  readonly topics?: readonly TopicDefinition[];
  /** Bounds that differ from DEFAULT_LIMITS. */
  readonly limits?: Partial<Limits>;
  /** A member that is silent for this long may lose its partitions. Default 10,000. */
  readonly leaseMs?: number;
  /** Default: 0.3 of leaseMs. */
  readonly heartbeatMs?: number;
  /** How long stopping, or giving a partition away, waits for handlers. Default 10,000. */
  readonly drainMs?: number;
  /** How long a publish is repeated while the store is away. Default 30,000. */
  readonly publishTimeoutMs?: number;
  /** For tests: a ManualClock. Default: the machine's. */
  readonly clock?: Clock;
  /**
   * Told of failures that the bus gets over by itself, of a try of a handler that failed (HANDLER_FAILED; of each group one a
   * minute), and of what is given up (`givenUp`): events, entries of the outbox. What was thrown is the error's `cause`. Default: a
   * process warning, one a minute for each code.
   */
  readonly onTrouble?: (trouble: Trouble) => void;
}

/** Parts that tests replace. */
export interface BusInternals {
  readonly step?: Step;
  readonly policy?: Partial<GroupPolicy>;
  /** This bus's name among members, which no other bus may have: they would take partitions from each other. By default it says where it runs. */
  readonly member?: string;
}

export type Settings = Required<Omit<BusOptions, "topics" | "limits">> & {
  readonly topics: readonly TopicDefinition[];
  readonly limits: Limits;
  readonly step: Step;
  readonly policy: Partial<GroupPolicy>;
  readonly member: string | undefined;
};

const KNOWN = [
  "store",
  "topics",
  "limits",
  "leaseMs",
  "heartbeatMs",
  "drainMs",
  "publishTimeoutMs",
  "clock",
  "onTrouble",
];

/** Throws INVALID_OPTION that names the option and what it takes. */
export function settingsOf(options: BusOptions, internals: BusInternals): Settings {
  checkKinds(options);
  const limits = limitsOf(options.limits ?? {});
  const leaseMs = checkPositive("leaseMs", options.leaseMs ?? 10_000);
  const heartbeatMs = checkPositive(
    "heartbeatMs",
    options.heartbeatMs ?? Math.max(1, Math.floor(leaseMs * 0.3)),
  );
  if (options.heartbeatMs !== undefined && heartbeatMs * 2 > leaseMs)
    throw new BusError(
      "INVALID_OPTION",
      "heartbeatMs must be half of leaseMs or less, so that one may be missed",
    );
  return {
    store: options.store,
    topics: options.topics ?? [],
    limits,
    leaseMs,
    heartbeatMs,
    drainMs: checkPositive("drainMs", options.drainMs ?? 10_000),
    publishTimeoutMs: checkPositive("publishTimeoutMs", options.publishTimeoutMs ?? 30_000),
    clock: options.clock ?? systemClock,
    onTrouble: guarded(options.onTrouble ?? warnOfTrouble()),
    step: internals.step ?? step,
    policy: internals.policy ?? {},
    member: internals.member,
  };
}

function checkKinds(options: BusOptions): void {
  if (typeof options?.store?.log?.append !== "function") {
    throw new BusError(
      "INVALID_OPTION",
      "a bus needs a store: memoryStore(), embeddedStore({ path }) or mongoStore({ url, db })",
    );
  }
  checkOptionNames("a bus", options, KNOWN);
  const { topics = [], clock = systemClock, onTrouble } = options;
  if (!Array.isArray(topics) || topics.some((topic) => typeof topic?.name !== "string"))
    throw new BusError(
      "INVALID_OPTION",
      "topics must be an array of definitions: [defineTopic(name, { … }), …]",
    );
  if (typeof clock.setTimer !== "function" || typeof clock.steady !== "function")
    throw new BusError("INVALID_OPTION", "clock must be a Clock");
  if (onTrouble !== undefined && typeof onTrouble !== "function")
    throw new BusError("INVALID_OPTION", "onTrouble must be a function");
}

function limitsOf(given: Partial<Limits>): Limits {
  checkOptionNames("limits", given, Object.keys(DEFAULT_LIMITS));
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) checkPositive(`limits.${name}`, value);
  }
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(set) };
}

function checkPositive(name: string, value: number): number {
  if (!(Number.isFinite(value) && value > 0))
    throw new BusError("INVALID_OPTION", `${name} must be a number above 0`);
  return value;
}

const WARN_EVERY_MS = 60_000;

/** A listener that fails must not bring down what it listens to. */
function guarded(onTrouble: (trouble: Trouble) => void): (trouble: Trouble) => void {
  const seldom = new Seldom(WARN_EVERY_MS);
  return (trouble) => {
    try {
      onTrouble(trouble);
    } catch (thrown) {
      const leftOut = seldom.admit("", systemClock.steady());
      if (leftOut === null) return;
      const what = `onTrouble failed: ${describeThrown(thrown)}${leftOutText(leftOut)}`;
      process.emitWarning(what, { type: "PrometheanWarning" });
    }
  };
}

/** A store that is away for an hour should not fill a log. Of tries that failed few are told anyway. */
function warnOfTrouble(): (trouble: Trouble) => void {
  const seldom = new Seldom(WARN_EVERY_MS);
  return ({ error, topic, group, givenUp }) => {
    const isTry = error.code === "HANDLER_FAILED" && !givenUp;
    const leftOut = isTry ? 0 : seldom.admit(error.code, systemClock.steady());
    if (leftOut === null) return;
    const where = topic === undefined ? "" : ` (${topic}${group === undefined ? "" : `, group ${group}`})`;
    const what =
      givenUp || isTry
        ? `${error.message}: ${describeThrown(error.cause)}`
        : `${error.message}${where}; trying again`;
    process.emitWarning(what + leftOutText(leftOut), { type: "PrometheanWarning", code: error.code });
  };
}
