/** Chance by seed. A fork depends on its label alone, not on what was thrown before: adding a throw moves nothing else. */
import { seededRandom } from "../../model/manual-clock.js";
import { hash64 } from "../../model/partition.js";

export class Dice {
  readonly seed: number;
  readonly #random: () => number;

  constructor(seed: number) {
    this.seed = seed >>> 0;
    this.#random = seededRandom(this.seed);
  }

  fork(label: string): Dice {
    return new Dice(hash64(`${this.seed}/${label}`).lo);
  }

  /** In [0, 1). */
  roll(): number {
    return this.#random();
  }

  chance(p: number): boolean {
    return this.#random() < p;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.#random() * (high - low + 1));
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[Math.floor(this.#random() * items.length)] ?? items[0];
  }

  /** One of the names, by weight. */
  weighted<N extends string>(weights: Readonly<Record<N, number>>): N {
    const entries = Object.entries(weights) as [N, number][];
    let at = this.#random() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      at -= weight;
      if (at < 0) return name;
    }
    return (entries.at(-1) as [N, number])[0];
  }
}
