/** Troubles of a bus as lines for people: with a store that is away there are thousands a second, and few are told. */

import { type Clock, systemClock } from "../model/clock.js";
import { leftOutText, Seldom } from "../model/seldom.js";
import type { Trouble } from "../model/trouble.js";

const TELL_EVERY_MS = 1_000;

/** A listener that tells the first trouble with a code at once, then one a second, with how many were left out; what is given up apart. */
export function fewTroubles(
  tell: (trouble: Trouble, leftOut: number) => void,
  clock: Pick<Clock, "steady"> = systemClock,
): (trouble: Trouble) => void {
  const seldom = new Seldom(TELL_EVERY_MS);
  return (trouble) => {
    const { error, givenUp = false } = trouble;
    const leftOut = seldom.admit(`${error.code} ${givenUp}`, clock.steady());
    if (leftOut !== null) tell(trouble, leftOut);
  };
}

/** In words on stderr; not of events that failed, since the program that was run for them has said why. `givenUp`: but of their last try. */
export function troublesInWords(o: { readonly givenUp?: boolean } = {}): (trouble: Trouble) => void {
  const tell = fewTroubles(({ error }, leftOut) => warn(error.message + leftOutText(leftOut)));
  return (trouble) => {
    const isLast = o.givenUp === true && trouble.givenUp === true;
    if (trouble.error.code !== "HANDLER_FAILED" || isLast) tell(trouble);
  };
}

export function warn(message: string): void {
  process.stderr.write(`promethean: ${message}\n`);
}
