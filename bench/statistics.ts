/** A few numbers about a few measurements. */

export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** (max − min) / median, in percent: how much to believe. */
  readonly spreadPct: number;
  readonly samples: readonly number[];
}

export function summarise(samples: readonly number[]): Summary {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >>> 1;
  const upper = sorted[middle] ?? Number.NaN;
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
  const [min, max] = [sorted[0] ?? Number.NaN, sorted.at(-1) ?? Number.NaN];
  return { median, min, max, spreadPct: (100 * (max - min)) / Math.abs(median), samples };
}
