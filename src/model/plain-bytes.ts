/** For reading, byte by byte, what is written in one way only, where a parser would make more of it than there is. */

const ZERO = 0x30;
const NINE = 0x39;
/** So few that a number keeps all of them. */
const MOST_DIGITS = 15;

/** Whether this part stands at a place. */
export function hasAt(bytes: Uint8Array, at: number, part: Uint8Array): boolean {
  for (let i = 0; i < part.length; i++) if (bytes[at + i] !== part[i]) return false;
  return true;
}

/** Behind a whole number as JSON has it, or -1. */
export function numberEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while ((bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at++;
  const isGood = at > from && at - from <= MOST_DIGITS && (bytes[from] !== ZERO || at === from + 1);
  return isGood ? at : -1;
}

/** The number between two places, of which `numberEnd` has told the second. */
export function numberIn(bytes: Uint8Array, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) number = number * 10 + (bytes[at] as number) - ZERO;
  return number;
}
