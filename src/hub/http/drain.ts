/**
 * How long a group needs to catch up, by how it did lately: from two looks at it, at least a second apart. Pure; time
 * is an argument. A group that does not come closer has no estimate.
 */
export interface Look {
  readonly atMs: number;
  readonly lag: number;
}

const MIN_SPAN_MS = 1_000;
const MAX_SPAN_MS = 60_000;
const MAX_NAMES = 10_000;

export class DrainEstimator {
  readonly #looks = new Map<string, Look[]>();

  /** Seconds until the lag is gone, or null if nobody can say. */
  estimate(name: string, { atMs, lag }: Look): number | null {
    if (this.#looks.size >= MAX_NAMES && !this.#looks.has(name)) this.#looks.clear();
    const kept = (this.#looks.get(name) ?? []).filter((look) => look.atMs >= atMs - MAX_SPAN_MS);
    const first = kept.find((look) => look.atMs <= atMs - MIN_SPAN_MS);
    const last = kept.at(-1);
    if (last === undefined || last.atMs <= atMs - MIN_SPAN_MS) kept.push({ atMs, lag });
    this.#looks.set(name, kept);
    if (lag === 0) return 0;
    if (first === undefined || first.lag <= lag) return null;
    const perSecond = (first.lag - lag) / ((atMs - first.atMs) / 1_000);
    return Math.round((lag / perSecond) * 10) / 10;
  }
}
