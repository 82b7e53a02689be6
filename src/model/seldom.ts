/** How often something is told that may happen thousands of times a second. No clock: time is an argument. */

interface Kind {
  toldMs: number;
  leftOut: number;
}

/**
 * The first of a kind is told at once, further ones at most every `everyMs`, each with how many were left out. Kinds are kept
 * for good: codes and classes of errors, never texts from outside.
 */
export class Seldom {
  readonly #everyMs: number;
  readonly #kinds = new Map<string, Kind>();

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** How many of its kind were left out since one was told; null: this one is left out, too. */
  admit(kind: string, nowMs: number): number | null {
    const known = this.#kinds.get(kind);
    if (known === undefined) {
      this.#kinds.set(kind, { toldMs: nowMs, leftOut: 0 });
      return 0;
    }
    if (nowMs - known.toldMs < this.#everyMs) {
      known.leftOut++;
      return null;
    }
    const { leftOut } = known;
    known.toldMs = nowMs;
    known.leftOut = 0;
    return leftOut;
  }
}

/** What is said behind a complaint of how many were left out; nothing of none. */
export function leftOutText(leftOut: number): string {
  return leftOut === 0 ? "" : ` (and ${leftOut} more like it)`;
}
