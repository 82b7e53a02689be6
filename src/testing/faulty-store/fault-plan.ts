/**
 * Which faults strike which calls. A plan is asked once per call, in the order of the calls, and takes all chance from
 * its seed: the same calls under the same plan meet the same faults.
 */
import type { ErrorCode } from "../../model/errors.js";
import { seededRandom } from "../../model/manual-clock.js";
import type { Signal } from "../../ports/store.js";
import type { CallKind, CallName, StoreCall } from "../store-calls.js";

/** What may happen to a call of a store. */
export type Fault =
  /** Refused: nothing happens, the caller sees an error. */
  | { readonly type: "error-before"; readonly code?: ErrorCode }
  /** It happens, and the caller sees an error all the same. */
  | { readonly type: "error-after"; readonly code?: ErrorCode }
  /** It happens; the reply is lost, and the caller gives up with OUTCOME_UNKNOWN after `silentMs`. */
  | { readonly type: "lost-reply"; readonly silentMs: number }
  /** It happens at once; the reply takes its time. */
  | { readonly type: "delay"; readonly replyMs: number }
  /** It takes its time to reach the store: calls made later may overtake it. */
  | { readonly type: "reorder"; readonly applyMs: number; readonly survivesCrash: boolean }
  /** The caller gives up with OUTCOME_UNKNOWN, and then it happens, `applyMs` after the call. */
  | { readonly type: "late-apply"; readonly applyMs: number; readonly survivesCrash: boolean }
  /** An append stops after this share (0 to 1) of its drafts; for any other call the same as error-before. */
  | { readonly type: "torn"; readonly share: number }
  /** The process behind this handle dies during the call, which did or did not happen. */
  | { readonly type: "crash"; readonly applies: boolean };

/** The kinds of faults, by name. */
export type FaultType = Fault["type"];

/** What may happen to a signal that something was appended. */
export type SignalFault =
  | { readonly type: "drop" }
  /** It says only that something happened. */
  | { readonly type: "blur" }
  | { readonly type: "delay"; readonly delayMs: number };

/** Decides what happens to each call: by a seed, by a list, or as you like. */
export interface FaultPlan {
  /** What happens to this call, or null. */
  call(call: StoreCall): Fault | null;
  signal?(signal: Signal): SignalFault | null;
}

/** Chances per call, 0 to 1; together at most 1. */
export type FaultRates = Partial<Record<FaultType, number>>;

/** How often each kind of fault strikes, by chance from a seed. */
export interface SeededFaultOptions {
  readonly seed: number;
  /** For calls whose kind says nothing. */
  readonly rates?: FaultRates;
  /** Replace `rates` for calls of these kinds. */
  readonly byKind?: Partial<Record<CallKind, FaultRates>>;
  readonly signals?: Partial<Record<SignalFault["type"], number>>;
  /** Shortest and longest wait of every fault that waits. */
  readonly delayMs?: readonly [number, number];
}

/** A plan that can be told to stop. */
export interface SeededFaults extends FaultPlan {
  /** No more faults from now on. */
  stop(): void;
}

const FAULT_TYPES: readonly FaultType[] = [
  "error-before",
  "error-after",
  "lost-reply",
  "delay",
  "reorder",
  "late-apply",
  "torn",
  "crash",
];

/**
 * Faults by chance.
 *
 * @example
 * const plan = seededFaults({ seed: 7, rates: { "error-before": 0.05 }, byKind: { append: { torn: 0.1 } } });
 * const store = faultyStore(memoryStore(), plan, { clock });
 */
export function seededFaults(options: SeededFaultOptions): SeededFaults {
  const random = seededRandom(options.seed);
  const [shortestMs, longestMs] = options.delayMs ?? [1, 50];
  const wait = (): number => Math.round(shortestMs + random() * (longestMs - shortestMs));
  let active = true;

  const draw = (rates: FaultRates): FaultType | undefined => {
    let at = random();
    return FAULT_TYPES.find((type) => {
      at -= rates[type] ?? 0;
      return at < 0;
    });
  };
  return {
    call(call) {
      if (!active) return null;
      const type = draw(options.byKind?.[call.kind] ?? options.rates ?? {});
      return type === undefined ? null : makeFault(type, random, wait);
    },
    signal() {
      if (!active || options.signals === undefined) return null;
      const at = random();
      const { drop = 0, blur = 0, delay = 0 } = options.signals;
      if (at < drop) return { type: "drop" };
      if (at < drop + blur) return { type: "blur" };
      return at < drop + blur + delay ? { type: "delay", delayMs: wait() } : null;
    },
    stop() {
      active = false;
    },
  };
}

function makeFault(type: FaultType, random: () => number, wait: () => number): Fault {
  switch (type) {
    case "error-before":
      return { type };
    case "error-after":
      return { type };
    case "lost-reply":
      return { type, silentMs: wait() };
    case "delay":
      return { type, replyMs: wait() };
    case "reorder":
    case "late-apply":
      return { type, applyMs: wait(), survivesCrash: random() < 0.5 };
    case "torn":
      return { type, share: random() };
    case "crash":
      return { type, applies: random() < 0.5 };
  }
}

/** A fault for one certain call. */
export interface ScheduledFault {
  readonly on: CallName;
  /** The how-manieth call of that name, counted from 1. */
  readonly nth: number;
  readonly fault: Fault;
}

/**
 * Faults by appointment.
 *
 * @example
 * scheduledFaults([{ on: "log.append", nth: 2, fault: { type: "error-after" } }]);
 */
export function scheduledFaults(schedule: readonly ScheduledFault[]): FaultPlan {
  const seen = new Map<CallName, number>();
  return {
    call(call) {
      const nth = (seen.get(call.name) ?? 0) + 1;
      seen.set(call.name, nth);
      return schedule.find((entry) => entry.on === call.name && entry.nth === nth)?.fault ?? null;
    },
  };
}

/** Each plan is asked about every call; the first answer counts. */
export function combinedFaults(...plans: readonly FaultPlan[]): FaultPlan {
  return {
    call: (call) => plans.map((plan) => plan.call(call)).find((fault) => fault !== null) ?? null,
    signal: (signal) =>
      plans.map((plan) => plan.signal?.(signal) ?? null).find((fault) => fault !== null) ?? null,
  };
}
