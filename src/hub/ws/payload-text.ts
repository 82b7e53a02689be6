/**
 * The texts of payloads inside a body that has been parsed, so that an event keeps the text it came in and nobody makes it
 * anew. Found by one walk over the bytes. Whatever is not as JSON.stringify would space it (or has a member twice, or a
 * number that JSON does not keep) has no text here: its payload goes the long way, which also says what is wrong with it.
 */
import { SHALLOW_DEPTH } from "../../model/json.js";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

const NAME = Buffer.from('"payload"');
const NOWHERE = -1;

export class PayloadTexts {
  readonly #bytes: Buffer;
  /** Where the next object begins, after a separator; NOWHERE once the walk is lost. */
  #at: number;
  /** Of the value walked over last. */
  #members = 0;

  /** `bytes` is JSON: an object, or an array of objects. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#at = bytes[0] === OPEN_BRACKET ? 1 : 0;
  }

  /** The text of the next object's member `payload`, which was parsed to `value`; undefined if it has to be made. */
  next(value: unknown): string | undefined {
    const bytes = this.#bytes;
    let at = this.#at;
    this.#at = NOWHERE;
    if (at === NOWHERE || bytes[at] !== OPEN_BRACE) return undefined;
    let from = NOWHERE;
    let to = NOWHERE;
    let members = 0;
    do {
      const nameAt = at + 1;
      const nameEnd = this.#nameEnd(nameAt);
      if (nameEnd === NOWHERE || bytes[nameEnd] !== COLON) return undefined;
      at = this.#valueEnd(nameEnd + 1);
      if (at === NOWHERE) return undefined;
      if (!this.#isPayload(nameAt, nameEnd)) continue;
      // Twice: the last one counts.
      from = nameEnd + 1;
      to = at;
      members = this.#members;
    } while (bytes[at] === COMMA);
    if (bytes[at] !== CLOSE_BRACE) return undefined;
    this.#at = at + 2;
    return from !== NOWHERE && membersOf(value, 0) === members ? bytes.toString("utf8", from, to) : undefined;
  }

  /** Past the closing quote of a name; NOWHERE if it has escapes, since they could spell any name. */
  #nameEnd(at: number): number {
    const bytes = this.#bytes;
    if (bytes[at] !== QUOTE) return NOWHERE;
    for (let i = at + 1; i < bytes.length; i++) {
      if (bytes[i] === QUOTE) return i + 1;
      if (bytes[i] === BACKSLASH) return NOWHERE;
    }
    return NOWHERE;
  }

  /** Past the closing quote of the string at `at`; NOWHERE if it never ends. */
  #stringEnd(at: number): number {
    const bytes = this.#bytes;
    for (let i = at + 1; i < bytes.length; i++) {
      const byte = bytes[i];
      if (byte === QUOTE) return i + 1;
      if (byte === BACKSLASH) i++;
    }
    return NOWHERE;
  }

  /** Past the value at `at`; NOWHERE if there is space in it. */
  #valueEnd(at: number): number {
    const bytes = this.#bytes;
    let depth = 0;
    this.#members = 0;
    for (let i = at; i < bytes.length; i++) {
      const byte = bytes[i] as number;
      if (byte === QUOTE) {
        i = this.#stringEnd(i) - 1;
        if (i < 0) return NOWHERE;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (depth-- === 0) return i;
      } else if (byte === COLON) this.#members++;
      else if (byte === COMMA && depth === 0) return i;
      else if (byte <= SPACE) return NOWHERE;
    }
    return NOWHERE;
  }

  #isPayload(from: number, to: number): boolean {
    if (to - from !== NAME.length) return false;
    for (let i = 0; i < NAME.length; i++) if (this.#bytes[from + i] !== NAME[i]) return false;
    return true;
  }
}

/** Members of all objects in a parsed value; NaN if it is deep or has a number that JSON does not keep as it is. */
function membersOf(value: unknown, depth: number): number {
  if (typeof value === "number") return isKept(value) ? 0 : Number.NaN;
  if (typeof value !== "object" || value === null) return 0;
  if (depth === SHALLOW_DEPTH) return Number.NaN;
  let members = 0;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) members += membersOf(value[i], depth + 1);
    return members;
  }
  for (const name in value) members += 1 + membersOf((value as Record<string, unknown>)[name], depth + 1);
  return members;
}

/** Neither infinite nor minus zero. */
function isKept(value: number): boolean {
  return value - value === 0 && !Object.is(value, -0);
}
