/**
 * A store handle through which things go wrong, as a plan says. It stands for one process and its connection:
 *
 *   live --freeze--> frozen --thaw--> live        replies and signals wait while it is frozen (a paused process)
 *    any --crash---> dead                         nothing is answered, nothing new is applied
 *    any --close---> closed                       calls fail with CLOSED, until it is opened again
 *
 * A call that had already left when the process died may or may not have reached the store, as the plan chose. All
 * waiting goes through the clock.
 */
import { type Clock, pause, systemClock } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import type { EventDraft } from "../../model/event.js";
import type { AppendResult } from "../../ports/log.js";
import type { Signal, Store } from "../../ports/store.js";
import { interceptStore, type Proceed, type StoreCall } from "../store-calls.js";
import type { Fault, FaultPlan, FaultType } from "./fault-plan.js";

/** How many faults of each kind have struck. */
export type Injected = Record<FaultType | "signal-dropped" | "signal-blurred" | "signal-delayed", number>;

/** By which clock a faulty store waits, and how it ends. */
export interface FaultyStoreOptions {
  readonly clock?: Clock;
  /** What calls meet after a crash: no answer ever, or CLOSED. Default: silence, as a dead process hears nothing. */
  readonly afterCrash?: "silence" | "closed";
  /** Several handles share the store: opening and closing this one leaves it alone. */
  readonly shared?: boolean;
  /** The plan made the process die. */
  readonly onCrash?: () => void;
}

/** A store through which things go wrong, and which can be stopped, frozen and killed. */
export interface FaultyStore extends Store {
  /** How many faults of each sort have struck. */
  readonly injected: Readonly<Injected>;
  readonly state: "live" | "frozen" | "dead" | "closed";
  /** The process dies now. */
  crash(): void;
  /** The process stands still: replies and signals wait. */
  freeze(): void;
  thaw(): void;
}

/**
 * Wraps a store so that its calls fail, tarry, tear and die by plan.
 *
 * @example
 * const flaky = faultyStore(memoryStore(), seededFaults({ seed: 1, rates: { "lost-reply": 0.1 } }), { clock });
 */
export function faultyStore(store: Store, plan: FaultPlan, options: FaultyStoreOptions = {}): FaultyStore {
  const handle = new Handle(plan, options);
  const intercepted = interceptStore(store, {
    around: (call, proceed) => handle.around(call, proceed),
    signal: (signal, deliver) => handle.signal(signal, deliver),
    open: () => handle.open(() => (options.shared ? Promise.resolve() : store.open())),
    close: () => handle.close(() => (options.shared ? Promise.resolve() : store.close())),
  });
  return Object.defineProperties(intercepted, {
    injected: { get: () => handle.injected },
    state: { get: () => handle.state },
    crash: { value: () => handle.crash() },
    freeze: { value: () => handle.freeze() },
    thaw: { value: () => handle.thaw() },
  }) as FaultyStore;
}

class Handle {
  readonly injected: Injected = {
    "error-before": 0,
    "error-after": 0,
    "lost-reply": 0,
    delay: 0,
    reorder: 0,
    "late-apply": 0,
    torn: 0,
    crash: 0,
    "signal-dropped": 0,
    "signal-blurred": 0,
    "signal-delayed": 0,
  };
  state: FaultyStore["state"] = "live";
  readonly #plan: FaultPlan;
  readonly #options: FaultyStoreOptions;
  readonly #clock: Clock;
  #held: (() => void)[] = [];

  constructor(plan: FaultPlan, options: FaultyStoreOptions) {
    this.#plan = plan;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  async around(call: StoreCall, proceed: Proceed): Promise<unknown> {
    if (this.state === "closed") throw closed();
    if (this.state === "dead") return this.#answer(() => Promise.reject(closed()));
    const fault = this.#plan.call(call);
    if (fault === null) return this.#settle(proceed());
    this.injected[fault.type]++;
    return this.#strike(fault, call, proceed);
  }

