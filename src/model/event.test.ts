import { describe, expect, it } from "vitest";
import { type EventDraft, StoredEvent, saysTheSame } from "./event.js";
import { JsonBody, jsonBody } from "./json.js";

const LIMITS = { maxPayloadBytes: 1_000_000, maxPayloadDepth: 64 };

function draft(rest: Partial<EventDraft> & { payload?: unknown } = {}): EventDraft {
  const { payload = { n: 1 }, ...given } = rest;
  const base = { id: "id-1", ts: 5, key: undefined, meta: undefined, freshId: false };
  return { ...base, body: jsonBody(payload, LIMITS), ...given };
}

describe("StoredEvent", () => {
  it("shows one frozen record, with the parts it has and no others", () => {
    const bare = new StoredEvent("t", 2, 7, draft());
    expect(bare.record).toStrictEqual({
      id: "id-1",
      topic: "t",
      partition: 2,
      seq: 7,
      ts: 5,
      payload: { n: 1 },
    });
    expect(bare.record).toBe(bare.record);
    expect(Object.isFrozen(bare.record)).toBe(true);
    const meta = { headers: { "x-a": "1" }, tags: ["t"], caused_by: ["c"], sid: "s" };
    const full = new StoredEvent("t", 0, 1, draft({ key: "", meta }));
    expect(full.record).toStrictEqual({
      id: "id-1",
      topic: "t",
      partition: 0,
      seq: 1,
      ts: 5,
      key: "",
      ...meta,
      payload: { n: 1 },
    });
  });

  it.each([
    ["a value", null, jsonBody(null, LIMITS)],
    ["a value with members", { a: [1, "é"] }, jsonBody({ a: [1, "é"] }, LIMITS)],
    ["text", { a: [1, "é"] }, JsonBody.ofText('{"a":[1,"é"]}')],
    ["bytes", { a: [1, "é"] }, JsonBody.ofBytes(Buffer.from('{"a":[1,"é"]}'))],
  ])("has its payload in every form, whichever it came in: %s", (_, payload, body) => {
    const event = new StoredEvent("t", 0, 1, draft({ body }));
    const { size } = event;
    expect(size).toBe(body.size + 120);
    expect(event.body.text).toBe(JSON.stringify(payload));
    expect(event.body.value).toEqual(payload);
    expect(event.record.payload).toBe(event.body.value);
    expect(JSON.parse(event.json)).toEqual(event.record);
    expect(event.body).toBe(event.body);
    expect(event.size).toBe(event.body.size + 120);
    expect(new StoredEvent("t", 0, 2, event).record).toEqual({ ...event.record, seq: 2 });
  });

  it("P13: counts at least the bytes of its payload and key", () => {
    const event = new StoredEvent("t", 0, 1, draft({ payload: "x".repeat(500), key: "k".repeat(50) }));
    expect(event.size).toBeGreaterThanOrEqual(550);
  });
});

describe("saysTheSame", () => {
  const event = new StoredEvent("t", 0, 1, draft({ key: "k", payload: { a: 1, b: 2 } }));

  it("P3: topic, key and payload count", () => {
    expect(saysTheSame(event, "t", draft({ key: "k", payload: { b: 2, a: 1 } }))).toBe(true);
    expect(saysTheSame(event, "t2", draft({ key: "k", payload: { a: 1, b: 2 } }))).toBe(false);
    expect(saysTheSame(event, "t", draft({ payload: { a: 1, b: 2 } }))).toBe(false);
    expect(saysTheSame(event, "t", draft({ key: "k", payload: { a: 1, b: 3 } }))).toBe(false);
  });

  it("P3: time and headers do not", () => {
    const again = draft({ key: "k", payload: { a: 1, b: 2 }, ts: 99, meta: { sid: "other" } });
    expect(saysTheSame(event, "t", again)).toBe(true);
  });
});
