/** Things under growing numbers: as in a map, whatever the order in which they are taken out. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Numbered } from "./numbered.js";

describe("numbered things", () => {
  it("gives each once, and none that was never there", () => {
    const calls = new Numbered<string>();
    calls.add(7, "seven");
    calls.add(9, "nine");
    expect(calls.size).toBe(2);
    expect([6, 7, 7, 8, 10].map((number) => calls.take(number))).toEqual([
      undefined,
      "seven",
      undefined,
      undefined,
      undefined,
    ]);
    expect(calls.takeAll()).toEqual(["nine"]);
    expect(calls.size).toBe(0);
    expect(calls.take(9)).toBeUndefined();
  });

  it("gives all for which something holds, and keeps the others", () => {
    const calls = new Numbered<number>();
    for (let n = 1; n <= 200; n++) {
      calls.add(n, n);
      if (n > 3 && n % 7 !== 0) calls.take(n);
    }
    expect(calls.takeWhere((n) => n < 3 || n % 2 === 0).sort((a, b) => a - b)).toEqual([
      1, 2, 14, 28, 42, 56, 70, 84, 98, 112, 126, 140, 154, 168, 182, 196,
    ]);
    const left = [3, 7, 21, 35, 49, 63, 77, 91, 105, 119, 133, 147, 161, 175, 189];
    expect([calls.size, calls.all()]).toEqual([left.length, left]);
  });

  it("is as a map would be, in whatever order they are added and taken out", () => {
    const act = fc.record({ take: fc.boolean(), n: fc.nat(12) });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 200 }), (acts) => {
        const calls = new Numbered<number>();
        const map = new Map<number, number>();
        let last = 0;
        for (const { take, n } of acts) {
          if (take) {
            const number = [...map.keys()][n] ?? last - n;
            expect(calls.take(number)).toBe(map.get(number));
            map.delete(number);
          } else {
            last += 1 + (n >> 3);
            calls.add(last, last);
            map.set(last, last);
          }
          expect(calls.size).toBe(map.size);
        }
        expect(calls.takeAll()).toEqual([...map.values()]);
      }),
      { numRuns: 200 },
    );
  });
});
