/**
 * Expressions without the `u` flag, as Zod has them, as patterns. They read a text by UTF-16 units, JSON Schema's patterns by code
 * points, and they differ on characters that are two units, most emoji: `^.$` takes one of these by code points, and none by units.
 *
 * A pattern that is read by units says so itself, by an empty group in front. It means nothing to other validators, and
 * travels with the schema, so that a process that has only the JSON Schema judges as Zod does.
 */
import { Automaton, type Position } from "./automaton.js";
import { BY_UNITS, EVERY_SYMBOL, type SymbolSet } from "./pattern-syntax.js";

/** More of them are not compared: the readings may differ. */
const MAX_PAIRS = 2_000;
const FIRST_SURROGATE = 0xd800;
const PAST_SURROGATES = 0xe000;
const FIRST_BEYOND = 0x10000;

/** The source of an expression without the `u` flag as a pattern that takes the same texts. */
export function unitsPattern(source: string): string {
  return readsAlike(source) ? source : `${BY_UNITS}${source}`;
}

/** Whether it surely takes the same texts in both readings. */
function readsAlike(source: string): boolean {
  const byPoints = Automaton.of(source);
  const byUnits = Automaton.of(`${BY_UNITS}${source}`);
  if (byPoints === undefined || byUnits === undefined) return !hasCountedWildcard(source);
  const symbols = symbolsOf(byPoints);
  const pairs = new Map<string, readonly [Position, Position]>();
  const add = (points: Position, units: Position): void => {
    pairs.set(`${points.id},${units.id}`, [points, units]);
  };
  add(byPoints.start, byUnits.start);
  for (const [points, units] of pairs.values()) {
    if (points.accepting !== units.accepting || pairs.size > MAX_PAIRS) return false;
    for (const symbol of symbols) add(byPoints.over(points, symbol), byUnits.over(units, symbol));
  }
  return true;
}

/** One symbol of each kind that is told apart; none if no character of two units is taken anywhere. */
function symbolsOf(automaton: Automaton): readonly number[] {
  const cuts = new Set([0, FIRST_SURROGATE, PAST_SURROGATES, FIRST_BEYOND]);
  let wild = false;
  for (const set of automaton.sets()) {
    // What comes before and after a match is not counted.
    if (set === EVERY_SYMBOL) continue;
    for (const [low, high] of set) cuts.add(low).add(high + 1);
    wild ||= has(set, FIRST_SURROGATE) || has(set, FIRST_BEYOND);
  }
  return wild ? [...cuts].filter((cut) => cut <= 0x10ffff) : [];
}

function has(set: SymbolSet, symbol: number): boolean {
  return set.some(([low, high]) => low <= symbol && symbol <= high);
}

/** For what automata cannot express: one of these characters, or a set that takes them, and is not repeated at will. */
function hasCountedWildcard(source: string): boolean {
  const plain = source.replace(/\\[^DWS]/g, "x");
  return /[\ud800-\udfff]|(?:\.|\\[DWS]|\[\^[^\]]*\])(?![*+])/.test(plain);
}
