/** What the tests of the indexes by id and by key do at random, besides appending: see sheet-place. */
import fc from "fast-check";
import { expect } from "vitest";
import type { SheetPlace } from "./sheet-place.js";

/** One of the two processes. */
export const by = fc.integer({ min: 0, max: 1 });

/** Puts some slices of an index in order. */
export const order = fc.record({
  type: fc.constant("order" as const),
  by,
  slices: fc.integer({ min: 1, max: 4 }),
});

/** Takes a share of the events away, the oldest or some here and there. */
export const cut = fc.record({
  type: fc.constantFrom("trim" as const, "remove" as const),
  by,
  share: fc.double({ min: 0, max: 1, noNaN: true }),
});

export const reopen = fc.record({ type: fc.constant("reopen" as const), by });

/** A store, and what must be found in it. */
export interface IndexModel<A> {
  readonly place: SheetPlace;
  perform(one: A): void;
  compare(): void;
  /** Puts the index in order to the end. */
  finish(): void;
}

/** What is found is what the model says: all along, in the end, and once everything is in order. */
export function expectFound<A>(action: fc.Arbitrary<A>, create: () => IndexModel<A>): void {
  fc.assert(
    fc.property(fc.array(action, { minLength: 5, maxLength: 40 }), (actions) => {
      const model = create();
      try {
        actions.forEach((one, step) => {
          model.perform(one);
          if (step % 5 === 4) model.compare();
        });
        model.compare();
        expect(model.place.problems()).toEqual([]);
        model.finish();
        model.compare();
        expect(model.place.problems()).toEqual([]);
      } finally {
        model.place.close();
      }
    }),
    { numRuns: 30 },
  );
}
