import fc from "fast-check";
import { expect, it } from "vitest";
import type { BatchToWrite } from "./batches.js";
import { decodeDirectory, decodedSheet, encodeSheet } from "./sheet-codec.js";
import { cut } from "./sheets.js";

const bytes = (maxLength: number) => fc.uint8Array({ minLength: 1, maxLength }).map((b) => Buffer.from(b));

/** Of any size and at any place that a file can have. */
const batch: fc.Arbitrary<BatchToWrite> = fc
  .record({
    part: fc.nat(2 ** 31 - 1),
    firstSeq: fc.integer({ min: 1, max: 2 ** 40 - 2_000 }),
    count: fc.integer({ min: 1, max: 1_024 }),
    maxTs: fc.double({ noNaN: true }),
    runTs: fc.double({ noNaN: true }),
    span: fc.option(fc.record({ minIdt: fc.integer({ min: 1, max: 2 ** 47 }), width: fc.nat(256) })),
    indexed: fc.nat(1_024),
    ids: fc.oneof(
      fc.uint8Array({ minLength: 16, maxLength: 16 }).map((b) => Buffer.from(b)),
      fc.constant(Buffer.alloc(0)),
      bytes(80),
    ),
    data: bytes(300),
  })
  .map(({ span, ...b }) => ({
    ...b,
    lastSeq: b.firstSeq + b.count - 1,
    bytes: b.ids.length + b.data.length,
    minIdt: span?.minIdt ?? null,
    maxIdt: span === null ? null : span.minIdt + span.width,
  }));

it("what a sheet's directory says, and what is known of it when it is written, is what was put in", () => {
  fc.assert(
    fc.property(fc.array(batch, { minLength: 1, maxLength: 20 }), (batches) => {
      const encoded = encodeSheet(batches);
      const decoded = decodeDirectory(7, encoded.directory);
      expect(decoded).toEqual(decodedSheet(7, batches, encoded));
      const found = decoded?.pieces.map((piece) => {
        const { crc, sheet, idsFrom, idsTo, dataFrom, dataTo, ...head } = piece;
        return { ...head, ...cut(piece, encoded.data) };
      });
      expect(found).toEqual(batches);
    }),
  );
});

it("P14: a directory of which any byte has changed says nothing", () => {
  const encoded = encodeSheet(fc.sample(batch, { numRuns: 3, seed: 1 }));
  for (let at = 0; at < encoded.directory.length; at++) {
    const spoiled = Buffer.from(encoded.directory);
    spoiled[at] = (spoiled[at] as number) ^ 4;
    expect(decodeDirectory(1, spoiled)).toBeUndefined();
  }
});
