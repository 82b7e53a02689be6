import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventDraft } from "../model/event.js";
import { JsonBody, jsonBody } from "../model/json.js";
import { type Batch, BatchCursor, checksum, MAX_SPAN, pack } from "./batch-codec.js";
import { batchesIn, type Encoded, Leaf } from "./batch-encoder.js";

const drafts = fc.array(
  fc.record({
    id: fc.oneof(fc.uuid(), fc.string({ unit: "binary" })),
    ts: fc.oneof(fc.integer({ min: 0, max: 2 ** 45 }), fc.double({ noNaN: true, noDefaultInfinity: true })),
    key: fc.option(fc.string({ unit: "binary" }), { nil: undefined }),
    meta: fc.option(
      fc.record({ headers: fc.dictionary(fc.string(), fc.string()), tags: fc.array(fc.string()) }),
      { nil: undefined },
    ),
    body: fc.oneof(
      fc.jsonValue().map((value) => jsonBody(value, { maxPayloadBytes: 1_000_000, maxPayloadDepth: 100 })),
      fc.jsonValue().map((value) => JsonBody.ofText(JSON.stringify(value))),
      fc.jsonValue().map((value) => JsonBody.ofBytes(Buffer.from(JSON.stringify(value), "utf8"))),
    ),
    freshId: fc.boolean(),
  }),
  { maxLength: 30 },
);

const encode = (events: readonly EventDraft[]): Encoded => new Leaf().encode(events);

const batchesOf = (events: readonly EventDraft[]): Batch[] => placedBatches(encode(events));

function placedBatches(encoded: Encoded): Batch[] {
  let firstSeq = 1;
  return batchesIn(encoded).map((batch) => {
    const placed = { ...batch, firstSeq };
    firstSeq += batch.count;
    return placed;
  });
}

function read(batch: Batch): Record<string, unknown>[] {
  const cursor = new BatchCursor(batch);
  const found: Record<string, unknown>[] = [];
  while (cursor.next()) {
    const { id, ts, key, meta, seq, body } = cursor.event("t", 3);
    expect(cursor.id).toBe(id);
    expect(cursor.ts).toBe(ts);
    expect(cursor.keyBytes?.toString("utf8")).toBe(key);
    found.push({ id, ts, key, meta, seq, text: body.text });
  }
  return found;
}

const plain = (events: readonly EventDraft[]): Record<string, unknown>[] =>
  events.map(({ id, ts, key, meta, body }, i) => ({ id, ts, key, meta, seq: i + 1, text: body.text }));

