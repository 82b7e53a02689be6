import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstReaching, type Marks } from "./time-search.js";

interface Mark {
  readonly seq: number;
  readonly maxTs: number;
}

/** Marks of these seqs, and a count of the questions. */
class Log implements Marks<Mark> {
  questions = 0;
  readonly marks: readonly Mark[];

  constructor(marks: readonly Mark[]) {
    this.marks = marks;
  }

  timeOf({ maxTs }: Mark): number {
    return maxTs;
  }

  async at(seqs: readonly number[]): Promise<readonly Mark[]> {
    this.questions++;
    const asked = new Set(seqs);
    return this.marks.filter(({ seq }) => asked.has(seq));
  }

  async from(from: number): Promise<Mark | null> {
    this.questions++;
    return this.marks.find(({ seq }) => seq >= from) ?? null;
  }

  static dense(count: number): Log {
    return new Log(Array.from({ length: count }, (_, i) => ({ seq: i + 1, maxTs: i + 1 })));
  }
}

describe("firstReaching", () => {
  it("finds what a walk finds, whatever is removed", async () => {
    const steps = fc.array(fc.record({ gap: fc.constantFrom(1, 1, 1, 2, 7, 90), rise: fc.nat(3) }), {
      maxLength: 300,
    });
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(400), fc.nat(5), async (all, ts, behind) => {
        const marks: Mark[] = [];
        for (const { gap, rise } of all) {
          const { seq, maxTs } = marks.at(-1) ?? { seq: 0, maxTs: 0 };
          marks.push({ seq: seq + gap, maxTs: maxTs + rise });
        }
        const end = (marks.at(-1)?.seq ?? 0) + 1 + behind;
        const expected = marks.find((mark) => mark.maxTs >= ts);
        expect(await firstReaching(ts, end, new Log(marks))).toEqual(expected);
      }),
    );
  });

  it("asks five questions of a million events", async () => {
    const log = Log.dense(1_000_000);
    expect(await firstReaching(777_777, 1_000_001, log)).toEqual({ seq: 777_777, maxTs: 777_777 });
    expect(log.questions).toBe(5);
  });

  it("halves at least, where nearly all is removed", async () => {
    const log = new Log([
      { seq: 1, maxTs: 1 },
      { seq: 999_983, maxTs: 2 },
    ]);
    expect(await firstReaching(2, 1_000_001, log)).toEqual({ seq: 999_983, maxTs: 2 });
    expect(log.questions).toBeLessThan(45);
  });

  it("asks nothing of an empty partition", async () => {
    const log = new Log([]);
    expect(await firstReaching(0, 1, log)).toBeUndefined();
    expect(log.questions).toBe(0);
  });
});
