import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backoffMs, DEFAULT_RETRY } from "./retry.js";

const steady = { baseMs: 10, maxMs: 1_000, factor: 2, jitter: 0 };

describe("backoffMs", () => {
  it("grows by the factor with each failure, up to the longest wait", () => {
    const waits = [1, 2, 3, 4, 7, 8, 50].map((failures) => backoffMs(steady, failures, 0.5));
    expect(waits).toEqual([10, 20, 40, 80, 640, 1_000, 1_000]);
    expect(backoffMs(steady, 0, 0)).toBe(10);
  });

  it("by default: 25 ms, 200 ms, 1.6 s, 12.8 s, then a minute", () => {
    const waits = [1, 2, 3, 4, 5, 6].map((failures) => backoffMs(DEFAULT_RETRY, failures, 0));
    expect(waits).toEqual([25, 200, 1_600, 12_800, 60_000, 60_000]);
  });

  it("stays a finite wait between the jitter's share and the longest, however often it failed", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10_000 }),
        fc.integer({ min: 0, max: 100_000 }),
        fc.double({ min: 1, max: 100, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 0, max: 1_000_000 }),
        fc.double({ min: 0, max: 0.999999, noNaN: true }),
        (baseMs, maxMs, factor, jitter, failures, random) => {
          const wait = backoffMs({ baseMs, maxMs, factor, jitter }, failures, random);
          expect(Number.isInteger(wait)).toBe(true);
          expect(wait).toBeLessThanOrEqual(maxMs);
          const full = Math.min(maxMs, baseMs);
          expect(wait).toBeGreaterThanOrEqual(Math.floor(full * (1 - jitter)));
        },
      ),
    );
  });

  it("jitter spreads waits over its share, and no further", () => {
    const policy = { ...steady, jitter: 0.5 };
    expect([0, 0.5, 0.998].map((random) => backoffMs(policy, 8, random))).toEqual([1_000, 750, 501]);
  });
});
