/**
 * The groups by which projectors feed views. A subscriber that took part in one would settle events that the view then never gets, and
 * nobody would notice: the group has no lag. So clients cannot join them, whatever they may read.
 */
import type { Bus } from "../bus/bus.js";
import { matchesTopic } from "../model/topic.js";
import { feedersOf, feeds } from "../project/views/feeders.js";
import { HubError } from "./problem.js";
import { kept } from "./watch.js";

const KEEP_MS = 1_000;

export class Feeders {
  readonly #all: () => ReturnType<typeof feedersOf>;

  constructor(bus: Bus) {
    this.#all = kept(bus, KEEP_MS, () => feedersOf(bus.store.registry));
  }

  /** Throws if this group feeds a view, of any topic that the pattern takes in. */
  async refuse(pattern: string, group: string): Promise<void> {
    for (const feeder of await this.#all())
      if (matchesTopic(pattern, feeder.topic) && feeds(group, feeder))
        throw new HubError(
          "FORBIDDEN",
          `the group ${group} feeds a view, which would lack what others settle`,
        );
  }
}
