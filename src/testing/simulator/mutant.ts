/** A planted bug: a store or a delivery step that is wrong in one way. Production code knows nothing of it. */
import type { Step } from "../../consume/delivery-events.js";
import type { Clock } from "../../model/clock.js";
import type { Store } from "../../ports/store.js";
import type { AnomalyClass } from "../history/index.js";
import type { Dice } from "./dice.js";
import type { Scenario } from "./scenario.js";

/** What a planted bug may use. */
export interface MutantContext {
  readonly clock: Clock;
  readonly dice: Dice;
  /** Whether faults still happen; a bug that needs a mishap of its own makes none afterwards. */
  readonly faulty: () => boolean;
}

/** A bug that is planted on purpose, to see that the checker catches it. */
export interface Mutant {
  readonly name: string;
  /** What is wrong, in words. */
  readonly says: string;
  /** As what the checker should see it; any of these. */
  readonly expect: readonly AnomalyClass[];
  readonly store?: (store: Store, context: MutantContext) => Store;
  readonly step?: (step: Step) => Step;
  /** Makes what the bug needs more likely; correct code must be clean under it too. */
  readonly scenario?: (scenario: Scenario) => Scenario;
}
