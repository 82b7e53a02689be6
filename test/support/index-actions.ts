/** What the tests of the indexes by id and by key do at random, besides appending: see sheet-place. */
import fc from "fast-check";

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
