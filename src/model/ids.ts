/**
 * Event ids. A bus makes UUIDv7 (time-ordered, growing within a process); callers may bring any short string. For those that are
 * derived from others see derived-id.ts.
 */

const DIGITS = Uint8Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));
/** Where the digits of each byte stand in the text of a UUID. */
const DIGITS_AT = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;
const TIME_BYTES = 6;
/** Everything behind the time is chance, as far as it is not a counter. */
const CHANCE_BYTES = 10;

/**
 * Makes UUIDv7 that grow, also within a millisecond and when the clock steps back. Chance comes in from outside, for some ids
 * at a time: asking the system for 16 bytes an id costs more than all the rest. The text is put together in place: made of
 * pieces, it would be the largest part of the garbage that a publish leaves.
 */
export class IdSource {
  readonly #fillRandom: (bytes: Uint8Array) => void;
  readonly #random: Uint8Array;
  /** Where the chance of the next id stands. */
  #at: number;
  /** Character codes of the id made last: the digits of the time, and the counter's high ones, stay until they change. */
  readonly #text = Array.from("00000000-0000-0000-0000-000000000000", (c) => c.charCodeAt(0));
  #lastMs = -1;
  #seq = 0;
  #high = -1;

  /** `ids`: for so many at a time chance is asked for. */
  constructor(fillRandom: (bytes: Uint8Array) => void, ids = 1) {
    this.#fillRandom = fillRandom;
    this.#random = new Uint8Array(CHANCE_BYTES * ids);
    this.#at = this.#random.length;
  }

  next(nowMs: number): string {
    const random = this.#random;
    if (this.#at === random.length) {
      this.#fillRandom(random);
      this.#at = 0;
    }
    const at = this.#at;
    this.#at = at + CHANCE_BYTES;
    if (nowMs > this.#lastMs) {
      this.#setTime(nowMs);
      // Half of the counter's range is left for ids of the same millisecond.
      this.#seq =
        ((random[at] as number) << 23) |
        ((random[at + 1] as number) << 16) |
        ((random[at + 2] as number) << 8);
    } else if (++this.#seq > 0xffffffff) {
      this.#setTime(this.#lastMs + 1);
      this.#seq = 0;
    }
    this.#setCounter(this.#seq, random[at + 4] as number);
    for (let i = 11; i < 16; i++) this.#setByte(i, random[at + i - TIME_BYTES] as number);
    return String.fromCharCode(...this.#text);
  }

  #setTime(ms: number): void {
    this.#lastMs = ms;
    for (let i = TIME_BYTES - 1, rest = ms; i >= 0; i--, rest = Math.floor(rest / 256)) {
      this.#setByte(i, rest % 256);
    }
  }

  /** 32 bits, with version and variant between them, and two bits of chance behind. */
  #setCounter(seq: number, chance: number): void {
    const high = seq >>> 14;
    if (high !== this.#high) {
      this.#high = high;
      this.#setByte(6, 0x70 | (seq >>> 28));
      this.#setByte(7, (seq >>> 20) & 0xff);
      this.#setByte(8, 0x80 | (high & 0x3f));
    }
    this.#setByte(9, (seq >>> 6) & 0xff);
    this.#setByte(10, ((seq << 2) & 0xfc) | (chance & 3));
  }

  #setByte(index: number, byte: number): void {
    const at = DIGITS_AT[index] as number;
    this.#text[at] = DIGITS[byte >> 4] as number;
    this.#text[at + 1] = DIGITS[byte & 15] as number;
  }
}

/** The time inside a UUIDv7, or undefined for any other id. */
export function idTimeMs(id: string): number | undefined {
  if (id.length !== 36 || id.charCodeAt(14) !== 0x37 || id.charCodeAt(8) !== 0x2d) return undefined;
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  return Number.isNaN(ms) ? undefined : ms;
}
