/**
 * The clock of one simulated process. It runs with the world's clock, a little off in what it takes for the time of
 * day, as its steady clock is, which began there; and it can be stopped: frozen, timers that fall due wait for the thaw; killed, they never run.
 */
import type { CancelTimer, Clock } from "../../model/clock.js";
import { type ManualClock, seededRandom } from "../../model/manual-clock.js";

interface Timer {
  readonly fire: () => void;
  cancel: CancelTimer;
}

export interface ProcessClockOptions {
  readonly seed: number;
  /** How far its time of day is off. */
  readonly skewMs?: number;
}

export class ProcessClock implements Clock {
  readonly #world: ManualClock;
  readonly #random: () => number;
  readonly #skewMs: number;
  readonly #timers = new Set<Timer>();
  #held: Timer[] = [];
  #state: "running" | "frozen" | "dead" = "running";

  constructor(world: ManualClock, options: ProcessClockOptions) {
    this.#world = world;
    this.#random = seededRandom(options.seed);
    this.#skewMs = options.skewMs ?? 0;
  }

  /** Timers set and not yet run. */
  get pending(): number {
    return this.#timers.size;
  }

  get dead(): boolean {
    return this.#state === "dead";
  }

  now(): number {
    return this.#world.now() + this.#skewMs;
  }

  steady(): number {
    return this.#world.steady() + this.#skewMs;
  }

  recent(): number {
    return this.#world.recent() + this.#skewMs;
  }

  random(): number {
    return this.#random();
  }

  newId(): string {
    return this.#world.newId();
  }

  setTimer(delayMs: number, fire: () => void): CancelTimer {
    if (this.#state === "dead") return () => undefined;
    const timer: Timer = { fire, cancel: () => undefined };
    timer.cancel = this.#world.setTimer(delayMs, () => this.#due(timer));
    this.#timers.add(timer);
    return () => this.#forget(timer);
  }

  freeze(): void {
    if (this.#state === "running") this.#state = "frozen";
  }

  /** What fell due meanwhile runs now, in order, each with its own turn. */
  thaw(): void {
    if (this.#state !== "frozen") return;
    this.#state = "running";
    const held = this.#held;
    this.#held = [];
    for (const timer of held) timer.cancel = this.#world.setTimer(0, () => this.#due(timer));
  }

  kill(): void {
    this.#state = "dead";
    for (const timer of [...this.#timers]) this.#forget(timer);
  }

  #due(timer: Timer): void {
    if (this.#state === "frozen") {
      this.#held.push(timer);
      return;
    }
    this.#timers.delete(timer);
    timer.fire();
  }

  #forget(timer: Timer): void {
    timer.cancel();
    this.#timers.delete(timer);
    this.#held = this.#held.filter((held) => held !== timer);
  }
}
