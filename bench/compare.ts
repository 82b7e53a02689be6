/**
 * Two revisions side by side: each case is measured on both, one right after the other, and the one that begins
 * changes each time. What is compared is the ratio inside such a pair.
 */
import { remoteSuite } from "./remote-suite.js";
import type { Case, Ratio, Suite } from "./suite.js";

export interface Side {
  readonly label: string;
  readonly program: URL;
}

export async function comparisonOf(name: string, here: Side, there: Side): Promise<Suite> {
  const mine = await remoteSuite({ program: here.program, name });
  const theirs = await remoteSuite({ program: there.program, name });
  const pairs = mine.cases.flatMap((one) => {
    const other = theirs.cases.find((candidate) => candidate.name === one.name);
    return other === undefined ? [] : [[one, other] as const];
  });
  return {
    name: `${name}, ${here.label} and ${there.label}`,
    ...(mine.warmUps !== undefined && { warmUps: mine.warmUps }),
    cases: pairs.map(([one, other]) => pairCase(one, other, here.label, there.label)),
    ratios: pairs.flatMap(([one]) => ratiosOf(one, here.label, there.label)),
    close: async () => {
      await mine.close?.();
      await theirs.close?.();
    },
  };
}

const of = (label: string, name: string): string => `${name} (${label})`;
const namesOf = ({ name, also = [] }: Case): string[] => [name, ...also.map((figure) => figure.name)];

function pairCase(one: Case, other: Case, here: string, there: string): Case {
  let mineFirst = false;
  const figures = (label: string) =>
    [one, ...(one.also ?? [])].map(({ name, unit }) => ({ name: of(label, name), unit }));
  const [first, ...rest] = [...figures(here), ...figures(there)];
  return {
    ...(first ?? { name: one.name, unit: one.unit }),
    also: rest,
    measure: async () => {
      mineFirst = !mineFirst;
      const values = async (of: Case): Promise<readonly number[]> => [await of.measure()].flat();
      if (!mineFirst) {
        const theirs = await values(other);
        return [...(await values(one)), ...theirs];
      }
      return [...(await values(one)), ...(await values(other))];
    },
  };
}

function ratiosOf(one: Case, here: string, there: string): Ratio[] {
  return namesOf(one).map((name) => ({
    name: `${name}, ${here} / ${there}`,
    of: of(here, name),
    to: of(there, name),
  }));
}
