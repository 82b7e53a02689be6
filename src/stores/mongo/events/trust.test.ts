/** The two bounds that keep writers apart from freed places. */
import fc from "fast-check";
import { Timestamp } from "mongodb";
import { expect, it } from "vitest";
import { freeBefore, isTrusted, laterOf } from "./trust.js";

const time = fc
  .record({ t: fc.integer({ min: 100, max: 160 }), i: fc.integer({ min: 0, max: 9 }) })
  .map((parts) => new Timestamp(parts));

it("P2: what is inserted after a place was freed is never trusted", () => {
  fc.assert(
    fc.property(time, time, time, time, (since, stamp, freed, at) => {
      fc.pre(since.compare(stamp) <= 0 && stamp.compare(freeBefore(freed)) < 0 && freed.compare(at) <= 0);
      expect(isTrusted(since, at)).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});

it("what follows within seconds is, unless the server has no logical time", () => {
  const [early, late] = [new Timestamp({ t: 100, i: 5 }), new Timestamp({ t: 109, i: 1 })];
  expect([isTrusted(early, late), isTrusted(undefined, late), isTrusted(early, undefined)]).toEqual([
    true,
    false,
    false,
  ]);
});

it("of two times, the later one; of one, that one", () => {
  const [early, late] = [new Timestamp({ t: 1, i: 2 }), new Timestamp({ t: 2, i: 1 })];
  expect([laterOf(early, late), laterOf(late, early)]).toEqual([late, late]);
  expect([laterOf(undefined, early), laterOf(early, undefined)]).toEqual([early, early]);
});
