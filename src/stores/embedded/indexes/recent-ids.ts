/**
 * UUIDv7 ids of late, in memory, so that most look-ups of P3 need no disk: an id that is newer than `sinceMs` and not
 * remembered here is not in the log. The answer "perhaps" is settled on disk: what is kept are 32-bit fingerprints.
 *
 * Invariant: every UUIDv7 of the log with a time of at least `sinceMs` is remembered. Hence whoever knows of ids
 * that are not (another process wrote, or this is the start) says so with `restart`.
 */

/** Ids per generation; two generations are kept, in 4 bytes × 2 per id. */
const GENERATION = 1 << 18;

class Generation {
  /** Open addressing, half full at most; 0 stands for an empty place. */
  readonly #table = new Uint32Array(GENERATION * 2);
  size = 0;
  maxMs = 0;

  add(print: number, timeMs: number): void {
    const mask = this.#table.length - 1;
    let at = print & mask;
    for (;;) {
      const there = this.#table[at];
      if (there === print) break;
      if (there === 0) {
        this.#table[at] = print;
        this.size++;
        break;
      }
      at = (at + 1) & mask;
    }
    if (timeMs > this.maxMs) this.maxMs = timeMs;
  }

  has(print: number): boolean {
    const mask = this.#table.length - 1;
    for (let at = print & mask; this.#table[at] !== 0; at = (at + 1) & mask) {
      if (this.#table[at] === print) return true;
    }
    return false;
  }

  clear(): void {
    if (this.size > 0) this.#table.fill(0);
    this.size = 0;
    this.maxMs = 0;
  }
}

export class RecentIds {
  #younger = new Generation();
  #older = new Generation();
  #sinceMs = Number.POSITIVE_INFINITY;
  readonly #onForget: (sinceMs: number) => void;

  /** `onForget` is called when the oldest were dropped, to bring back those of them that stand out of order. */
  constructor(onForget: (sinceMs: number) => void) {
    this.#onForget = onForget;
  }

  /** Forgets all: every id of the log with a time of at least `sinceMs` is going to be added by the caller. */
  restart(sinceMs: number): void {
    this.#younger.clear();
    this.#older.clear();
    this.#sinceMs = sinceMs;
  }

  covers(timeMs: number): boolean {
    return timeMs >= this.#sinceMs;
  }

  /** False: certainly not there. Only for ids whose time is covered. */
  mayHave(ids: Uint8Array, at: number): boolean {
    const print = fingerprint(ids, at);
    return this.#younger.has(print) || this.#older.has(print);
  }

  /** `spannedMs`: its time, if the id is found by that, else 0: those are brought back by `onForget`. */
  add(ids: Uint8Array, at: number, spannedMs: number): void {
    if (this.#younger.size >= GENERATION) this.#age();
    this.#younger.add(fingerprint(ids, at), spannedMs);
  }

  #age(): void {
    const emptied = this.#older;
    const forgottenMs = emptied.maxMs;
    this.#older = this.#younger;
    emptied.clear();
    this.#younger = emptied;
    this.#sinceMs = Math.max(this.#sinceMs, forgottenMs + 1);
    this.#onForget(this.#sinceMs);
  }
}

/** The last 8 bytes are random in any UUIDv7, those of bytes 6 and 7 tell ids of one burst apart. Never 0. */
function fingerprint(ids: Uint8Array, at: number): number {
  const a = word(ids, at + 4);
  const b = word(ids, at + 8);
  const c = word(ids, at + 12);
  let h = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca77) ^ Math.imul(c, 0xc2b2ae3d);
  h ^= h >>> 15;
  h = Math.imul(h, 0x27d4eb2f);
  h ^= h >>> 13;
  return h >>> 0 || 1;
}

function word(ids: Uint8Array, at: number): number {
  return (
    ((ids[at] as number) << 24) |
    ((ids[at + 1] as number) << 16) |
    ((ids[at + 2] as number) << 8) |
    (ids[at + 3] as number)
  );
}
