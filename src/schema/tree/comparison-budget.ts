/**
 * How much work one comparison may be. Alternatives inside alternatives, in both versions, are pairs of pairs: their number doubles with
 * every level, and whoever may send a schema would halt the process by it (P15). What is left open when the budget is used up is not
 * known, and the answer says so. Steps are counted, not time: the same two schemas get the same answer on every machine.
 */

/** Pairs of nodes, values held against nodes, nodes looked at for values: a tenth of a second of a core, or about that. */
const MAX_STEPS = 500_000;

/** Finite during a comparison. */
let left = Number.POSITIVE_INFINITY;

/** Runs a comparison, which may be part of another one. */
export function withBudget<T>(work: () => T): T {
  if (left !== Number.POSITIVE_INFINITY) return work();
  left = MAX_STEPS;
  try {
    return work();
  } finally {
    left = Number.POSITIVE_INFINITY;
  }
}

/** Takes steps, which are taken also if they are more than there were; false: there were none left. */
export function takeSteps(count = 1): boolean {
  if (left <= 0) return false;
  left -= count;
  return true;
}

export function isBudgetUsedUp(): boolean {
  return left <= 0;
}
