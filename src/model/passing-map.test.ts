import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PassingMap } from "./passing-map.js";

describe("a map of things that pass through", () => {
  it("is as any map, but for the order", () => {
    const act = fc.record({ what: fc.constantFrom("set", "set", "delete", "get"), key: fc.nat(400) });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 3_000, size: "max" }), (acts) => {
        const passing = new PassingMap<number, number>();
        const map = new Map<number, number>();
        acts.forEach(({ what, key }, n) => {
          if (what === "set") {
            passing.set(key, n);
            map.set(key, n);
          } else if (what === "delete") expect(passing.delete(key)).toBe(map.delete(key));
          else expect(passing.get(key)).toBe(map.get(key));
          expect(passing.size).toBe(map.size);
        });
        const sorted = (entries: Iterable<[number, number]>) => [...entries].sort(([a], [b]) => a - b);
        expect(sorted(passing)).toEqual(sorted(map));
      }),
      { numRuns: 50 },
    );
  });

  it("keeps what stays, however much passes", () => {
    const passing = new PassingMap<string, number>();
    passing.set("stays", 7);
    for (let n = 0; n < 10_000; n++) {
      passing.set(`n${n}`, n);
      if (n >= 100) passing.delete(`n${n - 100}`);
    }
    expect([passing.get("stays"), passing.size]).toEqual([7, 101]);
  });

  it("can be gone through while things are taken out", () => {
    const passing = new PassingMap<number, number>();
    for (let n = 0; n < 1_000; n++) passing.set(n, n);
    for (const [key] of passing) if (key % 2 === 0) passing.delete(key);
    expect(passing.size).toBe(500);
  });
});
