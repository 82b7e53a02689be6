import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DocumentWrite } from "../../../ports/documents.js";
import { memoryStore } from "../../memory/index.js";
import { foldWrites } from "./document-fold.js";

const key = fc.constantFrom("a", "b");
const amounts = fc.dictionary(
  fc.constantFrom("n", "m", "__proto__"),
  fc.constantFrom(1, -2, 0.1, 2 ** 53 - 1),
);
const fields = fc.dictionary(fc.constantFrom("n", "m"), fc.constantFrom<number | string>(7, 0.2, "x"));
const write: fc.Arbitrary<DocumentWrite> = fc.oneof(
  fc.tuple(key, fields).map(([k, f]): DocumentWrite => ({ op: "upsert", key: k, ts: 1, fields: f })),
  key.map((k): DocumentWrite => ({ op: "delete", key: k, ts: 1 })),
  fc.tuple(key, amounts).map(([k, by]): DocumentWrite => ({ op: "increment", key: k, ts: 1, by })),
);

describe("folding", () => {
  it("comes to what the writes come to one by one, and counts them all", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 12 }), async (writes) => {
        const store = memoryStore();
        await store.open();
        await store.documents.write("one", writes);
        const folded = foldWrites(writes);
        await store.documents.write(
          "two",
          folded.map((one) => one.write),
        );
        const content = async (view: string) =>
          (await store.documents.find(view, { limit: 10 })).documents.map((d) => [d.key, d.fields]);
        expect(await content("two")).toEqual(await content("one"));
        expect(folded.reduce((sum, { count }) => sum + count, 0)).toBe(writes.length);
      }),
      { numRuns: 300 },
    );
  });

  it("keeps apart what has a version and what expects something of the writes before it", () => {
    const upsert = (more: object): DocumentWrite => ({ op: "upsert", key: "a", ts: 1, fields: {}, ...more });
    expect(foldWrites([upsert({ version: 3 }), upsert({}), upsert({ expected: 4 })])).toHaveLength(3);
    expect(foldWrites([upsert({ expected: 1 }), upsert({})])).toEqual([
      { write: upsert({ expected: 1 }), count: 2 },
    ]);
  });
});
