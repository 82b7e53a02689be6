import fc from "fast-check";
import { BSON, Timestamp } from "mongodb";
import { describe, expect, it } from "vitest";
import { type EventDraft, StoredEvent } from "../../../model/event.js";
import { JsonBody } from "../../../model/json.js";
import { documentAfter, storedEvent, type Tail } from "./event-document.js";
import { DOCUMENTS_AS_BYTES, type Row, rowsIn } from "./raw-row.js";

const PLACE = { topic: "orders.placed", partition: 3 };

const text = fc.string({
  unit: fc.oneof(fc.constantFrom("\0", "\ud800", "\udc00", "é", "漢", "\u{1f600}"), fc.string()),
});
const meta = fc.record(
  {
    headers: fc.dictionary(fc.string(), text),
    caused_by: fc.array(text, { maxLength: 3 }),
    tags: fc.array(text, { maxLength: 3 }),
    sid: text,
  },
  { requiredKeys: [] },
);
const draft: fc.Arbitrary<EventDraft> = fc.record({
  id: text,
  ts: fc.oneof(fc.nat(), fc.constantFrom(1.5, 2 ** 31 - 1, 2 ** 31, 1_700_000_000_000)),
  key: fc.option(text, { nil: undefined }),
  meta: fc.option(meta, { nil: undefined }),
  body: fc.json({ maxDepth: 2 }).map((json) => JsonBody.ofText(json)),
  freshId: fc.boolean(),
});
const tail: fc.Arbitrary<Tail> = fc.record({
  seq: fc.oneof(fc.nat(), fc.constantFrom(2 ** 31 - 2, 2 ** 40)),
  maxTs: fc.nat(),
  sumBytes: fc.nat(),
  id: fc.constant(null),
});
const drafts = fc.array(draft, { minLength: 1, maxLength: 20 });

/** What the server would answer a find with. */
function replied(documents: readonly BSON.Document[]): Row[] {
  const reply = BSON.serialize({ cursor: { firstBatch: documents, id: 0n, ns: "db.events" } });
  const { cursor } = BSON.deserialize(reply, DOCUMENTS_AS_BYTES);
  return rowsIn(cursor.firstBatch, PLACE);
}

describe("documents as they came", () => {
  it("are the events that went in", () => {
    fc.assert(
      fc.property(tail, drafts, fc.boolean(), fc.boolean(), (last, some, queryable, keyed) => {
        const documents = some.map((one) => documentAfter(last, PLACE, one, { queryable, keyed }));
        const rows = replied(documents);
        expect(rows.every((row) => row instanceof StoredEvent)).toBe(true);
        expect(rows.map((row) => (row as StoredEvent).json)).toEqual(
          documents.map((document) => storedEvent(document).json),
        );
      }),
      { numRuns: 300 },
    );
  });

  it("tell apart events, ranges of removed ones, and places that are kept", () => {
    const counted = { topic: "orders.placed", partition: 3, maxTs: 1, sumBytes: 1 };
    const rows = replied([
      { _id: "a", ...counted, seq: 1, to: 4, parts: [{ from: 1, to: 4 }], holes: 0, removals: 1 },
      { _id: "b", ...counted, seq: 3, gone: true },
      { _id: "c", ...counted, seq: 5, ts: 7, payload: "1", body: 1 },
      { _id: "d", ...counted, seq: 6, ts: 8, payload: "2", last: true, at: new Timestamp({ t: 9, i: 1 }) },
    ]);
    expect(rows.slice(0, 2)).toEqual([
      { seq: 1, to: 4 },
      { seq: 3, to: undefined },
    ]);
    expect(rows[2]).toMatchObject({ id: "c", seq: 5, ts: 7, topic: "orders.placed", partition: 3 });
    expect(rows[3]).toMatchObject({ id: "d", seq: 6, ts: 8, topic: "orders.placed", partition: 3 });
  });
});
