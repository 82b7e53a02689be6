import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { storedEvent } from "../../../test/support/stored-events.js";
import {
  type Cleaning,
  dueMsOf,
  earlier,
  isWithin,
  NewestSeqs,
  NOTHING_CLEANED,
  scansCleanPart,
  sortPage,
  sweepsTombstones,
  withCleaning,
} from "./compaction.js";

describe("compaction", () => {
  it("P11: only what a newer event of its key supersedes may go, and all of that", () => {
    const key = fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined });
    fc.assert(
      fc.property(fc.array(key, { maxLength: 40 }), fc.nat(40), (keys, learnedTo) => {
        const events = keys.map((k, i) => storedEvent(i + 1, k === undefined ? {} : { key: k }));
        const newest = new NewestSeqs();
        for (const event of events.slice(0, learnedTo)) newest.see(event);
        const { superseded } = sortPage(events, newest);
        const expected = events.filter(({ key: own, seq }) =>
          events.slice(seq, learnedTo).some((later) => own !== undefined && later.key === own),
        );
        expect(superseded).toEqual(expected.map(({ seq }) => seq));
      }),
    );
  });

  it("P11: tombstones are those that nothing supersedes, of either kind", () => {
    const events = [
      storedEvent(1, { key: "a", payload: null }),
      storedEvent(2, { key: "a", payload: null }),
      storedEvent(3, { key: "b", payload: { _deleted: true, by: "me" } }),
      storedEvent(4, { key: "c", payload: { _deleted: "yes" } }),
      storedEvent(5, { payload: null }),
    ];
    const newest = new NewestSeqs();
    for (const event of events) newest.see(event);
    expect(sortPage(events, newest).tombstones.map(({ seq }) => seq)).toEqual([2, 3]);
  });

  it("looks keys up where the clean part is large, and walks through it where it is not", () => {
    const newest = new NewestSeqs();
    for (let i = 1; i <= 10; i++) newest.see(storedEvent(i, { key: `k${i}` }));
    expect([scansCleanPart(newest, 300), scansCleanPart(newest, 301)]).toEqual([true, false]);
  });

  it("looks for tombstones when one is due, and not all the time", () => {
    const progress = { ...NOTHING_CLEANED, tombstonesDueMs: 1_000, sweptMs: 950 };
    expect(sweepsTombstones(NOTHING_CLEANED, 1e12, 100)).toBe(false);
    expect(sweepsTombstones(progress, 999, 100)).toBe(false);
    expect(sweepsTombstones(progress, 1_000, 100)).toBe(true);
    expect(sweepsTombstones(progress, 1_000, 1_000)).toBe(false);
    expect([earlier(null, null), earlier(3, null), earlier(null, 4), earlier(3, 4)]).toEqual([null, 3, 4, 3]);
  });

  it("P11: lets a tombstone go when it has outlived what it deletes by its retention, and not much later", () => {
    const minutes = fc.array(fc.tuple(fc.nat(100), fc.nat(5)), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(minutes, fc.integer({ min: 0, max: 200 }), (rounds, retentionMs) => {
        const cleanedMs = new Map<number, number>();
        let [cleanings, nowMs, through]: [readonly Cleaning[], number, number] = [[], 0, 0];
        for (const [pause, events] of rounds) {
          nowMs += pause;
          for (let n = 0; n < events; n++) cleanedMs.set(++through, nowMs);
          cleanings = withCleaning(cleanings, through, nowMs, retentionMs);
          for (const [seq, atMs] of cleanedMs) {
            const dueMs = dueMsOf({ seq, ts: 0, key: "a" }, cleanings, nowMs, retentionMs);
            expect(dueMs).toBeGreaterThanOrEqual(atMs + retentionMs);
            // Times that are over are not told apart any more.
            if (dueMs > nowMs) expect(dueMs).toBeLessThanOrEqual(atMs + retentionMs * (1 + 1 / 16));
          }
          expect(cleanings.length).toBeLessThanOrEqual(19);
        }
      }),
    );
  });

  it("P11: a clock that was ahead keeps no tombstone longer than its retention", () => {
    const cleanings = withCleaning(withCleaning([], 5, 1e12, 160), 5, 1_000, 160);
    expect(dueMsOf({ seq: 5, ts: 0, key: "a" }, cleanings, 1_000, 160)).toBe(1_160);
  });

  it("keeps what is within the window; a ts beyond the present is not", () => {
    const window = { fromMs: 100, nowMs: 200 };
    const within = [100, 101, 200, 201].map((ts) => isWithin(window, storedEvent(1, { ts })));
    expect(within).toEqual([false, true, true, false]);
  });
});
