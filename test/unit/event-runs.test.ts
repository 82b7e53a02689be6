/** Both ends of a frame that has a list for each part of its events. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventAt } from "../../src/client/runs.js";
import { Message } from "../../src/hub/message-bytes.js";
import type { EventsFrame } from "../../src/hub/protocol.js";
import { EventsRun } from "../../src/hub/ws/events-run.js";
import { type EventRecord, StoredEvent } from "../../src/model/event.js";
import { JsonBody } from "../../src/model/json.js";

const around = {
  head: '{"type":"EVENTS","topic":"t","group":"g","lease":',
  tail: ',"ctx":{}}',
};

const someText = fc.string({ unit: "binary", maxLength: 8 });
const someEvent = fc.record({
  partition: fc.nat(1),
  gap: fc.constantFrom(0, 0, 0, 5),
  id: fc.oneof(fc.uuid(), someText),
  ts: fc.oneof(
    fc.integer({ min: 1_700_000_000_000, max: 1_700_000_000_099 }),
    fc.integer(),
    fc.constantFrom(0.1, 0.7, 1e300),
  ),
  key: fc.option(someText, { nil: undefined }),
  meta: fc.option(fc.record({ headers: fc.dictionary(someText, someText), sid: someText }), {
    nil: undefined,
  }),
  payload: fc.json({ maxDepth: 2 }),
  asBytes: fc.boolean(),
});

function stored(
  events: readonly (typeof someEvent extends fc.Arbitrary<infer E> ? E : never)[],
): StoredEvent[] {
  return events.map(({ partition, gap, payload, asBytes, ...parts }, n) => {
    const body = asBytes ? JsonBody.ofBytes(Buffer.from(payload)) : JsonBody.ofText(payload);
    return new StoredEvent("t", partition, n + 1 + gap, { ...parts, body });
  });
}

/** As they go out: runs one after the other. */
function framesOf(events: readonly StoredEvent[]): EventsFrame[] {
  const message = new Message();
  let run: EventsRun | undefined;
  for (const [n, event] of events.entries()) {
    if (run?.add(around, n + 1, event)) continue;
    run?.writeTo(message);
    run = new EventsRun(around, n + 1, event);
  }
  run?.writeTo(message);
  const bytes = Buffer.alloc(message.mostBytes);
  let end = 0;
  for (const piece of message.pieces)
    end = typeof piece === "string" ? end + bytes.write(piece, end) : piece.writeTo(bytes, end);
  return JSON.parse(`[${bytes.toString("utf8", 0, end)}]`) as EventsFrame[];
}

const eventsOf = (frame: EventsFrame): EventRecord[] => frame.ids.map((_, n) => eventAt(frame, n));

describe("events with a list for each of their parts", () => {
  it("P1: come out as they went in, in order, each with its lease", () => {
    fc.assert(
      fc.property(fc.array(someEvent, { minLength: 1, maxLength: 12 }), (given) => {
        const events = stored(given);
        const frames = framesOf(events);
        const received = frames.flatMap(eventsOf);
        expect(received).toStrictEqual(events.map(({ record }) => JSON.parse(JSON.stringify(record))));
        const leases = frames.flatMap(({ lease, ids }) => ids.map((_, n) => lease + n));
        expect(leases).toEqual(events.map((_, n) => n + 1));
      }),
    );
  });

  it("have their seqs told only where one is left out", () => {
    const draft = { id: "a", ts: 1, key: undefined, meta: undefined, body: JsonBody.ofText("1") };
    const at = (seq: number): StoredEvent => new StoredEvent("t", 0, seq, draft);
    expect(framesOf([at(7), at(8), at(9)])[0]).not.toHaveProperty("seqs");
    expect(framesOf([at(7), at(8), at(10)])[0]).toMatchObject({ seq: 7, seqs: [7, 8, 10] });
  });

  it("are one frame if they are of one partition and their times are whole numbers", () => {
    const parts = { key: undefined, meta: undefined };
    const events = Array.from({ length: 100 }, (_, n) => {
      const body = JsonBody.ofText(String(n));
      return new StoredEvent("t", 0, 2 * n + 1, { ...parts, id: `${n}`, ts: 1e12 + ((n * 7) % 5), body });
    });
    const [frame, ...others] = framesOf(events) as [EventsFrame];
    expect(others).toEqual([]);
    expect(frame.seqs).toHaveLength(100);
    expect(frame).not.toHaveProperty("keys");
    expect(frame).not.toHaveProperty("metas");
    expect(eventsOf(frame)).toEqual(events.map(({ record }) => record));
  });
});
