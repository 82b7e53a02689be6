/**
 * Questions about sets of strings: is there a text that matches these patterns, misses those, and is so long? A text is
 * walked by code points, and each pattern reads them in its own way, by points or by units; a text that is found is
 * plain, so that both readings agree on it.
 */
import { Automaton, type Position } from "./automaton.js";
import { complement, cutsOf, type SymbolSet } from "./pattern-syntax.js";

export interface TextQuery {
  readonly matches: readonly string[];
  readonly misses: readonly string[];
  /** In code points. */
  readonly minLength: number;
  readonly maxLength: number;
}

export type TextAnswer =
  /** Still to be checked against patterns that automata cannot express. */
  { readonly type: "found"; readonly text: string } | { readonly type: "none" } | { readonly type: "unsure" };

const UNSURE: TextAnswer = { type: "unsure" };
const NONE: TextAnswer = { type: "none" };

const MAX_STEPS = 10_000;
/** Steps and states in one walk: patterns may be in many states at once. */
const MAX_WORK = 2_000_000;
/** Automata that are kept, and positions of each: one that grew larger is made anew when it is next needed. */
const MAX_KEPT = 1_000;
const MAX_KEPT_POSITIONS = 200;
const MAX_TEXT = 100_000;
/** Symbols that people can read come first in texts that are made. */
const PREFERRED = [..."aA0-_. b1/:@x"].map((letter) => letter.charCodeAt(0));
/** Halves of characters that stand alone, and characters that are two units. */
const BEYOND: SymbolSet = [
  [0xd800, 0xdfff],
  [0x10000, 0x10ffff],
];

/** Of all questions of one piece of work, about a second of a core. */
const MAX_WORK_IN_ALL = 4_000_000;

/** Finite during work that is bounded. */
let workLeft = Number.POSITIVE_INFINITY;

/**
 * For work on schemas alone: whoever sends one must not make others wait, neither for an expression engine nor for very many questions
 * about texts. What would take longer is then not known.
 */
export function withBoundedWork<T>(work: () => T): T {
  if (isWorkBounded()) return work();
  workLeft = MAX_WORK_IN_ALL;
  try {
    return work();
  } finally {
    workLeft = Number.POSITIVE_INFINITY;
  }
}

/** Whether work is bounded here: what cannot be known cheaply is not to be known then. */
export function isWorkBounded(): boolean {
  return workLeft !== Number.POSITIVE_INFINITY;
}

/** Whether there is none left for further questions. */
export function isWorkUsedUp(): boolean {
  return workLeft <= 0;
}

export function findText(query: TextQuery): TextAnswer {
  if (query.minLength > query.maxLength || query.misses.some((pattern) => query.matches.includes(pattern)))
    return NONE;
  if (query.matches.length + query.misses.length === 0) return plainText(query.minLength);
  // A pattern to be matched that is not understood is left out: the set grows, so "none" stays true.
  const inside = query.matches.map(automatonOf).filter((automaton) => automaton !== undefined);
  const outside = query.misses.map(automatonOf).filter((automaton) => automaton !== undefined);
  if (outside.length < query.misses.length || isWorkUsedUp()) return UNSURE;
  const before = workOf([...inside, ...outside]);
  const answer = answerBy(inside, outside, query);
  workLeft -= workOf([...inside, ...outside]) - before;
  for (const pattern of [...query.matches, ...query.misses])
    if ((known.get(pattern)?.size ?? 0) > MAX_KEPT_POSITIONS) known.delete(pattern);
  return answer;
}

function workOf(automata: readonly Automaton[]): number {
  return automata.reduce((sum, automaton) => sum + automaton.work, 0);
}

function answerBy(inside: readonly Automaton[], outside: readonly Automaton[], query: TextQuery): TextAnswer {
  const found = walk({ inside, outside, alphabet: alphabet(inside, outside, complement(BEYOND)), query });
  if (found.type !== "none") return found;
  const beyond = walk({ inside, outside, alphabet: alphabet(inside, outside, complement([])), query });
  return beyond.type === "none" ? NONE : UNSURE;
}

