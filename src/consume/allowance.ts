/**
 * How many events one subscriber may work on at once, over all its topics together (P13). Whoever finds no room is told in
 * turn, one for each event that is done with: a thousand topics that wait for one place must not all look for it.
 *
 * Whoever is told looks, and says so if there is room left (`passOn`). So while there is room and somebody waits, somebody
 * who was told has yet to look.
 */
export class Allowance {
  readonly #max: number;
  /** First come, first told. */
  readonly #waiting = new Set<() => void>();
  #used = 0;
  #paused = false;

  constructor(max: number) {
    this.#max = max;
  }

  get room(): number {
    return this.#paused ? 0 : this.#max - this.#used;
  }

  /** While paused there is no room; what is worked on goes on. */
  setPaused(paused: boolean): void {
    this.#paused = paused;
    this.passOn();
  }

  /** `onRoom` is called once, when there is room and its turn has come. */
  wait(onRoom: () => void): void {
    this.#waiting.add(onRoom);
  }

  /** It waits no longer. */
  leave(onRoom: () => void): void {
    this.#waiting.delete(onRoom);
    this.passOn();
  }

  take(events: number): void {
    this.#used += events;
  }

  giveBack(): void {
    this.#used--;
    this.passOn();
  }

  /** The next one is told if there is room. */
  passOn(): void {
    if (this.#waiting.size === 0 || this.room <= 0) return;
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      next();
      return;
    }
  }
}