describe("batches of events as bytes", () => {
  it("come out as they went in", () => {
    fc.assert(
      fc.property(drafts, (events) => {
        expect(batchesOf(events).flatMap(read)).toEqual(plain(events));
      }),
    );
  });

  it.each([1, 7])(
    "P13: leaves stay small, however many appends of %i events they hold one after the other",
    (count) => {
      const leaf = new Leaf(Number.POSITIVE_INFINITY);
      const id = "01890c5e-7d3c-7000-8000-000000000000";
      const draftOf = (n: number): EventDraft => {
        const body = JsonBody.ofText(JSON.stringify({ n, text: "x".repeat(500 + (n % 300)) }));
        return { id, ts: n, key: "k", meta: undefined, body, freshId: true };
      };
      for (let n = 0; n < 2_000; n++) {
        const events = Array.from({ length: count }, (_, i) => draftOf(n + i));
        const encoded = leaf.encode(events);
        expect(encoded.buffer.byteLength).toBeLessThan(65_536);
        expect(placedBatches(encoded).flatMap(read)).toEqual(plain(events));
      }
    },
  );

  it("come out as they went in when several appends share a leaf, also after it was handed over", () => {
    fc.assert(
      fc.property(fc.array(drafts, { maxLength: 12 }), fc.nat(11), (appends, handedOver) => {
        const leaf = new Leaf();
        const encoded = appends.map((events, i) => {
          const one = leaf.encode(events);
          if (i !== handedOver) return one;
          const buffer = structuredClone(one.buffer, { transfer: [one.buffer] });
          return { ...one, buffer };
        });
        // What lay in the leaf before it was handed over went with it.
        const moved = encoded[handedOver];
        encoded.forEach((one, i) => {
          const gone = one.buffer.byteLength === 0 && moved !== undefined;
          const whole = gone ? { ...one, buffer: moved.buffer } : one;
          expect(placedBatches(whole).flatMap(read)).toEqual(plain(appends[i] as EventDraft[]));
        });
      }),
    );
  });

  it("find room in a leaf for texts that take three bytes a character", () => {
    const leaf = new Leaf();
    const wide: EventDraft = {
      id: "ü".repeat(40),
      ts: 1,
      key: "€".repeat(100),
      meta: undefined,
      body: JsonBody.ofText(JSON.stringify("€".repeat(1_000))),
      freshId: false,
    };
    const encoded = Array.from({ length: 20 }, () => leaf.encode([wide]));
    for (const one of encoded) expect(placedBatches(one).flatMap(read)).toEqual(plain([wide]));
    expect(new Set(encoded.map(({ buffer }) => buffer)).size).toBeLessThan(20);
  });

  it("keep the seqs of the events that stay when others are taken out, again and again", () => {
    fc.assert(
      fc.property(drafts, fc.array(fc.nat(30)), fc.array(fc.nat(30)), (events, first, second) => {
        const [whole] = batchesOf(events);
        if (whole === undefined) return;
        const gone = new Set<number>();
        let rest: Batch | null = whole;
        for (const seqs of [first, second]) {
          for (const seq of seqs) gone.add(seq);
          rest = rest === null ? null : pack(rest, ({ seq }) => !gone.has(seq), "sparse");
        }
        const kept = plain(events).filter(({ seq }) => !gone.has(seq as number));
        expect(rest === null ? [] : read(rest)).toEqual(kept);
        if (rest === null) return;
        const renumbered = pack(rest, () => true, "dense");
        expect(renumbered && read(renumbered)).toEqual(kept.map((event, i) => ({ ...event, seq: i + 1 })));
      }),
    );
  });

  it("are cut so that one event is found without reading much", () => {
    const draft = (size: number): EventDraft => ({
      id: "x",
      ts: 1,
      key: undefined,
      meta: undefined,
      body: JsonBody.ofText(JSON.stringify("x".repeat(size))),
      freshId: false,
    });
    const small = encode(Array.from({ length: 3_000 }, () => draft(1)));
    expect(batchesIn(small).map(({ count }) => count)).toEqual([MAX_SPAN, MAX_SPAN, 3_000 - 2 * MAX_SPAN]);
    const large = encode([draft(10), draft(500_000), draft(10), draft(10)]);
    expect(batchesIn(large).map(({ count }) => count)).toEqual([2, 2]);
  });

  it("P14: have a checksum of every byte and of their place", () => {
    fc.assert(
      fc.property(drafts, fc.nat(), fc.integer({ min: 0, max: 7 }), (events, at, bit) => {
        const [batch] = batchesOf(events);
        if (batch === undefined) return;
        const sum = checksum(1, 9, 9, batch);
        const bytes = Buffer.from(batch.data);
        bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ (1 << bit);
        expect(checksum(1, 9, 9, { ...batch, data: bytes })).not.toBe(sum);
        expect(checksum(2, 9, 9, batch)).not.toBe(sum);
        expect(checksum(1, 8, 9, batch)).not.toBe(sum);
        expect(checksum(1, 9, 8, batch)).not.toBe(sum);
        expect(checksum(1, 9, 9, { ...batch, firstSeq: 2 })).not.toBe(sum);
      }),
    );
  });

  it("share the metas that many events have in common", () => {
    const meta = { headers: { "x-schema-version": "1" } };
    const draft = { id: "x", ts: 1, key: undefined, meta, body: JsonBody.ofText("1"), freshId: false };
    const [batch] = batchesOf([draft, draft]);
    const cursor = new BatchCursor(batch as Batch);
    const metas: unknown[] = [];
    while (cursor.next()) metas.push(cursor.event("t", 0).meta);
    expect(metas[0]).toBe(metas[1]);
    expect(Object.isFrozen(metas[0])).toBe(true);
  });
});
