/** How often something is told that may happen thousands of times a second. No clock: time is an argument. */

interface Kind {
  toldMs: number;
  leftOut: number;
}

/**
 * The first of a kind is told at once, further ones at most every `everyMs`, each with how many were left out. Kinds are kept
 * for good: codes and classes of errors, never texts from outside. Of those that come from outside (groups) only `most` are kept:
 * the one that was told longest ago is forgotten.
 */
export class Seldom {
  readonly #everyMs: number;
  readonly #most: number;
  /** The one that was told longest ago first. */
  readonly #kinds = new Map<string, Kind>();

  constructor(everyMs: number, most = Number.POSITIVE_INFINITY) {
    this.#everyMs = everyMs;
    this.#most = most;
  }

  /** How many of its kind were left out since one was told; null: this one is left out, too. */
  admit(kind: string, nowMs: number): number | null {
    const known = this.#kinds.get(kind);
    if (known !== undefined && nowMs - known.toldMs < this.#everyMs) {
      known.leftOut++;
      return null;
    }
    this.#kinds.delete(kind);
    if (this.#kinds.size >= this.#most) this.#kinds.delete(this.#kinds.keys().next().value as string);
    this.#kinds.set(kind, { toldMs: nowMs, leftOut: 0 });
    return known?.leftOut ?? 0;
  }
}

/** What is said behind a complaint of how many were left out; nothing of none. */
export function leftOutText(leftOut: number): string {
  return leftOut === 0 ? "" : ` (and ${leftOut} more like it)`;
}
