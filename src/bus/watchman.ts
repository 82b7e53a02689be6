/**
 * Hears the store's signals and, since they are only hints, looks at the heads of followed topics now and then: often
 * where the driver has no signals; seldom where it has, and then at some of the topics after the other, since a look at a
 * thousand costs a server half a second. Signals cost the store something, so that they are asked for only
 * once somebody on this bus reads: a bus that only publishes does without.
 */

import type { Tail } from "../consume/tail.js";
import type { CancelTimer, Clock } from "../model/clock.js";
import type { Signal, Store } from "../ports/store.js";

const POLL_MS = 100;
const POLL_WITH_SIGNALS_MS = 2_000;
/** Topics that are looked at together where there are signals. */
const AT_A_LOOK = 128;

export class Watchman {
  readonly #store: Store;
  readonly #tail: Tail;
  readonly #clock: Clock;
  readonly #hear: (signal: Signal) => void;
  readonly #lookAround: () => void;
  #unwatch: (() => void) | undefined;
  #cancelPoll: CancelTimer | null = null;
  #listening = false;
  /** How many of the topics were looked at in this round. */
  #looked = 0;
  #stopped = false;

  /** `lookAround` is called at each look, for whatever else a lost signal may have been about. */
  constructor(
    store: Store,
    tail: Tail,
    clock: Clock,
    hear: (signal: Signal) => void,
    lookAround: () => void,
  ) {
    this.#store = store;
    this.#tail = tail;
    this.#clock = clock;
    this.#hear = hear;
    this.#lookAround = lookAround;
  }

  start(): void {
    this.#schedule();
  }

  /** Somebody waits for news from now on. */
  listen(): void {
    if (this.#listening || this.#stopped) return;
    this.#listening = true;
    this.#unwatch = this.#store.watch?.(this.#hear);
    // What others appended before is not known here.
    this.#tail.wakeAll();
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    this.#unwatch?.();
    this.#cancelPoll?.();
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancelPoll?.();
    const delayMs = this.#isDeaf ? POLL_MS : POLL_WITH_SIGNALS_MS;
    this.#cancelPoll = this.#clock.setTimer(delayMs, () => void this.#poll());
  }

  /** Whether news is wanted from a driver that has no signals. */
  get #isDeaf(): boolean {
    return this.#listening && this.#unwatch === undefined;
  }

  /** The topics whose turn it is. */
  #nextTopics(): readonly string[] {
    const { topics } = this.#tail;
    if (this.#isDeaf) return topics;
    const from = this.#looked < topics.length ? this.#looked : 0;
    this.#looked = from + AT_A_LOOK;
    return topics.slice(from, this.#looked);
  }

  async #poll(): Promise<void> {
    try {
      const topics = this.#nextTopics();
      // Heard like a signal: what an append of ours under way has added need not be read back.
      if (topics.length > 0)
        for (const [topic, heads] of await this.#store.log.headsOf(topics))
          for (const { partition, head } of heads) this.#hear({ type: "appended", topic, partition, head });
    } catch {
      // Those who read the topics report what is wrong.
    }
    this.#lookAround();
    this.#schedule();
  }
}
