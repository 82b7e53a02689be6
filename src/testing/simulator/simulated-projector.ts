/** A projection in a process of its own, which stands still now and then, often for longer than its lease lasts. */
import { pause } from "../../model/clock.js";
import { type FaultyStore, faultyStore, type SeededFaults, seededFaults } from "../faulty-store/index.js";
import type { Dice } from "./dice.js";
import { nameOf } from "./naming.js";
import { observedStore } from "./observed-store.js";
import { ProcessClock } from "./process-clock.js";
import { Projector } from "./projector.js";
import { ORDERS, PROJECTION, type Scenario, VIEW } from "./scenario.js";
import type { World } from "./world.js";

export class SimulatedProjector {
  readonly #world: World;
  readonly #name: string;
  readonly #dice: Dice;
  readonly #clock: ProcessClock;
  readonly #store: FaultyStore;
  readonly #faults: SeededFaults;
  readonly #projector: Projector;

  constructor(world: World, name: string) {
    const { scenario, clock, recorder, store, turnstile } = world;
    this.#world = world;
    this.#name = name;
    this.#dice = world.dice.fork(name);
    this.#clock = new ProcessClock(clock, { seed: this.#dice.seed });
    this.#faults = seededFaults({ ...withoutCrashes(scenario), seed: this.#dice.fork("faults").seed });
    const observed = observedStore(store, name, recorder, turnstile);
    this.#store = faultyStore(observed, this.#faults, { clock, shared: true });
    this.#projector = new Projector({
      name,
      store: this.#store,
      clock: this.#clock,
      recorder,
      topic: ORDERS,
      group: PROJECTION,
      view: VIEW,
      partitions: scenario.partitions,
      nameOf,
    });
    this.#projector.start();
    this.#freezeNowAndThen().catch((error: unknown) => world.fail(error));
  }

  endFaults(): void {
    this.#faults.stop();
    this.#thaw();
  }

  stop(): Promise<void> {
    return this.#projector.stop();
  }

  async #freezeNowAndThen(): Promise<void> {
    const { clock, recorder, scenario } = this.#world;
    const { blows, everyMs } = scenario.chaos;
    while (blows.freeze > 0) {
      await pause(clock, this.#dice.between(1, everyMs * 4));
      if (!this.#world.faulty) return;
      this.#store.freeze();
      this.#clock.freeze();
      recorder.record({ type: "froze", member: this.#name });
      await pause(clock, this.#dice.between(1, scenario.leaseMs * 2.5));
      this.#thaw();
    }
  }

  #thaw(): void {
    if (this.#store.state !== "frozen") return;
    this.#world.recorder.record({ type: "thawed", member: this.#name });
    this.#clock.thaw();
    this.#store.thaw();
  }
}

/** Nobody starts a projector again. */
function withoutCrashes({ faults }: Scenario): Scenario["faults"] {
  const byKind = Object.entries(faults.byKind ?? {}).map(([kind, rates]) => [kind, { ...rates, crash: 0 }]);
  return { ...faults, rates: { ...faults.rates, crash: 0 }, byKind: Object.fromEntries(byKind) };
}
