import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bucketOf, DurationSketch } from "./duration-sketch.js";

describe("a sketch of durations", () => {
  it("tells any quantile to within a tenth", () => {
    const durations = fc.array(fc.double({ min: 0.02, max: 100_000, noNaN: true }), {
      minLength: 1,
      maxLength: 200,
    });
    fc.assert(
      fc.property(durations, fc.constantFrom(0.5, 0.9, 0.99, 1), (values, share) => {
        const sketch = new DurationSketch();
        for (const value of values) sketch.add(bucketOf(value));
        const sorted = [...values].sort((a, b) => a - b);
        const exact = sorted[Math.ceil(sorted.length * share) - 1] as number;
        const told = sketch.quantile(share) as number;
        // It is told in whole microseconds.
        expect(Math.abs(told - exact)).toBeLessThan(exact * 0.101 + 0.0005);
      }),
    );
  });

  it("forgets what is more than a minute ago, and has nothing to say of nothing", () => {
    const sketch = new DurationSketch();
    expect(sketch.quantile(0.5)).toBeNull();
    sketch.tick(0);
    sketch.add(bucketOf(1_000));
    sketch.tick(30_000);
    sketch.add(bucketOf(1));
    expect(sketch.quantile(1)).toBeGreaterThan(900);
    sketch.tick(60_000);
    expect(sketch.quantile(1)).toBeLessThan(1.2);
    sketch.tick(90_000);
    expect(sketch.quantile(1)).toBeNull();
  });
});
