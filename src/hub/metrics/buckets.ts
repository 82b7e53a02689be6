/** Durations counted by upper bound, as a histogram that Prometheus reads: each bucket holds those below it as well. */
export class Buckets {
  readonly bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = new Float64Array(bounds.length);
  }

  /** So many of the same value. */
  add(value: number, times = 1): void {
    this.#sum += value * times;
    this.#count += times;
    const { bounds } = this;
    for (let i = 0; i < bounds.length; i++) {
      if (value > (bounds[i] as number)) continue;
      this.#counts[i] = (this.#counts[i] as number) + times;
      return;
    }
  }

  get sum(): number {
    return this.#sum;
  }

  get count(): number {
    return this.#count;
  }

  /** For each bound, how many were at most that. */
  cumulated(): number[] {
    let below = 0;
    return this.bounds.map((_, i) => {
      below += this.#counts[i] as number;
      return below;
    });
  }
}