function plainText(length: number): TextAnswer {
  return length > MAX_TEXT ? UNSURE : { type: "found", text: "a".repeat(length) };
}

const known = new Map<string, Automaton | undefined>();

function automatonOf(pattern: string): Automaton | undefined {
  if (!known.has(pattern)) {
    if (known.size >= MAX_KEPT) known.clear();
    known.set(pattern, Automaton.of(pattern));
  }
  return known.get(pattern);
}

interface Walk {
  readonly inside: readonly Automaton[];
  readonly outside: readonly Automaton[];
  readonly alphabet: readonly number[];
  readonly query: TextQuery;
}

interface Place {
  readonly positions: readonly Position[];
  /** How many code points there are, as far as it matters. */
  readonly length: number;
  readonly from: Place | undefined;
  readonly symbol: number;
}

/** Breadth first, so that the text is a shortest one. */
function walk({ inside, outside, alphabet, query }: Walk): TextAnswer {
  const automata = [...inside, ...outside];
  // Further on, all lengths are alike.
  const counted = query.maxLength === Infinity ? query.minLength : query.maxLength + 1;
  if (counted > MAX_TEXT) return UNSURE;
  const first: Place = {
    positions: automata.map((a) => a.start),
    length: 0,
    from: undefined,
    symbol: 0,
  };
  const queue = [first];
  const limit = workOf(automata) + MAX_WORK;
  const seen = new Set([keyOf(first)]);
  for (const place of queue) {
    if (place.length >= query.minLength && fits(place, inside.length))
      return { type: "found", text: spell(place) };
    if (workOf(automata) > limit) return UNSURE;
    for (const symbol of alphabet) {
      const length = Math.min(place.length + 1, counted);
      if (length > query.maxLength) continue;
      const positions = place.positions.map((position, i) =>
        (automata[i] as Automaton).over(position, symbol),
      );
      if (positions.some((position, i) => position.fate === (i < inside.length ? "failed" : "matched")))
        continue;
      const next: Place = { positions, length, from: place, symbol };
      const key = keyOf(next);
      if (seen.has(key)) continue;
      if (seen.size >= MAX_STEPS) return UNSURE;
      seen.add(key);
      queue.push(next);
    }
  }
  return NONE;
}

function keyOf(place: Place): string {
  return `${place.positions.map((position) => position.id).join()}|${place.length}`;
}

function fits(place: Place, inside: number): boolean {
  return place.positions.every((position, i) => position.accepting === i < inside);
}

function spell(place: Place): string {
  const symbols: number[] = [];
  for (let at = place; at.from !== undefined; at = at.from) symbols.push(at.symbol);
  return symbols
    .reverse()
    .map((symbol) => String.fromCodePoint(symbol))
    .join("");
}

/** One symbol for each class of symbols that no pattern tells apart, among those allowed. */
function alphabet(inside: readonly Automaton[], outside: readonly Automaton[], allowed: SymbolSet): number[] {
  const told = [...inside, ...outside].flatMap((automaton) => [...automaton.sets()]);
  const sorted = [...cutsOf([BEYOND, allowed, ...told])].sort((a, b) => a - b);
  const symbols: number[] = [];
  for (const [i, low] of sorted.entries()) {
    const high = (sorted[i + 1] ?? 0x110000) - 1;
    if (!allowed.some(([from, to]) => from <= low && low <= to)) continue;
    symbols.push(PREFERRED.find((symbol) => low <= symbol && symbol <= high) ?? low);
  }
  const rank = (symbol: number): number => {
    const preferred = PREFERRED.indexOf(symbol);
    if (preferred >= 0) return preferred;
    return symbol >= 0x20 && symbol < 0x7f ? symbol : symbol + 0x110000;
  };
  return symbols.sort((a, b) => rank(a) - rank(b));
}
