/**
 * One incarnation of a process: a bus with its own clock and its own way to the store.
 *
 *   starting --> running <--freeze/thaw--> frozen
 *      any --crash--> dead            abandoned on the spot: no timer, no reply, no signal reaches it any more
 *   running --leave--> leaving --> closed
 */
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import type { BusInternals } from "../../bus/options.js";
import { step } from "../../consume/delivery.js";
import { pause } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import type { Stop, SubscribeOptions } from "../../model/event-bus.js";
import { defineTopic } from "../../model/topic.js";
import { type FaultyStore, faultyStore, type SeededFaults, seededFaults } from "../faulty-store/index.js";
import type { Dice } from "./dice.js";
import { batchHandler, filterOf, type HandlerContext, singleHandler } from "./handlers.js";
import { observedStore } from "./observed-store.js";
import { ProcessClock } from "./process-clock.js";
import { EFFECTS, type GroupPlan, ORDERS } from "./scenario.js";
import { startTotals } from "./totals.js";
import type { World } from "./world.js";

export type ProcessState = "starting" | "running" | "frozen" | "dead" | "leaving" | "closed";

export class SimulatedProcess {
  readonly name: string;
  readonly clock: ProcessClock;
  /** For what handlers wait for: theirs, not the bus's. */
  readonly handlerClock: ProcessClock;
  readonly store: FaultyStore;
  readonly dice: Dice;
  readonly #world: World;
  readonly #faults: SeededFaults;
  readonly #onEnd: (process: SimulatedProcess) => void;
  readonly #stops = new Map<GroupPlan, Stop>();
  #bus: Bus | undefined;
  #state: ProcessState = "starting";

  /** `onEnd`: it crashed, or left for good. */
  constructor(world: World, name: string, onEnd: (process: SimulatedProcess) => void) {
    this.name = name;
    this.#world = world;
    this.#onEnd = onEnd;
    this.dice = world.dice.fork(name);
    const skewMs = this.dice.between(-100, 100);
    this.clock = new ProcessClock(world.clock, { seed: this.dice.fork("clock").seed, skewMs });
    this.handlerClock = new ProcessClock(world.clock, { seed: 1 });
    this.#faults = seededFaults({ ...world.scenario.faults, seed: this.dice.fork("faults").seed });
    if (!world.faulty) this.#faults.stop();
    const observed = observedStore(world.store, name, world.recorder, world.turnstile);
    this.store = faultyStore(observed, this.#faults, {
      clock: world.clock,
      shared: true,
      onCrash: () => this.crash(),
    });
  }

  get state(): ProcessState {
    return this.#state;
  }

  /** The bus, if the process runs now. */
  get bus(): Bus | undefined {
    return this.#state === "running" ? this.#bus : undefined;
  }

  /** Whether nothing that is called here has any effect any more. */
  get gone(): boolean {
    return this.#state === "dead" || this.#state === "closed";
  }

  start(groups: readonly GroupPlan[]): void {
    this.#world.recorder.record({ type: "began", member: this.name });
    this.own(this.#begin(groups));
  }

  /** Takes charge of a promise: what it throws, other than what faults explain, ends the run. */
  own(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (!this.gone && !isExplained(error)) this.#world.fail(error);
    });
  }

  async #begin(groups: readonly GroupPlan[]): Promise<void> {
    this.#bus = await this.#insist(() =>
      createBus(
        {
          store: this.store,
          clock: this.clock,
          topics: [
            defineTopic(ORDERS, { partitions: this.#world.scenario.partitions }),
            defineTopic(EFFECTS, { partitions: 2 }),
          ],
          leaseMs: this.#world.scenario.leaseMs,
          drainMs: 2_000,
          publishTimeoutMs: this.#world.scenario.publishTimeoutMs,
          onTrouble: () => undefined,
        },
        this.#internals(),
      ),
    );
    this.#state = "running";
    for (const group of groups) await this.#insist(() => this.subscribe(group));
    const bus = this.#bus;
    if (this.#world.scenario.totals !== "none") await this.#insist(() => startTotals(this.#world, this, bus));
  }

  #internals(): BusInternals {
    const { mutant, scenario } = this.#world;
    return {
      step: mutant?.step?.(step) ?? step,
      member: this.name,
      // Marks and commits that matter within the few events of a run.
      policy: { stride: scenario.stride, commitEveryMs: scenario.commitEveryMs, commitEverySettles: 20 },
    };
  }

  /** Again until it works: what a supervisor would do. */
  async #insist<T>(attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!isExplained(error) || this.#state === "leaving" || this.gone) throw error;
        await pause(this.handlerClock, 100);
      }
    }
  }

  async subscribe(group: GroupPlan): Promise<void> {
    const { recorder } = this.#world;
    if (this.#bus === undefined || this.#stops.has(group)) return;
    const { name, ordering, maxAttempts } = group;
    recorder.record({ type: "subscribed", group: name, topic: ORDERS, ordering, maxAttempts });
    const context: HandlerContext = { world: this.#world, process: this, group };
    const options = subscribeOptions(context);
    const stop =
      group.work === "batch"
        ? await this.#bus.subscribeBatch(ORDERS, name, batchHandler(context), options)
        : await this.#bus.subscribe(ORDERS, name, singleHandler(context), options);
    this.#stops.set(group, stop);
  }

  /** Subscribes again, until it works. */
  resubscribe(group: GroupPlan): Promise<void> {
    return this.#insist(() => this.subscribe(group));
  }

  async unsubscribe(group: GroupPlan): Promise<void> {
    const stop = this.#stops.get(group);
    this.#stops.delete(group);
    await stop?.();
  }

  crash(): void {
    if (this.gone) return;
    this.#state = "dead";
    this.store.crash();
    this.clock.kill();
    this.handlerClock.kill();
    this.#world.recorder.record({ type: "crashed", member: this.name });
    this.#onEnd(this);
  }

  freeze(): void {
    if (this.#state !== "running") return;
    this.#state = "frozen";
    this.store.freeze();
    this.clock.freeze();
    this.handlerClock.freeze();
    this.#world.recorder.record({ type: "froze", member: this.name });
  }

  thaw(): void {
    if (this.#state !== "frozen") return;
    this.#state = "running";
    this.#world.recorder.record({ type: "thawed", member: this.name });
    this.clock.thaw();
    this.handlerClock.thaw();
    this.store.thaw();
  }

  leave(): void {
    if (this.#state === "starting") this.crash();
    if (this.#state !== "running") return;
    this.#state = "leaving";
    this.own(this.#close());
  }

  async #close(): Promise<void> {
    await this.#bus?.close();
    if (this.gone) return;
    this.#state = "closed";
    this.#world.recorder.record({ type: "left", member: this.name });
    this.#onEnd(this);
  }

  endFaults(): void {
    this.#faults.stop();
    this.thaw();
  }
}

/** What a caller must expect of a store that fails. */
export function isExplained(error: unknown): boolean {
  return BusError.is(error) && (error.retryable || error.code === "CLOSED" || error.code === "ABORTED");
}

function subscribeOptions(context: HandlerContext): SubscribeOptions {
  const { group } = context;
  return {
    from: group.from,
    ordering: group.ordering,
    maxInFlight: group.maxInFlight,
    batchSize: group.batchSize,
    ackTimeoutMs: group.ackTimeoutMs,
    maxAttempts: group.maxAttempts,
    manualAck: group.manualAck,
    retry: { baseMs: 5, maxMs: 200, factor: 3, jitter: 0.5 },
    ...(group.refuses > 0 && { filter: filterOf(context) }),
  };
}
