/** The pauses between tries of one that insists, each longer than the one before; all of them end with it. */
import { type Clock, pause } from "../model/clock.js";
import { backoffMs, DEFAULT_RETRY } from "../model/retry.js";

const POLICY = { ...DEFAULT_RETRY, maxMs: 2_000 };

export class Pauses {
  readonly #clock: Clock;
  /** Made for the first pause: most never need one. */
  #end: AbortController | null = null;
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  after(failures: number): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    this.#end ??= new AbortController();
    return pause(this.#clock, backoffMs(POLICY, failures, this.#clock.random()), this.#end.signal);
  }

  end(): void {
    this.#isOver = true;
    this.#end?.abort();
  }
}
