/** How long to wait before trying again. Pure: randomness is an argument. */
import { BusError } from "./errors.js";
import { checkOptionNames } from "./known-options.js";

/** How long to wait after each failure, and how much of that is left to chance. */
export interface RetryPolicy {
  /** Wait after the first failure. */
  readonly baseMs: number;
  /** Longest wait. */
  readonly maxMs: number;
  /** Growth per failure. */
  readonly factor: number;
  /** Share of the wait that is random, 0 to 1: spreads retries that failed together. */
  readonly jitter: number;
}

/** 25 ms, 200 ms, 1.6 s, 12.8 s: quick after a glitch, patient in an outage. */
export const DEFAULT_RETRY: RetryPolicy = { baseMs: 25, maxMs: 60_000, factor: 8, jitter: 0.2 };

/** The wait after `failures` failures; `random` is in [0, 1). Never above `maxMs`. */
export function backoffMs(policy: RetryPolicy, failures: number, random: number): number {
  const exponent = Math.max(0, failures - 1);
  // Kept finite: nothing times an infinite growth would be no number at all.
  const growth = Math.min(Number.MAX_VALUE, policy.factor ** exponent);
  const full = Math.min(policy.maxMs, policy.baseMs * growth);
  return Math.round(full * (1 - policy.jitter * random));
}

/** Throws INVALID_OPTION that names what is wrong with a policy, or a part of one. */
export function checkRetry(retry: Partial<RetryPolicy>): void {
  checkOptionNames("retry", retry, Object.keys(DEFAULT_RETRY));
  for (const [name, value] of Object.entries(retry)) {
    const most = name === "jitter" ? 1 : Number.MAX_VALUE;
    if (typeof value === "number" && value >= 0 && value <= most) continue;
    const upTo = name === "jitter" ? ", 1 at most" : "";
    throw new BusError("INVALID_OPTION", `retry.${name} must be a number of 0 or more${upTo}`);
  }
}
