/**
 * Looks over compact JSON in bytes without making anything of it. What it finds good is JSON for certain, nested at most
 * SHALLOW_DEPTH deep, has no member twice, and no number that JSON would not keep. Of what it does not find good nothing is
 * known: it may be spaced, or have something rare in it, and is to be parsed.
 */
import { SHALLOW_DEPTH } from "../../model/json.js";

// As in payload-text.ts, and not imported: what another module exports is loaded anew at each use, which makes this walk over
// every byte 1.6 times as long.
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

/** So many that no number of them is infinite. */
const MOST_DIGITS = 100;
/** In one object: each is compared with those before it. */
const MOST_NAMES = 32;

/** Names are compared by 32-bit sums (FNV-1a), as they are kept: signed. */
const FIRST_SUM = 0x811c9dc5 | 0;
const SUM_FACTOR = 0x01000193;

/** By their first letter. */
const WORDS = new Map(["true", "false", "null"].map((word) => [word.charCodeAt(0), Buffer.from(word)]));
/** What may stand behind a backslash; not `u`, which is rare. */
const ESCAPED: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));

export const NOT_GOOD = -1;

/** Where the value that begins at `from` ends, or NOT_GOOD. */
export function valueEnd(bytes: Uint8Array, from: number): number {
  return skipValue(bytes, from, 0);
}

function skipValue(bytes: Uint8Array, at: number, depth: number): number {
  const first = bytes[at] as number;
  if (first === QUOTE) return skipString(bytes, at + 1);
  if (first === OPEN_BRACE) return depth < SHALLOW_DEPTH ? skipObject(bytes, at + 1, depth + 1) : NOT_GOOD;
  if (first === OPEN_BRACKET) return depth < SHALLOW_DEPTH ? skipArray(bytes, at + 1, depth + 1) : NOT_GOOD;
  if (isDigit(first) || first === MINUS) return skipNumber(bytes, at);
  return skipWord(bytes, at);
}

/** `at` is behind the opening quote. */
function skipString(bytes: Uint8Array, at: number): number {
  for (let i = at; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (byte === QUOTE) return i + 1;
    if (byte < SPACE) return NOT_GOOD;
    if (byte === BACKSLASH && !ESCAPED.has(bytes[++i] as number)) return NOT_GOOD;
  }
  return NOT_GOOD;
}

function skipArray(bytes: Uint8Array, from: number, depth: number): number {
  if (bytes[from] === CLOSE_BRACKET) return from + 1;
  let at = from;
  for (;;) {
    at = skipValue(bytes, at, depth);
    if (at === NOT_GOOD) return NOT_GOOD;
    const next = bytes[at++];
    if (next === CLOSE_BRACKET) return at;
    if (next !== COMMA) return NOT_GOOD;
  }
}

function skipObject(bytes: Uint8Array, from: number, depth: number): number {
  if (bytes[from] === CLOSE_BRACE) return from + 1;
  const names = (depth - 1) * MOST_NAMES;
  let at = from;
  for (let count = 0; count < MOST_NAMES; count++) {
    at = skipName(bytes, at, names, count);
    if (at === NOT_GOOD || bytes[at] !== COLON) return NOT_GOOD;
    at = skipValue(bytes, at + 1, depth);
    if (at === NOT_GOOD) return NOT_GOOD;
    const next = bytes[at++];
    if (next === CLOSE_BRACE) return at;
    if (next !== COMMA) return NOT_GOOD;
  }
  return NOT_GOOD;
}

/** Of the names in each object that is open, outermost first. */
const sums = new Int32Array(SHALLOW_DEPTH * MOST_NAMES);

/** The object's sums begin at `names`, and it has `count` of them so far. */
function skipName(bytes: Uint8Array, at: number, names: number, count: number): number {
  if (bytes[at] !== QUOTE) return NOT_GOOD;
  let sum = FIRST_SUM;
  for (let i = at + 1; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (byte === QUOTE) return addSum(sum, names, count) ? i + 1 : NOT_GOOD;
    // Escapes could spell any name.
    if (byte < SPACE || byte === BACKSLASH) return NOT_GOOD;
    sum = Math.imul(sum ^ byte, SUM_FACTOR);
  }
  return NOT_GOOD;
}

/** False if there is one like it: equal names have equal sums, and others hardly ever. */
function addSum(sum: number, names: number, count: number): boolean {
  for (let i = names; i < names + count; i++) if (sums[i] === sum) return false;
  sums[names + count] = sum;
  return true;
}

/** Neither exponents nor minus zero, whose value is not kept. */
function skipNumber(bytes: Uint8Array, from: number): number {
  let at = from;
  if (bytes[at] === MINUS && bytes[++at] === ZERO) return NOT_GOOD;
  const whole = at;
  while (isDigit(bytes[at])) at++;
  if (at === whole || (bytes[whole] === ZERO && at > whole + 1)) return NOT_GOOD;
  if (bytes[at] === POINT) {
    const part = ++at;
    while (isDigit(bytes[at])) at++;
    if (at === part) return NOT_GOOD;
  }
  return at - from > MOST_DIGITS ? NOT_GOOD : at;
}

function skipWord(bytes: Uint8Array, at: number): number {
  const word = WORDS.get(bytes[at] as number);
  if (word === undefined) return NOT_GOOD;
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return NOT_GOOD;
  return at + word.length;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}
