/**
 * How long something took lately, in a few hundred bytes: counts in buckets that grow by a fifth each, so that a quantile
 * is right to within ten percent. Two halves take turns, so that it tells of the last 30 to 60 seconds. Time is an argument.
 */
const GROWTH = 1.2;
const LOG_OF_GROWTH = Math.log(GROWTH);
const MIN_MS = 0.01;
/** Up to some ten minutes. */
const BUCKETS = 100;
const HALF_MS = 30_000;

/** Where a duration counts, in every sketch: for those who keep it in several. */
export function bucketOf(ms: number): number {
  const bucket = Math.ceil(Math.log(Math.max(ms, MIN_MS) / MIN_MS) / LOG_OF_GROWTH);
  return Math.min(BUCKETS - 1, Math.max(0, bucket));
}

export class DurationSketch {
  #now = new Uint32Array(BUCKETS);
  #before = new Uint32Array(BUCKETS);
  #turnedMs: number | null = null;

  add(bucket: number, count = 1): void {
    this.#now[bucket] = (this.#now[bucket] ?? 0) + count;
  }

  tick(nowMs: number): void {
    this.#turnedMs ??= nowMs;
    if (nowMs - this.#turnedMs < HALF_MS) return;
    this.#turnedMs = nowMs;
    [this.#now, this.#before] = [this.#before, this.#now];
    this.#now.fill(0);
  }

  /** Null if there was nothing to measure. */
  quantile(share: number): number | null {
    let total = 0;
    for (let i = 0; i < BUCKETS; i++) total += this.#at(i);
    if (total === 0) return null;
    let seen = 0;
    for (let i = 0; i < BUCKETS; i++) {
      seen += this.#at(i);
      if (seen >= total * share) return Math.round(MIN_MS * GROWTH ** (i - 0.5) * 1_000) / 1_000;
    }
    return null;
  }

  #at(bucket: number): number {
    return (this.#now[bucket] ?? 0) + (this.#before[bucket] ?? 0);
  }
}
