import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draft } from "../../test/support/stored-events.js";
import type { EventDraft } from "../model/event.js";
import { JsonBody, jsonBody } from "../model/json.js";
import { BatchAhead } from "./batch-ahead.js";
import { batchesIn, Leaf, type NewBatch } from "./batch-encoder.js";

const anyDraft = fc.record({
  id: fc.oneof(fc.uuid(), fc.string({ unit: "binary", minLength: 1 })),
  ts: fc.integer({ min: 0, max: 2 ** 45 }),
  key: fc.option(fc.string({ unit: "binary" }), { nil: undefined }),
  meta: fc.option(fc.record({ tags: fc.array(fc.string()) }), { nil: undefined }),
  body: fc.oneof(
    fc.jsonValue().map((value) => jsonBody(value, { maxPayloadBytes: 1_000_000, maxPayloadDepth: 100 })),
    fc.jsonValue().map((value) => JsonBody.ofBytes(Buffer.from(JSON.stringify(value), "utf8"))),
  ),
  freshId: fc.boolean(),
});

/** One after the other, as a queue would. */
function prepare(drafts: readonly EventDraft[], before?: EventDraft): void {
  let last = before;
  for (const one of drafts) {
    BatchAhead.add(one, last);
    last = one;
  }
}

function many(count: number, payload: unknown = "p"): EventDraft[] {
  return Array.from({ length: count }, (_, n) => draft(`id-${n}`, payload, { key: `k-${n % 7}` }));
}

function encoded(drafts: readonly EventDraft[]): NewBatch {
  return batchesIn(new Leaf(Number.POSITIVE_INFINITY).encode(drafts))[0] as NewBatch;
}

describe("a batch that is encoded ahead", () => {
  it("P1: is byte for byte what it would be if it were encoded when it is appended", () => {
    const drafts = fc.array(anyDraft, { minLength: 32, maxLength: 80, size: "max" });
    fc.assert(
      fc.property(drafts, (some) => {
        prepare(some);
        const ahead = BatchAhead.of(some);
        expect(ahead).toBeDefined();
        expect(ahead).toEqual(encoded(some));
        // Whoever lost a race asks again.
        expect(BatchAhead.of(some)).toEqual(encoded(some));
      }),
      { numRuns: 50 },
    );
  });

  it("P1: counts for nobody but the very drafts it was made of, all of them and in their order", () => {
    const drafts = many(40);
    prepare(drafts);
    expect(BatchAhead.of(drafts)).toBeDefined();
    const [first, ...others] = drafts as [EventDraft, ...EventDraft[]];
    const last = others.at(-1) as EventDraft;
    for (const other of [
      [],
      drafts.slice(0, 39),
      others,
      [...others.slice(0, -1), first, last],
      [{ ...first }, ...others],
      [first, ...others.slice(1), last],
      [draft("new"), ...drafts],
    ])
      expect(BatchAhead.of(other)).toBeUndefined();
  });

  it("goes on behind what was prepared only, so that a queue of which a part was taken is encoded when it is appended", () => {
    const [unprepared, ...drafts] = many(41) as [EventDraft, ...EventDraft[]];
    prepare(drafts, unprepared);
    expect(BatchAhead.of(drafts)).toBeUndefined();
    const taken = many(40);
    prepare(taken);
    const rest = many(40);
    prepare(rest, taken.at(-1));
    expect(BatchAhead.of(rest)).toBeUndefined();
  });

  it("P13: is given up before it is large: an append may take less than what waits", () => {
    for (const drafts of [many(1_025), many(100, "x".repeat(20_000))]) {
      prepare(drafts);
      expect(drafts.filter(({ ahead }) => ahead !== undefined)).toEqual([]);
    }
    const few = many(31);
    prepare(few);
    expect(BatchAhead.of(few)).toBeUndefined();
  });
});
