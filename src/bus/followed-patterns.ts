/**
 * Subscriptions to patterns: topics that come into being later and fit are added to them, from their first event. What a signal names
 * is looked at alone. All topics are looked through where a signal does not say what has changed, and now and then, for signals that
 * got lost (P15): one look at a time, in turns of the event loop, and one more for all that was heard meanwhile.
 */
import { type Clock, within } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import { mapInTurns } from "../model/map-in-turns.js";
import { nextTurn } from "../model/next-turn.js";
import type { Trouble } from "../model/trouble.js";
import { type Subscription, TOPICS_AT_ONCE, takesIn } from "./subscriptions.js";
import type { TopicCatalog } from "./topic-catalog.js";

/** Names held against patterns in one turn of the event loop. */
const A_TURN = 1_024;
/** How long one topic that is joined keeps others from it: it may have to wait for what its group still handles. */
const PATIENCE_MS = 100;

export class FollowedPatterns {
  readonly #catalog: Pick<TopicCatalog, "find" | "list">;
  readonly #clock: Clock;
  readonly #tell: (trouble: Trouble) => void;
  readonly #patterns = new Map<Subscription, readonly string[]>();
  #isLooking = false;
  /** Whether to look again once that is done. */
  #isAsked = false;

  constructor(catalog: Pick<TopicCatalog, "find" | "list">, clock: Clock, tell: (trouble: Trouble) => void) {
    this.#catalog = catalog;
    this.#clock = clock;
    this.#tell = tell;
  }

  add(subscription: Subscription, patterns: readonly string[]): void {
    this.#patterns.set(subscription, patterns);
    subscription.onStopped(() => this.#patterns.delete(subscription));
    // A topic may have come since it was looked which there are.
    this.look();
  }

  /** Anything may have changed. */
  look(): void {
    if (this.#patterns.size === 0) return;
    this.#isAsked = true;
    if (!this.#isLooking) void this.#lookWhileAsked();
  }

  /** The topic may have come into being. */
  async adopt(name: string): Promise<void> {
    for (const [subscription, patterns] of this.#patterns)
      if (isWanted(subscription, patterns, name)) await this.#join(subscription, name);
  }

  async #lookWhileAsked(): Promise<void> {
    this.#isLooking = true;
    try {
      while (this.#isAsked) {
        this.#isAsked = false;
        await this.#lookThrough();
      }
    } finally {
      this.#isLooking = false;
    }
  }

  async #lookThrough(): Promise<void> {
    try {
      const wanted: [Subscription, string][] = [];
      let held = 0;
      for (const { name } of await this.#catalog.list())
        for (const [subscription, patterns] of this.#patterns) {
          if (++held % A_TURN === 0) await nextTurn();
          if (isWanted(subscription, patterns, name)) wanted.push([subscription, name]);
        }
      const join = ([subscription, name]: [Subscription, string]): Promise<unknown> =>
        within(this.#clock, PATIENCE_MS, this.#join(subscription, name));
      await mapInTurns(wanted, join, TOPICS_AT_ONCE);
    } catch (error) {
      // Whoever has stopped meanwhile, with the store perhaps, misses nothing.
      if (this.#patterns.size > 0) this.#tell({ error: BusError.from(error, "STORE_UNAVAILABLE") });
    }
  }

  async #join(subscription: Subscription, topic: string): Promise<void> {
    try {
      // One that was removed meanwhile stays so.
      const config = await this.#catalog.find(topic);
      if (config !== null) await subscription.add(config, { from: "earliest" });
    } catch (error) {
      this.#tell({ error: BusError.from(error, "STORE_UNAVAILABLE"), topic });
    }
  }
}

function isWanted(subscription: Subscription, patterns: readonly string[], topic: string): boolean {
  return !subscription.has(topic) && patterns.some((pattern) => takesIn(pattern, topic));
}
