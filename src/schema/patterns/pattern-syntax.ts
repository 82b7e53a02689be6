/**
 * Regular expressions as JSON Schema and Zod use them, parsed into what an automaton needs. Only what means the same
 * with and without the `u` flag is taken; look-around, back references, word boundaries and property escapes are not
 * regular in our sense, and the answer is undefined.
 *
 * Symbols are code points, surrogates among them: a string of UTF-16 units is a string of symbols too.
 */

/** Inclusive ranges of symbols, ascending, apart from each other. */
export type SymbolSet = readonly (readonly [low: number, high: number])[];

export type Syntax =
  | { readonly type: "symbols"; readonly set: SymbolSet }
  | { readonly type: "sequence"; readonly parts: readonly Syntax[] }
  | { readonly type: "choice"; readonly parts: readonly Syntax[] }
  | { readonly type: "repeat"; readonly part: Syntax; readonly min: number; readonly max: number }
  | { readonly type: "start" }
  | { readonly type: "end" };

/** What a pattern begins with that is read by UTF-16 units, not by code points (see pattern-reading.ts). */
export const BY_UNITS = "(?:)";

/** Groups inside each other. */
const MAX_NESTED = 100;
const LAST = 0x10ffff;
export const EVERY_SYMBOL: SymbolSet = [[0, LAST]];

const DIGIT: SymbolSet = [[0x30, 0x39]];
const WORD: SymbolSet = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
const SPACE: SymbolSet = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const LINE_END: SymbolSet = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];
const CLASSES: Readonly<Record<string, SymbolSet>> = {
  d: DIGIT,
  D: complement(DIGIT),
  w: WORD,
  W: complement(WORD),
  s: SPACE,
  S: complement(SPACE),
};
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };
/** Characters that stand for themselves when escaped, whatever the flags. */
const ESCAPABLE = "^$\\.*+?()[]{}|/";

/** Thrown and caught in this file. */
class Unsupported extends Error {
  override readonly name = "Unsupported";
}

export function parsePattern(source: string): Syntax | undefined {
  try {
    return new Parser(source).parse();
  } catch (error) {
    if (error instanceof Unsupported) return undefined;
    throw error;
  }
}

export function complement(set: SymbolSet): SymbolSet {
  const gaps: [number, number][] = [];
  let next = 0;
  for (const [low, high] of set) {
    if (low > next) gaps.push([next, low - 1]);
    next = high + 1;
  }
  if (next <= LAST) gaps.push([next, LAST]);
  return gaps;
}

/** Where sets begin and end: between two of these places no set tells one symbol from another. */
export function cutsOf(sets: Iterable<SymbolSet>): Set<number> {
  const cuts = new Set<number>();
  for (const set of sets) for (const [low, high] of set) cuts.add(low).add(high + 1);
  return cuts;
}

function joined(ranges: SymbolSet): SymbolSet {
  const merged: [number, number][] = [];
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last !== undefined && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else merged.push([low, high]);
  }
  return merged;
}

class Parser {
  readonly #source: string;
  #at = 0;
  #nested = 0;

  constructor(source: string) {
    // Outside the basic plane one character is one symbol or two, depending on a flag.
    if (/[\ud800-\udfff]/.test(source)) throw new Unsupported("a character beyond the basic plane");
    this.#source = source;
  }

  parse(): Syntax {
    const syntax = this.#choice();
    if (this.#at < this.#source.length) this.#refuse();
    return syntax;
  }

  #refuse(): never {
    throw new Unsupported(`${this.#source} at ${this.#at}`);
  }

