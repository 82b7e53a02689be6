/**
 * Event ids. A bus makes UUIDv7 (time-ordered, growing within a process); callers may bring any short string. Ids
 * derived from others are UUIDv5, so that the same cause gives the same id on every machine (P8, P9).
 */
import { v5, v7 } from "uuid";

const NAMESPACE = "6f1d3c3e-52a4-5d0b-9d6e-2b8f0c7a41e9";

/**
 * Makes UUIDv7 that grow, also within a millisecond and when the clock steps back. Chance comes in from outside: asking
 * the system for 16 bytes an id costs more than all the rest.
 */
export class IdSource {
  readonly #nowMs: () => number;
  readonly #fillRandom: (bytes: Uint8Array) => void;
  readonly #random = new Uint8Array(16);
  #lastMs = -1;
  #seq = 0;

  constructor(nowMs: () => number, fillRandom: (bytes: Uint8Array) => void) {
    this.#nowMs = nowMs;
    this.#fillRandom = fillRandom;
  }

  next(): string {
    const random = this.#random;
    this.#fillRandom(random);
    const nowMs = this.#nowMs();
    if (nowMs > this.#lastMs) {
      this.#lastMs = nowMs;
      // Half of the counter's range is left for ids of the same millisecond.
      this.#seq =
        ((random[6] as number) << 23) | ((random[7] as number) << 16) | ((random[8] as number) << 8);
    } else if (++this.#seq > 0xffffffff) {
      this.#lastMs++;
      this.#seq = 0;
    }
    return v7({ msecs: this.#lastMs, seq: this.#seq, random });
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
