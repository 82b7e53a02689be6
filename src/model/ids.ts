/**
 * Event ids. A bus makes UUIDv7 (time-ordered, growing within a process); callers may bring any short string. Ids
 * derived from others are UUIDv5, so that the same cause gives the same id on every machine (P8, P9).
 */
import { v5 } from "uuid";

const NAMESPACE = "6f1d3c3e-52a4-5d0b-9d6e-2b8f0c7a41e9";

const DIGITS = Uint8Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));
/** Where the digits of each byte stand in the text of a UUID. */
const DIGITS_AT = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;
const TIME_BYTES = 6;
/** Everything behind the time is chance, as far as it is not a counter. */
const CHANCE_BYTES = 10;

/**
 * Makes UUIDv7 that grow, also within a millisecond and when the clock steps back. Chance comes in from outside: asking
 * the system for 16 bytes an id costs more than all the rest. The text is put together in place: made of pieces, it
 * would be the largest part of the garbage that a publish leaves.
 */
export class IdSource {
  readonly #fillRandom: (bytes: Uint8Array) => void;
  readonly #random = new Uint8Array(CHANCE_BYTES);
  /** Character codes of the id made last: the time's digits stay until it changes. */
  readonly #text = Array.from("00000000-0000-0000-0000-000000000000", (c) => c.charCodeAt(0));
  #lastMs = -1;
  #seq = 0;

  constructor(fillRandom: (bytes: Uint8Array) => void) {
    this.#fillRandom = fillRandom;
  }

  next(nowMs: number): string {
    const random = this.#random;
    this.#fillRandom(random);
    if (nowMs > this.#lastMs) {
      this.#setTime(nowMs);
      // Half of the counter's range is left for ids of the same millisecond.
      this.#seq =
        ((random[0] as number) << 23) | ((random[1] as number) << 16) | ((random[2] as number) << 8);
    } else if (++this.#seq > 0xffffffff) {
      this.#setTime(this.#lastMs + 1);
      this.#seq = 0;
    }
    this.#setRest(this.#seq, random);
    return String.fromCharCode(...this.#text);
  }

  #setTime(ms: number): void {
    this.#lastMs = ms;
    for (let i = TIME_BYTES - 1, rest = ms; i >= 0; i--, rest = Math.floor(rest / 256)) {
      this.#setByte(i, rest % 256);
    }
  }

  /** Version, variant and a counter of 32 bits between them; then chance. */
  #setRest(seq: number, random: Uint8Array): void {
    this.#setByte(6, 0x70 | (seq >>> 28));
    this.#setByte(7, (seq >>> 20) & 0xff);
    this.#setByte(8, 0x80 | ((seq >>> 14) & 0x3f));
    this.#setByte(9, (seq >>> 6) & 0xff);
    this.#setByte(10, ((seq << 2) & 0xfc) | ((random[4] as number) & 3));
    for (let i = 11; i < 16; i++) this.#setByte(i, random[i - TIME_BYTES] as number);
  }

  #setByte(index: number, byte: number): void {
    const at = DIGITS_AT[index] as number;
    this.#text[at] = DIGITS[byte >> 4] as number;
    this.#text[at + 1] = DIGITS[byte & 15] as number;
  }
}

/** Id of the `index`-th event that `group`'s handler emits for the event `sourceId`. */
export function derivedId(group: string, sourceId: string, index: number | string): string {
  return v5(JSON.stringify([group, sourceId, String(index)]), NAMESPACE);
}

/** Id of the one dead letter that `group` may make of the event `sourceId`. */
export function deadLetterId(topic: string, group: string, sourceId: string): string {
  return v5(JSON.stringify(["dead-letter", topic, group, sourceId]), NAMESPACE);
}

/** The time inside a UUIDv7, or undefined for any other id. */
export function idTimeMs(id: string): number | undefined {
  if (id.length !== 36 || id.charCodeAt(14) !== 0x37 || id.charCodeAt(8) !== 0x2d) return undefined;
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  return Number.isNaN(ms) ? undefined : ms;
}
