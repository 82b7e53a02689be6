export type { Mutant, MutantContext } from "./mutant.js";
export { MUTANTS, mutantByName } from "./mutants.js";
export type { ChaosPlan, GroupPlan, Scenario } from "./scenario.js";
export { type SimulateOptions, type SimulationResult, simulate } from "./simulate.js";
