/** What everything in one simulated run shares: one clock, one store, one record of what happened. */
import type { BusError } from "../../model/errors.js";
import { ManualClock, settlePromises } from "../../model/manual-clock.js";
import type { Store } from "../../ports/store.js";
import { memoryStore } from "../../stores/memory/index.js";
import { Recorder } from "../history/index.js";
import { Dice } from "./dice.js";
import type { Mutant } from "./mutant.js";
import { Turnstile } from "./observed-store.js";
import type { Scenario } from "./scenario.js";

/** More timers than this at one moment: somebody asks to be woken at once, for ever. */
const MAX_STANDING_STILL = 5_000;
const START_MS = 1_700_000_000_000;

export class World {
  readonly scenario: Scenario;
  readonly dice: Dice;
  readonly clock: ManualClock;
  readonly recorder: Recorder;
  readonly turnstile: Turnstile;
  /** The store itself: for looking, never for processes. */
  readonly raw: Store;
  /** The store as processes get it: with the planted bug, if there is one. */
  readonly store: Store;
  readonly mutant: Mutant | undefined;
  /** False once faults are over. */
  faulty = true;
  #failure: unknown;
  #jammed = false;

  constructor(scenario: Scenario, mutant: Mutant | undefined) {
    this.scenario = scenario;
    this.dice = new Dice(scenario.seed).fork("run");
    this.clock = new ManualClock({ startMs: START_MS, seed: this.dice.fork("clock").seed });
    this.recorder = new Recorder(this.clock);
    this.turnstile = new Turnstile(this.clock, () => {
      this.#jammed = true;
      this.recorder.record({
        type: "stalled",
        waiting: "the store is asked and asked, and time does not move on",
      });
    });
    this.raw = memoryStore({ clock: this.clock });
    this.mutant = mutant;
    const context = { clock: this.clock, dice: this.dice.fork("mutant"), faulty: () => this.faulty };
    this.store = mutant?.store?.(this.raw, context) ?? this.raw;
  }

  get nowMs(): number {
    return this.clock.now() - START_MS;
  }

  /** Something that must not happen in any run: the run ends with it. */
  fail(error: unknown): void {
    this.#failure ??= error;
  }

  /** Runs timers, one at a time, until `main` is done or `limitMs` of virtual time are over. True if it is done. */
  async drive(main: Promise<void>, limitMs: number): Promise<boolean> {
    let over = false;
    main.then(
      () => {
        over = true;
      },
      (error: BusError) => this.fail(error),
    );
    await settlePromises();
    let standingStill = 0;
    while (!over && this.#failure === undefined && !this.#jammed && this.nowMs < limitMs) {
      const beforeMs = this.nowMs;
      if (!this.clock.runNext()) break;
      await settlePromises();
      standingStill = this.nowMs === beforeMs ? standingStill + 1 : 0;
      if (standingStill < MAX_STANDING_STILL) continue;
      this.#jammed = true;
      this.recorder.record({ type: "stalled", waiting: "timers run and run, and time does not move on" });
    }
    if (this.#failure !== undefined) throw this.#failure;
    return over;
  }
}