  #strike(fault: Fault, call: StoreCall, proceed: Proceed): Promise<unknown> {
    switch (fault.type) {
      case "error-before":
        return this.#answer(() => Promise.reject(refused(call, fault.code)));
      case "error-after":
        return this.#settle(proceed().then(() => Promise.reject(unknown(call, fault.code))));
      case "lost-reply":
        return this.#settle(this.#after(fault.silentMs, proceed(), call));
      case "delay":
        return this.#settle(proceed(), fault.replyMs);
      case "reorder":
        return this.#settle(this.#late(fault, proceed));
      case "late-apply":
        return this.#giveUp(fault, call, proceed);
      case "torn":
        return this.#tear(fault.share, call, proceed);
      case "crash":
        return this.#die(fault.applies, proceed);
    }
  }

  /** Reaches the store only after a while, if at all. */
  async #late(fault: { applyMs: number; survivesCrash: boolean }, proceed: Proceed): Promise<unknown> {
    await pause(this.#clock, fault.applyMs);
    if (this.state === "dead" && !fault.survivesCrash) return undefined;
    return proceed();
  }

  async #after(silentMs: number, applied: Promise<unknown>, call: StoreCall): Promise<never> {
    await Promise.allSettled([applied]);
    await pause(this.#clock, silentMs);
    throw unknown(call);
  }

  #giveUp(
    fault: { applyMs: number; survivesCrash: boolean },
    call: StoreCall,
    proceed: Proceed,
  ): Promise<unknown> {
    const applied = this.#late(fault, proceed);
    // Whatever becomes of it, nobody is there to hear.
    applied.catch(() => undefined);
    return this.#settle(
      pause(this.#clock, Math.floor(fault.applyMs / 2)).then(() => Promise.reject(unknown(call))),
    );
  }

  #tear(share: number, call: StoreCall, proceed: Proceed): Promise<unknown> {
    if (call.name !== "log.append") return this.#answer(() => Promise.reject(refused(call)));
    const [topic, partition, drafts, ...fence] = call.args;
    const kept: readonly EventDraft[] = drafts.slice(0, Math.floor(share * drafts.length));
    const error = refused(call);
    if (kept.length === 0) return this.#answer(() => Promise.reject(error));
    const torn = proceed([topic, partition, kept, ...fence]).then((result): AppendResult => {
      const { events, duplicates } = result as AppendResult;
      return { events, duplicates, error };
    });
    return this.#settle(torn);
  }

  async #die(applies: boolean, proceed: Proceed): Promise<unknown> {
    this.crash();
    this.#options.onCrash?.();
    if (applies) await Promise.allSettled([proceed()]);
    return this.#answer(() => Promise.reject(closed()));
  }

  /** Passes the outcome on, if and when there is a process to hear it. */
  async #settle(outcome: Promise<unknown>, replyMs = 0): Promise<unknown> {
    await Promise.allSettled([outcome]);
    if (replyMs > 0) await pause(this.#clock, replyMs);
    return this.#answer(() => outcome);
  }

  #answer(outcome: () => Promise<unknown>): Promise<unknown> {
    switch (this.state) {
      case "live":
      case "closed":
        return outcome();
      case "dead":
        return this.#options.afterCrash === "closed" ? Promise.reject(closed()) : silence();
      case "frozen":
        return new Promise<void>((resolve) => this.#held.push(resolve)).then(() => this.#answer(outcome));
    }
  }

  signal(signal: Signal, deliver: (signal: Signal) => void): void {
    const arrive = (what: Signal): void => {
      if (this.state === "frozen") this.#held.push(() => arrive(what));
      else if (this.state === "live") deliver(what);
    };
    const fault = this.#plan.signal?.(signal) ?? null;
    switch (fault?.type) {
      case undefined:
        arrive(signal);
        break;
      case "drop":
        this.injected["signal-dropped"]++;
        break;
      case "blur":
        this.injected["signal-blurred"]++;
        arrive({ type: "any" });
        break;
      case "delay":
        this.injected["signal-delayed"]++;
        this.#clock.setTimer(fault.delayMs, () => arrive(signal));
        break;
    }
  }

  crash(): void {
    this.state = "dead";
    this.#release();
  }

  freeze(): void {
    if (this.state === "live") this.state = "frozen";
  }

  thaw(): void {
    if (this.state !== "frozen") return;
    this.state = "live";
    this.#release();
  }

  async open(openStore: () => Promise<void>): Promise<void> {
    if (this.state === "dead") return this.#answer(() => Promise.resolve()).then(() => undefined);
    await openStore();
    if (this.state === "closed") this.state = "live";
  }

  async close(closeStore: () => Promise<void>): Promise<void> {
    if (this.state === "dead") return this.#answer(() => Promise.resolve()).then(() => undefined);
    if (this.state === "closed") return;
    this.state = "closed";
    this.#release();
    await closeStore();
  }

  #release(): void {
    const held = this.#held;
    this.#held = [];
    for (const go of held) go();
  }
}

function silence(): Promise<never> {
  return new Promise(() => undefined);
}

function closed(): BusError {
  return new BusError("CLOSED", "the store handle is closed");
}

function refused(call: StoreCall, code: BusError["code"] = "STORE_UNAVAILABLE"): BusError {
  return new BusError(code, `injected fault: ${call.name} was refused and had no effect`);
}

/** A call that changes nothing has no outcome to wonder about: it just failed. */
function unknown(call: StoreCall, code?: BusError["code"]): BusError {
  const harmless = call.kind === "read" || call.kind === "state";
  const otherwise = harmless ? "STORE_UNAVAILABLE" : "OUTCOME_UNKNOWN";
  return new BusError(code ?? otherwise, `injected fault: the reply of ${call.name} was lost`);
}
