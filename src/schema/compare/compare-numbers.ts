/** Numbers: bounds, integers, multiples. */

import { numbers } from "../tree/sample.js";
import { type NumberNode, numberOf } from "../tree/tree.js";
import { type Context, FITS, type Findings, shownBy } from "./compare-context.js";

export function compareNumbers(a: NumberNode, b: NumberNode, context: Context): Findings {
  const { writer, reader } = context;
  const show = (rule: string, broken: Partial<NumberNode>, values: readonly number[]): Findings =>
    shownBy(context, rule, [a, numberOf(broken)], [...values.flatMap((n) => aligned(a, n)), ...numbers(a)]);
  return [
    ...(isInteger(a) || !b.integer
      ? FITS
      : show(
          `the ${reader} version takes integers only, the ${writer} one fractions too`,
          { integer: true },
          [],
        )),
    ...(a.min > b.min || (a.min === b.min && (a.minExclusive || !b.minExclusive))
      ? FITS
      : show(
          `the ${reader} version starts ${b.minExclusive ? "above" : "at"} ${b.min}, the ${writer} one ${from(a)}`,
          { min: b.min, minExclusive: b.minExclusive },
          [b.min, b.min - 0.5, b.min - 1],
        )),
    ...(a.max < b.max || (a.max === b.max && (a.maxExclusive || !b.maxExclusive))
      ? FITS
      : show(
          `the ${reader} version ends ${b.maxExclusive ? "below" : "at"} ${b.max}, the ${writer} one ${upTo(a)}`,
          { max: b.max, maxExclusive: b.maxExclusive },
          [b.max, b.max + 0.5, b.max + 1],
        )),
    ...b.multiplesOf
      .filter((divisor) => !isMultiple(a, divisor))
      .flatMap((divisor) =>
        show(`the ${reader} version takes multiples of ${divisor} only`, { multiplesOf: [divisor] }, [
          1,
          divisor / 2,
        ]),
      ),
  ];
}

/** The number, and the nearest multiples that the writer may write. */
function aligned(a: NumberNode, n: number): number[] {
  const step = a.multiplesOf.reduce((all, divisor) => all * divisor, a.integer ? 1 : 0.5);
  return [
    n,
    Math.floor(n / step) * step,
    Math.floor(n / step) * step - step,
    Math.ceil(n / step) * step + step,
  ];
}

function isInteger(a: NumberNode): boolean {
  return a.integer || a.multiplesOf.some(Number.isInteger);
}

/** Whole divisors only: what is near enough to a multiple of one fraction need not be to one of another. */
function isMultiple(a: NumberNode, divisor: number): boolean {
  if (divisor === 1) return isInteger(a);
  return a.multiplesOf.some(
    (known) =>
      known === divisor || (Number.isInteger(known) && Number.isInteger(divisor) && known % divisor === 0),
  );
}

function from(a: NumberNode): string {
  if (a.min === -Infinity) return "has no lower bound";
  return a.minExclusive ? `above ${a.min}` : `at ${a.min}`;
}

function upTo(a: NumberNode): string {
  if (a.max === Infinity) return "has no upper bound";
  return a.maxExclusive ? `below ${a.max}` : `at ${a.max}`;
}
