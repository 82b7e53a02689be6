import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../model/clock.js";
import type { EventDraft } from "../../../model/event.js";
import { JsonBody } from "../../../model/json.js";
import { batchesIn, Leaf } from "../../batch-encoder.js";
import { JsonWriter } from "../../batch-json.js";
import { beginOne, type PromisedAppend, readRecord, sealOne, writeRecord } from "./ahead-record.js";

const SALT = 77;

function draftOf(text: string): EventDraft {
  const body = JsonBody.ofText(JSON.stringify(text));
  return { id: systemClock.newId(), ts: 1_700_000_000_123, key: "k", meta: undefined, body, freshId: true };
}

function appendOf(topic: string, partition: number, firstSeq: number, texts: string[]): PromisedAppend {
  const encoded = new Leaf().encode(texts.map(draftOf));
  return { firstSeq, request: { topic, partition, ...encoded, check: "none", fence: undefined } };
}

/** What a record says, whatever the buffer in which its batches lie. */
function saidBy(appends: readonly PromisedAppend[] | undefined): unknown {
  return appends?.map(({ firstSeq, request }) => ({
    firstSeq,
    topic: request.topic,
    partition: request.partition,
    batches: batchesIn(request).map(({ ids, data, count, maxTs }) => [
      ids.toString("hex"),
      data.toString("hex"),
      count,
      maxTs,
    ]),
  }));
}

describe("records of the file ahead", () => {
  it("P1: say what was written, of several appends", () => {
    const appends = [
      appendOf("orders.placed", 3, 2 ** 40, ["a", "b"]),
      appendOf("zahlungen.größe", 65_600, 1, ["ü"]),
    ];
    const target = Buffer.alloc(4_096);
    const length = writeRecord(target, appends, SALT, 5);
    const record = readRecord(target, 0, SALT, 5);
    expect(record?.end).toBe(length);
    expect(saidBy(record?.appends)).toEqual(saidBy(appends));
    expect(readRecord(target, 0, SALT, 6)).toBeUndefined();
    expect(readRecord(target, 0, SALT + 1)).toBeUndefined();
  });

  it.each([1, 3])(
    "P1: an append of %s that is encoded in its record is the same as one that is copied",
    (count) => {
      const drafts = ["tür", "tor", "tal"].slice(0, count).map(draftOf);
      const target = Buffer.alloc(4_096);
      const layout = beginOne(target, "t.größe", 2, 9, drafts, new JsonWriter()) ?? [];
      const length = sealOne(target, layout, SALT, 1);
      const request = { topic: "t.größe", partition: 2, ...new Leaf().encode(drafts) };
      const append = { firstSeq: 9, request: { ...request, check: "none" as const, fence: undefined } };
      const record = readRecord(target, 0, SALT, 1);
      expect(record?.end).toBe(length);
      expect(saidBy(record?.appends)).toEqual(saidBy([append]));
      const same = Buffer.alloc(4_096);
      expect(writeRecord(same, [append], SALT, 1)).toBe(length);
      expect(same.subarray(0, length).equals(target.subarray(0, length))).toBe(true);
    },
  );

  it("there is none where there is not room enough", () => {
    const target = Buffer.alloc(300);
    expect(writeRecord(target, [appendOf("t", 0, 1, ["x".repeat(300)])], SALT, 1)).toBe(0);
    for (const [topic, text] of [
      ["t", "x".repeat(300)],
      ["t".repeat(300), "x"],
    ] as const)
      expect(beginOne(target, topic, 0, 1, [draftOf(text)], new JsonWriter())).toBeUndefined();
  });

  it("P1: of earlier builds, whose heads are JSON, are read", () => {
    const append = appendOf("t.a", 1, 4, ["a", "b"]);
    const { buffer, layout } = append.request;
    const head = Buffer.from(JSON.stringify([["t.a", 1, 4, layout]]));
    const fixed = Buffer.alloc(28);
    const bytes = Buffer.from(buffer, 0, layout[4]);
    fixed.writeUInt32LE(fixed.length + head.length + bytes.length, 4);
    fixed.writeDoubleLE(SALT, 8);
    fixed.writeDoubleLE(1, 16);
    fixed.writeUInt32LE(head.length, 24);
    const source = Buffer.concat([fixed, head, bytes]);
    source.writeUInt32LE(crc32(source.subarray(4)), 0);
    expect(saidBy(readRecord(source, 0, SALT, 1)?.appends)).toEqual(saidBy([append]));
  });
});