  #peek(): string {
    return this.#source.charAt(this.#at);
  }

  #eat(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #choice(): Syntax {
    const parts = [this.#sequence()];
    while (this.#eat("|")) parts.push(this.#sequence());
    return parts.length === 1 ? (parts[0] as Syntax) : { type: "choice", parts };
  }

  #sequence(): Syntax {
    const parts: Syntax[] = [];
    while (this.#at < this.#source.length && this.#peek() !== "|" && this.#peek() !== ")") {
      parts.push(this.#quantified(this.#atom()));
    }
    return parts.length === 1 ? (parts[0] as Syntax) : { type: "sequence", parts };
  }

  #atom(): Syntax {
    if (this.#eat("^")) return { type: "start" };
    if (this.#eat("$")) return { type: "end" };
    if (this.#eat("(")) return this.#group();
    if (this.#eat("[")) return { type: "symbols", set: this.#bracket() };
    if (this.#eat(".")) return { type: "symbols", set: complement(LINE_END) };
    if (this.#eat("\\")) return { type: "symbols", set: this.#escape(ESCAPABLE) };
    if ("*+?{}]".includes(this.#peek())) this.#refuse();
    return { type: "symbols", set: this.#literal() };
  }

  #literal(): SymbolSet {
    const code = this.#source.charCodeAt(this.#at++);
    return [[code, code]];
  }

  #group(): Syntax {
    if (this.#eat("?")) {
      const named = /^<[A-Za-z_]\w*>/.exec(this.#source.slice(this.#at));
      if (named !== null) this.#at += named[0].length;
      else if (!this.#eat(":")) this.#refuse();
    }
    if (++this.#nested > MAX_NESTED) this.#refuse();
    const inside = this.#choice();
    this.#nested--;
    if (!this.#eat(")")) this.#refuse();
    return inside;
  }

  #quantified(part: Syntax): Syntax {
    const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})/.exec(this.#source.slice(this.#at))?.[0];
    if (quantifier === undefined) return part;
    if (part.type === "start" || part.type === "end") this.#refuse();
    this.#at += quantifier.length;
    this.#eat("?");
    if ("*+?".includes(this.#peek()) && this.#at < this.#source.length) this.#refuse();
    return { type: "repeat", part, ...counts(quantifier) };
  }

  #bracket(): SymbolSet {
    const negated = this.#eat("^");
    const ranges: (readonly [number, number])[] = [];
    while (!this.#eat("]")) {
      const low = this.#bracketItem();
      if (!this.#source.startsWith("-", this.#at) || this.#source.startsWith("-]", this.#at)) {
        ranges.push(...low);
        continue;
      }
      this.#at++;
      const high = this.#bracketItem();
      const from = single(low);
      const to = single(high);
      if (from === undefined || to === undefined || from > to) this.#refuse();
      ranges.push([from, to]);
    }
    return negated ? complement(joined(ranges)) : joined(ranges);
  }

  #bracketItem(): SymbolSet {
    if (this.#at >= this.#source.length) this.#refuse();
    if (this.#eat("\\b")) return [[8, 8]];
    if (this.#eat("\\")) return this.#escape(`${ESCAPABLE}-`);
    return this.#literal();
  }

  #escape(escapable: string): SymbolSet {
    const letter = this.#peek();
    this.#at++;
    const set = Object.hasOwn(CLASSES, letter) ? CLASSES[letter] : undefined;
    if (set !== undefined) return set;
    const control = Object.hasOwn(CONTROLS, letter) ? CONTROLS[letter] : undefined;
    if (control !== undefined) return [[control, control]];
    if (letter === "x") return this.#hexadecimal(2);
    if (letter === "u") return this.#hexadecimal(4);
    if (letter === "" || !escapable.includes(letter)) this.#refuse();
    return [[letter.charCodeAt(0), letter.charCodeAt(0)]];
  }

  #hexadecimal(digits: number): SymbolSet {
    const text = this.#source.slice(this.#at, this.#at + digits);
    const code = Number.parseInt(text, 16);
    const surrogate = code >= 0xd800 && code <= 0xdfff;
    if (text.length < digits || !/^[0-9a-fA-F]+$/.test(text) || surrogate) this.#refuse();
    this.#at += digits;
    return [[code, code]];
  }
}

function single(set: SymbolSet): number | undefined {
  const [range] = set;
  return set.length === 1 && range !== undefined && range[0] === range[1] ? range[0] : undefined;
}

function counts(quantifier: string): { min: number; max: number } {
  if (quantifier === "*") return { min: 0, max: Infinity };
  if (quantifier === "+") return { min: 1, max: Infinity };
  if (quantifier === "?") return { min: 0, max: 1 };
  const [low = "0", high] = quantifier.slice(1, -1).split(",");
  const min = Number(low);
  if (high === undefined) return { min, max: min };
  return { min, max: high === "" ? Infinity : Number(high) };
}
