/**
 * The groups by which projectors feed views. A subscriber that took part in one would settle events that the view then never gets, and
 * nobody would notice: the group has no lag. So clients cannot join them, whatever they may read.
 */
import type { Bus } from "../bus/bus.js";
import { matchesTopic } from "../model/topic.js";
import { feedersOf, isBuildOf } from "../project/feeders.js";

const KEEP_MS = 1_000;

type Known = Awaited<ReturnType<typeof feedersOf>>;

export class Feeders {
  readonly #bus: Bus;
  #known: Promise<Known> | null = null;
  #untilMs = 0;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Whether this group feeds a view, of any topic that the pattern takes in. */
  async has(pattern: string, group: string): Promise<boolean> {
    for (const feeder of await this.#all())
      if (matchesTopic(pattern, feeder.topic) && isBuildOf(group, feeder.group)) return true;
    return false;
  }

  /** Asked once in a while, however many subscribe. A failure is not kept. */
  #all(): Promise<Known> {
    const { clock, store } = this.#bus;
    const nowMs = clock.steady();
    if (this.#known !== null && nowMs < this.#untilMs) return this.#known;
    const asked = feedersOf(store.registry);
    this.#untilMs = nowMs + KEEP_MS;
    this.#known = asked;
    asked.catch(() => {
      if (this.#known === asked) this.#known = null;
    });
    return asked;
  }
}
