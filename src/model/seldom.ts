/** How often something is told that may happen thousands of times a second. No clock: time is an argument. */

interface Kind {
  toldMs: number;
  leftOut: number;
}

/**
 * The first of a kind is told at once, further ones at most every `everyMs`, each with how many were left out. Kinds are kept
 * for good: codes and classes of errors, never texts from outside. Of those that come from outside (groups) only `most` are kept:
 * the one that was told longest ago is forgotten. While all of them were told of late, any others count as one kind.
 */
export class Seldom {
  readonly #everyMs: number;
  readonly #most: number;
  /** The one that was told longest ago first. */
  readonly #kinds = new Map<string, Kind>();
  readonly #others = newKind();

  constructor(everyMs: number, most = Number.POSITIVE_INFINITY) {
    this.#everyMs = everyMs;
    this.#most = most;
  }

  /** How many of its kind were left out since one was told; null: this one is left out, too. */
  admit(name: string, nowMs: number): number | null {
    const kind = this.#kinds.get(name) ?? (this.#makeRoom(nowMs) ? newKind() : this.#others);
    if (nowMs - kind.toldMs < this.#everyMs) {
      kind.leftOut++;
      return null;
    }
    const { leftOut } = kind;
    kind.toldMs = nowMs;
    kind.leftOut = 0;
    if (kind !== this.#others) {
      this.#kinds.delete(name);
      this.#kinds.set(name, kind);
    }
    return leftOut;
  }

  #makeRoom(nowMs: number): boolean {
    if (this.#kinds.size < this.#most) return true;
    const [oldest] = this.#kinds;
    if (oldest === undefined || nowMs - oldest[1].toldMs < this.#everyMs) return false;
    return this.#kinds.delete(oldest[0]);
  }
}

function newKind(): Kind {
  return { toldMs: Number.NEGATIVE_INFINITY, leftOut: 0 };
}

/** What is said behind a complaint of how many were left out; nothing of none. */
export function leftOutText(leftOut: number): string {
  return leftOut === 0 ? "" : ` (and ${leftOut} more like it)`;
}
