import { describe, expect, it } from "vitest";
import type { AnomalyClass } from "../history/index.js";
import type { Mutant } from "./mutant.js";
import { MUTANTS } from "./mutants.js";
import { simulate } from "./simulate.js";

const MAX_SEEDS = 60;

async function classesOf(seed: number, mutant: Mutant): Promise<readonly AnomalyClass[]> {
  const { anomalies } = await simulate({ seed, mutant });
  return anomalies.map((anomaly) => anomaly.class);
}

/** The first seed under which the bug shows as what it is. */
async function firstCaught(mutant: Mutant): Promise<number | undefined> {
  for (let seed = 1; seed <= MAX_SEEDS; seed++) {
    const classes = await classesOf(seed, mutant);
    if (mutant.expect.some((expected) => classes.includes(expected))) return seed;
  }
  return undefined;
}

/** The same run with correct code. */
function withoutBug({ name, says, expect: expected, scenario }: Mutant): Mutant {
  return { name, says, expect: expected, ...(scenario && { scenario }) };
}

describe("planted bugs", () => {
  it("are many, and each has its own name", () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
    expect(MUTANTS.length).toBeGreaterThanOrEqual(12);
  });

  const cases = MUTANTS.map((mutant) => [mutant.name, mutant.says, mutant] as const);

  it.each(cases)("%s is caught: %s", { timeout: 180_000 }, async (_name, _says, mutant) => {
    const seed = await firstCaught(mutant);
    expect(seed, `not seen as ${mutant.expect.join(" or ")} in ${MAX_SEEDS} seeds`).toBeDefined();
    expect(await classesOf(seed as number, withoutBug(mutant))).toEqual([]);
  });
});
