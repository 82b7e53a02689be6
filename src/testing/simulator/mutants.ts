/** Deliberate bugs, to show that the simulator and the checker see them. */
import type { Mutant } from "./mutant.js";
import { STEP_MUTANTS } from "./step-mutants.js";
import { STORE_MUTANTS } from "./store-mutants.js";

/** All bugs that can be planted. */
export const MUTANTS: readonly Mutant[] = [...STORE_MUTANTS, ...STEP_MUTANTS];

/** A bug by its name. */
export function mutantByName(name: string): Mutant | undefined {
  return MUTANTS.find((mutant) => mutant.name === name);
}
