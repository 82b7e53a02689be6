/** How many events one subscriber may work on at once, over all its topics together (P13). */
export class Allowance {
  readonly #max: number;
  readonly #sharers = new Set<() => void>();
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
    if (!paused) this.#tellSharers();
  }

  /** `onRoom` is called when there is room again after there was none. Returns how to end that. */
  share(onRoom: () => void): () => void {
    this.#sharers.add(onRoom);
    return () => void this.#sharers.delete(onRoom);
  }

  take(): void {
    this.#used++;
  }

  giveBack(): void {
    if (this.#used-- >= this.#max) this.#tellSharers();
  }

  #tellSharers(): void {
    for (const onRoom of this.#sharers) onRoom();
  }
}
