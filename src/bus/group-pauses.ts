/**
 * Groups that somebody paused: written down in the store, so that every member holds still, in whatever process. While
 * it lasts nothing new is handed out; what runs may finish and be settled. Other members notice within seconds.
 */
import type { Clock } from "../model/clock.js";
import { type GroupRef, groupKey } from "../ports/groups.js";
import type { Registry } from "../ports/registry.js";
import { type GroupPause, groupPauses, putGroupPause } from "../project/group-pause.js";

/** Nobody looks more often than this. */
const LOOK_MS = 1_000;

export class GroupPauses {
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #onChanged: () => void;
  #paused: ReadonlyMap<string, GroupPause> = new Map();
  #lookedMs = Number.NEGATIVE_INFINITY;
  /** The look under way: all who ask meanwhile get what it finds, and none overtakes another. */
  #looking: Promise<void> | null = null;

  constructor(registry: Registry, clock: Clock, onChanged: () => void) {
    this.#registry = registry;
    this.#clock = clock;
    this.#onChanged = onChanged;
  }

  /** As far as this process knows. */
  of(ref: GroupRef): GroupPause | undefined {
    return this.#paused.get(groupKey(ref));
  }

  /** False if it was so already. */
  async set(ref: GroupRef, pause: GroupPause | null): Promise<boolean> {
    const changed = await putGroupPause(this.#registry, ref, pause);
    if (changed) await this.look(true);
    return changed;
  }

  /** Learns what others paused, unless it was looked at just now. `now`: what stands in the store at this moment counts. */
  async look(now = false): Promise<void> {
    if (now) await this.#looking?.catch(() => undefined);
    else if (this.#looking === null && this.#clock.steady() - this.#lookedMs < LOOK_MS) return;
    this.#looking ??= this.#read().finally(() => {
      this.#looking = null;
    });
    await this.#looking;
  }

  async #read(): Promise<void> {
    const atMs = this.#clock.steady();
    this.#lookedMs = Number.NEGATIVE_INFINITY;
    const pauses = await groupPauses(this.#registry);
    this.#lookedMs = atMs;
    this.#paused = new Map(pauses.map((pause) => [groupKey(pause), pause]));
    this.#onChanged();
  }
}
