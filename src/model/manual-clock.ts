/** A clock that stands still until it is told to move; same seed, same ids and same chances. */
import type { CancelTimer, Clock } from "./clock.js";
import { IdSource } from "./ids.js";
import { nextTurn } from "./next-turn.js";

interface Timer {
  /** On the steady clock. */
  readonly atMs: number;
  readonly order: number;
  readonly fire: () => void;
}

/** Where a manual clock begins, and by which seed it makes ids and chances. */
export interface ManualClockOptions {
  /** Milliseconds since the epoch. Default 1,700,000,000,000. */
  readonly startMs?: number;
  /** Default 1. */
  readonly seed?: number;
}

/**
 * A clock for tests: it stands still until it is told to move, and gives the same ids and chances for the same seed.
 *
 * @example
 * const clock = new ManualClock({ startMs: 0, seed: 7 });
 * const bus = await createBus({ store: memoryStore(), clock });
 * await clock.advance(30_000); // every timer that falls due runs, in order
 */
export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  readonly #random: () => number;
  #steadyMs: number;
  /** Wall clock minus steady clock: what jumps have added up to. */
  #offsetMs = 0;
  #order = 0;
  readonly #ids: IdSource;

  constructor(options: ManualClockOptions = {}) {
    this.#steadyMs = options.startMs ?? 1_700_000_000_000;
    this.#random = seededRandom(options.seed ?? 1);
    this.#ids = new IdSource((bytes) => {
      for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(this.#random() * 256);
    });
  }

  now(): number {
    return this.#steadyMs + this.#offsetMs;
  }

  steady(): number {
    return this.#steadyMs;
  }

  recent(): number {
    return this.#steadyMs;
  }

  random(): number {
    return this.#random();
  }

  setTimer(delayMs: number, fire: () => void): CancelTimer {
    const timer: Timer = { atMs: this.#steadyMs + Math.max(0, delayMs), order: this.#order++, fire };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  newId(): string {
    return this.#ids.next(this.now());
  }

  /** When the next timer is due, or undefined if none is set. */
  nextTimerMs(): number | undefined {
    return this.#earliest()?.atMs;
  }

  /** Moves to the next timer and runs it; false if none is set. Does not wait for what it started. */
  runNext(): boolean {
    const timer = this.#earliest();
    if (timer === undefined) return false;
    this.#timers.delete(timer);
    this.#steadyMs = Math.max(this.#steadyMs, timer.atMs);
    timer.fire();
    return true;
  }

  /** Moves by `ms`, running every timer that falls due, with pending promises settled after each. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#steadyMs + ms;
    await settlePromises();
    for (let next = this.nextTimerMs(); next !== undefined && next <= untilMs; next = this.nextTimerMs()) {
      this.runNext();
      await settlePromises();
    }
    this.#steadyMs = Math.max(this.#steadyMs, untilMs);
  }

  /** The wall clock jumps; timers keep their distance. */
  jump(ms: number): void {
    this.#offsetMs += ms;
  }

  #earliest(): Timer | undefined {
    let best: Timer | undefined;
    for (const t of this.#timers) {
      if (best === undefined || t.atMs < best.atMs || (t.atMs === best.atMs && t.order < best.order))
        best = t;
    }
    return best;
  }
}

/** Lets every promise that is ready run, including those it readies in turn, also where one yields to the event loop. */
export async function settlePromises(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await nextTurn();
}

/** mulberry32: small, fast, and the same everywhere. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
