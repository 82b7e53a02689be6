import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RemovedRange } from "./event-lookup.js";
import { removeSeqs } from "./removed-ranges.js";

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

describe("removed ranges", () => {
  it("a run of seqs becomes one range in the place of its first", () => {
    expect(removeSeqs([4, 5, 6, 9], [])).toEqual({
      ranges: [
        { from: 4, to: 6 },
        { from: 9, to: 9 },
      ],
      gone: [5, 6],
    });
  });

  it("ranges that come to touch become one, and those that stay are not written again", () => {
    const present = [
      { from: 1, to: 3 },
      { from: 5, to: 6 },
      { from: 9, to: 9 },
    ];
    expect(removeSeqs([4], present)).toEqual({ ranges: [{ from: 1, to: 6 }], gone: [4, 5] });
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
