/** What a bus is made of and how it behaves; checked, with defaults. */

import { step } from "../consume/delivery.js";
import type { Step } from "../consume/delivery-events.js";
import type { GroupPolicy } from "../consume/delivery-state.js";
import { type Clock, systemClock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import { DEFAULT_LIMITS, type Limits } from "../model/limits.js";
import type { TopicDefinition } from "../model/topic.js";
import type { Store } from "../ports/store.js";

export interface BusOptions {
  readonly store: Store;
  readonly topics?: readonly TopicDefinition[];
  readonly limits?: Partial<Limits>;
  /** A member that is silent for this long may lose its partitions. Default 10,000. */
  readonly leaseMs?: number;
  /** Default: 0.3 of leaseMs. */
  readonly heartbeatMs?: number;
  /** How long stopping, or giving a partition away, waits for handlers. Default 10,000. */
  readonly drainMs?: number;
  /** How long a publish is repeated while the store is away. Default 30,000. */
  readonly publishTimeoutMs?: number;
  readonly clock?: Clock;
  /** Told of failures that the bus gets over by itself. Default: a process warning, one a minute for each kind. */
  readonly onTrouble?: (trouble: Trouble) => void;
}

export interface Trouble {
  readonly error: BusError;
  readonly topic?: string;
  readonly group?: string;
  readonly partition?: number;
}

/** Parts that tests replace. */
export interface BusInternals {
  readonly step?: Step;
  readonly policy?: Partial<GroupPolicy>;
  /** This bus's name among members; by default it says where it runs. */
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

export function settingsOf(options: BusOptions, internals: BusInternals): Settings {
  for (const name of Object.keys(options)) {
    if (!KNOWN.includes(name))
      throw new BusError("INVALID_OPTION", `a bus knows no option "${name}"; it takes ${KNOWN.join(", ")}`);
  }
  if (typeof options.store?.log?.append !== "function") {
    throw new BusError(
      "INVALID_OPTION",
      "a bus needs a store: memoryStore(), embeddedStore({ path }) or mongoStore({ url, db })",
    );
  }
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  for (const [name, value] of Object.entries(limits)) {
    if (!(name in DEFAULT_LIMITS)) throw new BusError("INVALID_OPTION", `there is no limit "${name}"`);
    checkPositive(`limits.${name}`, value);
  }
  const leaseMs = checkPositive("leaseMs", options.leaseMs ?? 10_000);
  return {
    store: options.store,
    topics: options.topics ?? [],
    limits,
    leaseMs,
    heartbeatMs: checkPositive("heartbeatMs", options.heartbeatMs ?? Math.max(1, Math.floor(leaseMs * 0.3))),
    drainMs: checkPositive("drainMs", options.drainMs ?? 10_000),
    publishTimeoutMs: checkPositive("publishTimeoutMs", options.publishTimeoutMs ?? 30_000),
    clock: options.clock ?? systemClock,
    onTrouble: options.onTrouble ?? warnOfTrouble(),
    step: internals.step ?? step,
    policy: internals.policy ?? {},
    member: internals.member,
  };
}

function checkPositive(name: string, value: number): number {
  if (!(Number.isFinite(value) && value > 0))
    throw new BusError("INVALID_OPTION", `${name} must be a number above 0`);
  return value;
}

/** A store that is away for an hour should not fill a log. */
function warnOfTrouble(): (trouble: Trouble) => void {
  const warnedMs = new Map<string, number>();
  return ({ error, topic, group }) => {
    const nowMs = Date.now();
    if (nowMs - (warnedMs.get(error.code) ?? 0) < 60_000) return;
    warnedMs.set(error.code, nowMs);
    const where = topic === undefined ? "" : ` (${topic}${group === undefined ? "" : `, group ${group}`})`;
    process.emitWarning(`${error.message}${where}; trying again`, {
      type: "PrometheanWarning",
      code: error.code,
    });
  };
}
