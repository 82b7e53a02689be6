/** Letters in their order, many at a time, and none held up by one that the store refuses. */
import { describe, expect, it } from "vitest";
import { gate, settled } from "../../test/support/eventually.js";
import { BusError } from "../model/errors.js";
import { ManualClock } from "../model/manual-clock.js";
import { Burials } from "./burials.js";
import type { GivenUp } from "./dead-letter.js";
import type { Entry } from "./entry.js";
import { Pauses } from "./pauses.js";

class Grave {
  readonly clock = new ManualClock();
  readonly pauses = new Pauses(this.clock);
  readonly appends: number[][] = [];
  readonly buried: number[] = [];
  readonly troubles: string[] = [];
  lost = 0;
  /** What an append of these does first. */
  before: (seqs: readonly number[], letters: readonly GivenUp[]) => Promise<void> | void = () => undefined;
  readonly #burials = new Burials({
    append: async (letters) => {
      const seqs = letters.map(({ event }) => event.seq);
      this.appends.push(seqs);
      await this.before(seqs, letters);
    },
    insisting: {
      pauses: this.pauses,
      onTrouble: (error) => this.troubles.push(error.code),
      onLost: () => this.lost++,
    },
    buried: ({ seq }) => this.buried.push(seq),
  });

  add(...seqs: readonly number[]): void {
    for (const seq of seqs) this.#add(seq, 300);
  }

  addLarge(seq: number): void {
    this.#add(seq, 600_000);
  }

  #add(seq: number, size: number): void {
    this.#burials.add({ seq } as Entry, { event: { seq, size } } as GivenUp);
  }
}

describe("dead letters on their way", () => {
  it("what is given up at once goes in one append; what comes meanwhile in the next", async () => {
    const grave = new Grave();
    const { passed, open } = gate();
    grave.before = () => passed;
    grave.add(1, 2);
    await settled();
    grave.add(3);
    await settled();
    grave.add(4);
    expect(grave.appends).toEqual([[1, 2]]);
    open();
    await settled();
    expect(grave.appends).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(grave.buried).toEqual([1, 2, 3, 4]);
  });

  it("an append has 256 letters and about a megabyte at most", async () => {
    const grave = new Grave();
    grave.add(...Array.from({ length: 600 }, (_, n) => n));
    for (const seq of [600, 601, 602]) grave.addLarge(seq);
    await settled();
    expect(grave.appends.map(({ length }) => length)).toEqual([256, 256, 89, 1, 1]);
    expect(grave.buried).toEqual(Array.from({ length: 603 }, (_, n) => n));
  });

  it("P8: one that is refused for ever holds up neither those beside it nor those that come later", async () => {
    const grave = new Grave();
    grave.before = (seqs) => {
      if (seqs.includes(2)) throw new BusError("PAYLOAD_TOO_LARGE", "too large");
    };
    grave.add(1, 2, 3);
    await settled();
    grave.add(4);
    await settled();
    expect(grave.buried).toEqual([1, 3, 4]);
    expect(grave.troubles).toEqual(["PAYLOAD_TOO_LARGE"]);
    grave.before = () => undefined;
    await grave.clock.advance(60_000);
    expect(grave.buried).toEqual([1, 3, 4, 2]);
  });

  it.each([
    ["alone", [2]],
    ["among others", [1, 2, 3]],
  ])(
    "P8, P15: %s, one that is too large for the store goes without what the log has of it, at once",
    async (_, seqs) => {
      const grave = new Grave();
      grave.before = (given, letters) => {
        if (given.includes(2) && letters.some(({ incomplete }) => !incomplete))
          throw new BusError("PAYLOAD_TOO_LARGE", "too large");
      };
      grave.add(...seqs);
      await settled();
      expect([...grave.buried].sort()).toEqual(seqs);
      expect(grave.troubles).toEqual([]);
    },
  );

  it("P7: with the lease gone, it is told, and nothing is tried again", async () => {
    const grave = new Grave();
    grave.before = () => {
      throw new BusError("LEASE_LOST", "lost");
    };
    grave.add(1);
    await settled();
    await grave.clock.advance(60_000);
    expect([grave.lost, grave.buried, grave.troubles, grave.appends]).toEqual([1, [], [], [[1]]]);
  });
});
