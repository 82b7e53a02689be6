import fc from "fast-check";
import { Timestamp } from "mongodb";
import { describe, expect, it } from "vitest";
import type { RemovedRange } from "./event-lookup.js";
import { fewerParts, removedSince, removeSeqs } from "./removed-ranges.js";

/** A partition as its documents: which seqs are events, which begin a range. */
class Documents {
  readonly events = new Set<number>();
  readonly ranges = new Map<number, number>();

  constructor(head: number) {
    for (let seq = 1; seq <= head; seq++) this.events.add(seq);
  }

  remove(wanted: readonly number[]): void {
    const seqs = [...new Set(wanted)].filter((seq) => this.events.has(seq)).sort((a, b) => a - b);
    const { ranges, gone } = removeSeqs(seqs, this.sorted());
    for (const seq of gone) {
      this.events.delete(seq);
      this.ranges.delete(seq);
    }
    for (const { from, to } of ranges) {
      this.events.delete(from);
      this.ranges.set(from, to);
    }
  }

  sorted(): RemovedRange[] {
    return [...this.ranges].map(([from, to]) => ({ from, to })).sort((a, b) => a.from - b.from);
  }
}

const time = (seconds: number): Timestamp => new Timestamp({ t: seconds, i: 1 });
const part = (from: number, to: number, seconds: number) => ({ from, to, at: time(seconds) });
const range = (from: number, to: number, seconds: number) => ({ from, to, parts: [part(from, to, seconds)] });

describe("removed ranges", () => {
  it("a run of seqs becomes one range in the place of its first", () => {
    expect(removeSeqs([4, 5, 6, 9], [])).toEqual({
      ranges: [
        { from: 4, to: 6, parts: [{ from: 4, to: 6 }] },
        { from: 9, to: 9, parts: [{ from: 9, to: 9 }] },
      ],
      gone: [5, 6],
    });
  });

  it("ranges that come to touch become one, remember when each part went, and those that stay are not written", () => {
    const present = [range(1, 3, 100), range(5, 6, 200), range(9, 9, 300)];
    const parts = [part(1, 3, 100), { from: 4, to: 4 }, part(5, 6, 200)];
    expect(removeSeqs([4], present)).toEqual({ ranges: [{ from: 1, to: 6, parts }], gone: [4, 5] });
  });

  it("a seq was removed since an insert if its part is as new as the insert, and nobody knows without a time", () => {
    const both = { from: 1, to: 9, parts: [part(1, 4, 100), part(5, 9, 200)] };
    expect(removedSince(both, 5, time(200))).toBe(true);
    expect(removedSince(both, 5, time(201))).toBe(false);
    expect(removedSince(both, 4, time(150))).toBe(false);
    expect(removedSince(both, 4, undefined)).toBe(false);
    expect(removedSince({ from: 1, to: 9, parts: [{ from: 1, to: 9 }] }, 4, time(1))).toBe(false);
  });

  it("a range remembers a bounded number of parts; those taken together count as old as the oldest", () => {
    const many = Array.from({ length: 100 }, (_, i) => part(i + 1, i + 1, 100 + i));
    const fewer = fewerParts(many);
    expect(fewer).toHaveLength(32);
    expect(fewer[0]).toEqual(part(1, 69, 100));
    expect(fewer.at(-1)).toEqual(part(100, 100, 199));
  });

  it("P2: whatever is removed in whatever order, each seq is an event or lies in exactly one range", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 8 }), { maxLength: 8 }),
        (calls) => {
          const documents = new Documents(30);
          const removed = new Set<number>();
          for (const seqs of calls) {
            documents.remove(seqs);
            for (const seq of seqs) removed.add(seq);
          }
          const ranges = documents.sorted();
          for (let seq = 1; seq <= 30; seq++) {
            const covering = ranges.filter(({ from, to }) => from <= seq && seq <= to);
            expect(covering.length).toBe(removed.has(seq) ? 1 : 0);
            expect(documents.events.has(seq)).toBe(!removed.has(seq));
          }
          const gaps = ranges.slice(1).map(({ from }, i) => from - (ranges[i]?.to ?? 0) - 1);
          expect(Math.min(1, ...gaps)).toBe(1);
        },
      ),
    );
  });
});
