/**
 * How much work one comparison may be, and telling the alternatives of one schema apart. Alternatives inside alternatives are pairs of
 * pairs: their number doubles with every level, and whoever may send a schema would halt the process by it (P15). What is left open when
 * a budget is used up is not known, and the answer says so. Steps are counted, not time: the same schemas get the same answer on
 * every machine.
 */

/** Pairs of nodes, values held against nodes, nodes looked at for values: a quarter of a second of a core, or about that. */
const MAX_STEPS = 1_500_000;

/** What is left of it: below zero if the last steps were more than there were. */
export interface Budget {
  left: number;
}

let current: Budget | null = null;

export function newBudget(): Budget {
  return { left: MAX_STEPS };
}

/** Work that takes its steps from `budget`, or from that of the work it is part of. */
export function withBudget<T>(work: () => T, budget = newBudget()): T {
  if (current !== null) return work();
  current = budget;
  try {
    return work();
  } finally {
    current = null;
  }
}

/** False: there were none left. Without a budget there always are. */
export function takeSteps(count = 1): boolean {
  if (current === null) return true;
  if (current.left <= 0) return false;
  current.left -= count;
  return true;
}

export function isBudgetUsedUp(): boolean {
  return current !== null && current.left <= 0;
}
