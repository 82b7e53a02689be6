import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StoredEvent } from "../../model/event.js";
import { JsonBody } from "../../model/json.js";
import { PartitionLog } from "./partition-log.js";

/** They ascend with the seqs. */
function idOf(seq: number): string {
  return `id-${String(seq).padStart(9, "0")}`;
}

/** Every other one is nothing but a value: of these the record alone is kept. */
function event(seq: number, ts: number): StoredEvent {
  return new StoredEvent("t", 0, seq, {
    id: idOf(seq),
    ts,
    key: undefined,
    meta: undefined,
    body: seq % 2 === 0 ? JsonBody.ofText("1") : JsonBody.ofFrozen(1, 1),
  });
}

/** The same log as a plain list. */
class Model {
  present: StoredEvent[] = [];
  head = 0;

  push(one: StoredEvent): void {
    this.present.push(one);
    this.head = one.seq;
  }

  drop(gone: (seq: number) => boolean): number {
    const before = this.present.length;
    this.present = this.present.filter((e) => !gone(e.seq));
    return before - this.present.length;
  }
}

type Step =
  | { readonly op: "append"; readonly count: number; readonly ts: number }
  | { readonly op: "trim"; readonly share: number }
  | { readonly op: "remove"; readonly from: number; readonly every: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    op: fc.constant("append" as const),
    count: fc.integer({ min: 1, max: 1_500 }),
    ts: fc.integer({ min: 0, max: 1_000 }),
  }),
  fc.record({ op: fc.constant("trim" as const), share: fc.double({ min: 0, max: 1.1, noNaN: true }) }),
  fc.record({
    op: fc.constant("remove" as const),
    from: fc.double({ min: 0, max: 1, noNaN: true }),
    every: fc.integer({ min: 1, max: 5 }),
  }),
);

function perform(one: Step, log: PartitionLog, model: Model): void {
  switch (one.op) {
    case "append":
      for (let i = 0; i < one.count; i++) {
        const added = event(log.head + 1, one.ts + ((i * 7_919) % 50));
        log.push(added);
        model.push(added);
      }
      return;
    case "trim": {
      const through = Math.floor(one.share * log.head);
      expect(log.trim(through).length).toBe(model.drop((seq) => seq <= through));
      return;
    }
    case "remove": {
      const from = Math.floor(one.from * log.head);
      const seqs = Array.from({ length: 600 }, (_, i) => from + i * one.every);
      const unwanted = new Set(seqs);
      expect(log.remove(seqs).length).toBe(model.drop((seq) => unwanted.has(seq)));
      return;
    }
  }
}

function compare(log: PartitionLog, model: Model): void {
  const bytes = model.present.reduce((sum, e) => sum + e.size, 0);
  expect([log.head, log.low, log.events, log.bytes]).toEqual([
    model.head,
    model.present[0]?.seq ?? model.head + 1,
    model.present.length,
    bytes,
  ]);
  expect([...log].map((e) => e.seq)).toEqual(model.present.map((e) => e.seq));
  for (const after of [0, log.low, Math.floor(log.head / 2), log.head - 1, log.head]) {
    const page = log.read({ after, limit: 700 });
    const expected = model.present.filter((e) => e.seq > after).slice(0, 700);
    expect(page.events.map((e) => e.record)).toEqual(expected.map((e) => e.record));
    expect(page.events.map((e) => e.size)).toEqual(expected.map((e) => e.size));
    const through = after + 1_100;
    const between = model.present.filter((e) => e.seq > after && e.seq <= through).map((e) => e.seq);
    expect(log.keptIn(after, through).map((e) => e.seq)).toEqual(between);
    const wanted = [after, after + 1, after + 2, after + 500, through, through + 1];
    const found = wanted.map((seq) => log.withId(idOf(seq), after, through)?.seq);
    expect(found.filter((seq) => seq !== undefined)).toEqual(wanted.filter((seq) => between.includes(seq)));
    expect(log.at(after)?.record).toEqual(model.present.find((e) => e.seq === after)?.record);
  }
  for (const ts of [0, 20, 300, 700, 1_040, 2_000]) {
    expect(log.seqAt(ts)).toBe(model.present.find((e) => e.ts >= ts)?.seq ?? model.head + 1);
  }
}

describe("PartitionLog", () => {
  it("gives everybody who reads the record that the publisher was given", () => {
    const log = new PartitionLog();
    const published = event(1, 7);
    log.push(published);
    const [first, second] = [log.at(1), log.read({ after: 0, limit: 1 }).events[0]];
    expect(first?.record).toBe(published.record);
    expect(second?.record).toBe(published.record);
    expect(second?.json).toBe(published.json);
  });

  it("P2: over many segments it does what a plain list does", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
        const [log, model] = [new PartitionLog(), new Model()];
        for (const one of steps) {
          perform(one, log, model);
          compare(log, model);
        }
      }),
      { numRuns: 30 },
    );
  });

  it("counts an event's bytes once, although its size may change when its text is made", () => {
    const log = new PartitionLog();
    for (let seq = 1; seq <= 5; seq++) {
      const body = JsonBody.ofFrozen({ n: "x".repeat(50) }, 3);
      log.push(new StoredEvent("t", 0, seq, { id: `${seq}`, ts: 0, key: undefined, meta: undefined, body }));
    }
    for (const one of log.read({ after: 0, limit: 5 }).events)
      expect(one.body.text.length).toBeGreaterThan(3);
    log.trim(2);
    log.remove([4]);
    log.trim(5);
    expect([log.events, log.bytes]).toEqual([0, 0]);
  });
});
