/** Append: dense seqs (P2), unique ids (P3), and nothing of an event changed on the way. */
import { describe, expect, it } from "vitest";
import type { StoredEvent } from "../../model/event.js";
import type { AppendResult } from "../../ports/log.js";
import type { Harness } from "./harness.js";
import {
  defineTopic,
  draft,
  drafts,
  ODD_PAYLOADS,
  range,
  readAll,
  recordOf,
  records,
  seqs,
  T0,
} from "./samples.js";

export function describeAppend(harness: Harness): void {
  describe("append", () => {
    describeOrder(harness);
    describeIds(harness);
    describeRoundTrip(harness);
  });
}

function describeOrder(harness: Harness): void {
  it("P2: gives seqs 1, 2, 3 … in the order of the drafts, call after call", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    const given = drafts(7);
    const first = await log.append(topic, 0, given.slice(0, 3));
    const second = await log.append(topic, 0, given.slice(3));
    const expected = given.map((d, i) => recordOf(d, topic, 0, i + 1));
    expect(records([...first.events, ...second.events])).toEqual(expected);
    expect([first.duplicates.size, first.error, second.duplicates.size, second.error]).toEqual([
      0,
      undefined,
      0,
      undefined,
    ]);
    expect(records(await readAll(harness.store, topic))).toEqual(expected);
  });

  it("P2: counts each partition and each topic by itself", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store, 3);
    const other = await defineTopic(harness.store, 1);
    await log.append(topic, 0, drafts(2));
    await log.append(topic, 2, drafts(3));
    await log.append(other, 0, drafts(1));
    expect((await log.heads(topic)).map((h) => h.head)).toEqual([2, 0, 3]);
    expect((await log.heads(other)).map((h) => h.head)).toEqual([1]);
    expect(seqs((await log.append(topic, 1, drafts(1))).events)).toEqual([1]);
  });

  it("takes an empty list of drafts and changes nothing", async () => {
    const topic = await defineTopic(harness.store);
    const result = await harness.store.log.append(topic, 0, []);
    expect([result.events, result.duplicates.size, result.error]).toEqual([[], 0, undefined]);
    expect((await harness.store.log.heads(topic))[0]?.head).toBe(0);
  });

  it("P2: appends at once through one handle are dense, and keep the order of each call", async () => {
    const topic = await defineTopic(harness.store);
    const calls = Array.from({ length: 12 }, () => drafts(10));
    const results = await Promise.all(calls.map((call) => harness.store.log.append(topic, 0, call)));
    await expectDense(harness, topic, results, calls.flat().length);
  });

  it("P2: appends at once through two handles leave no gap and lose nothing", async () => {
    const second = await harness.second();
    const topic = await defineTopic(harness.store);
    const calls = Array.from({ length: 16 }, () => drafts(8));
    const results = await Promise.all(
      calls.map((call, i) => (i % 2 === 0 ? harness.store : second).log.append(topic, 0, call)),
    );
    await expectDense(harness, topic, results, calls.flat().length);
    expect(records(await readAll(second, topic))).toEqual(records(await readAll(harness.store, topic)));
  });
}

async function expectDense(
  harness: Harness,
  topic: string,
  results: readonly AppendResult[],
  total: number,
): Promise<void> {
  const stored = await readAll(harness.store, topic);
  expect(seqs(stored)).toEqual(range(1, total));
  expect(new Set(stored.map((e) => e.id)).size).toBe(total);
  const byId = new Map(stored.map((e): [string, StoredEvent] => [e.id, e]));
  for (const { events, duplicates, error } of results) {
    expect([duplicates.size, error]).toEqual([0, undefined]);
    expect(seqs(events)).toEqual(seqs(events).toSorted((a, b) => a - b));
    for (const event of events) expect(byId.get(event.id)?.record).toEqual(event.record);
  }
}

function describeIds(harness: Harness): void {
  it("P3: the same id again gives the first event, marked as a duplicate, and adds nothing", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    const [a, b] = [draft({ payload: "a" }), draft({ payload: "b" })];
    const first = await log.append(topic, 0, [a, b]);
    const again = await log.append(topic, 0, [b, draft({ payload: "c" }), a]);
    expect([...again.duplicates].sort()).toEqual([0, 2]);
    expect(seqs(again.events)).toEqual([2, 3, 1]);
    expect(again.events[0]?.record).toEqual(first.events[1]?.record);
    expect((await log.heads(topic))[0]?.head).toBe(3);
  });

  it("P3: an id is known in whatever partition and topic it was first used", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store, 2);
    const other = await defineTopic(harness.store);
    const once = draft({ key: "k" });
    const first = await log.append(topic, 1, [once]);
    for (const [where, partition] of [
      [topic, 0],
      [other, 0],
    ] as const) {
      const again = await log.append(where, partition, [once]);
      expect([...again.duplicates]).toEqual([0]);
      expect(records(again.events)).toEqual(records(first.events));
    }
    expect((await log.heads(topic)).map((h) => h.head)).toEqual([0, 1]);
    expect((await log.heads(other))[0]?.head).toBe(0);
  });

  it("P3: an id twice in one call is added once", async () => {
    const topic = await defineTopic(harness.store);
    const twice = draft({ payload: "first" });
    const result = await harness.store.log.append(topic, 0, [
      twice,
      draft(),
      { ...draft({ payload: "second" }), id: twice.id },
      draft(),
    ]);
    expect([...result.duplicates]).toEqual([2]);
    expect(seqs(result.events)).toEqual([1, 2, 1, 3]);
    expect(result.events[2]?.record.payload).toBe("first");
    expect(seqs(await readAll(harness.store, topic))).toEqual([1, 2, 3]);
  });

  it("P3: under a known id with other content the first event comes back unchanged", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    const original = draft({ payload: { v: 1 }, key: "k1", ts: T0 });
    const first = await log.append(topic, 0, [original]);
    const changed = { ...draft({ payload: { v: 2 }, key: "k2", ts: T0 + 5 }), id: original.id };
    const again = await log.append(topic, 0, [changed]);
    expect([...again.duplicates]).toEqual([0]);
    expect(records(again.events)).toEqual(records(first.events));
    expect((await log.find(original.id))?.record).toEqual(first.events[0]?.record);
  });

  it("P3: an id that was fresh is known from then on", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    const fresh = draft({ freshId: true });
    const first = await log.append(topic, 0, [fresh, draft({ freshId: true })]);
    expect([seqs(first.events), first.duplicates.size]).toEqual([[1, 2], 0]);
    const again = await log.append(topic, 0, [{ ...fresh, freshId: false }]);
    expect([...again.duplicates]).toEqual([0]);
    expect(records(again.events)).toEqual(records(first.events.slice(0, 1)));
  });

  it("P3: one id through two handles at once is one event, and one of the two answers says duplicate", async () => {
    const second = await harness.second();
    const topics = [await defineTopic(harness.store), await defineTopic(harness.store)] as const;
    const contested = drafts(10);
    const results = await Promise.all(
      contested.flatMap((d, i) => [
        harness.store.log.append(topics[0], 0, [d]),
        second.log.append(topics[i % 2 === 0 ? 0 : 1], 0, [d]),
      ]),
    );
    for (let i = 0; i < results.length; i += 2) {
      const pair = results.slice(i, i + 2);
      expect(pair.map((r) => r.error)).toEqual([undefined, undefined]);
      expect(pair.reduce((sum, r) => sum + r.duplicates.size, 0)).toBe(1);
      expect(pair[0]?.events[0]?.record).toEqual(pair[1]?.events[0]?.record);
    }
    const stored = [...(await readAll(second, topics[0])), ...(await readAll(second, topics[1]))];
    expect(stored.map((e) => e.id).sort()).toEqual(contested.map((d) => d.id).sort());
    for (const topic of topics) {
      const present = await readAll(second, topic);
      expect(seqs(present)).toEqual(range(1, present.length));
    }
  });

  it("P3: an id is free again once its event is gone", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    const [trimmed, removed] = [draft(), draft()];
    await log.append(topic, 0, [trimmed, removed]);
    await log.trim(topic, 0, 1);
    await log.remove(topic, 0, [2]);
    const again = await log.append(topic, 0, [removed, trimmed]);
    expect([seqs(again.events), again.duplicates.size]).toEqual([[3, 4], 0]);
  });

  it.each(["order/17 ü", "a.b", "$id", "__proto__", "constructor", "x".repeat(200)])(
    "P3: any short string is an id: %s",
    async (id) => {
      const { log } = harness.store;
      const topic = await defineTopic(harness.store);
      expect(await log.find(id)).toBeNull();
      const first = await log.append(topic, 0, [draft({ id })]);
      expect(first.duplicates.size).toBe(0);
      const again = await log.append(topic, 0, [draft({ id })]);
      expect([...again.duplicates]).toEqual([0]);
      expect((await log.find(id))?.record).toEqual(first.events[0]?.record);
    },
  );
}

function describeRoundTrip(harness: Harness): void {
  it.each(ODD_PAYLOADS)("keeps a payload as it came: %s", async (_, payload) => {
    const topic = await defineTopic(harness.store);
    const given = draft({ payload });
    await harness.store.log.append(topic, 0, [given]);
    const [event] = await readAll(await harness.second(), topic);
    expect(event?.record.payload).toStrictEqual(payload);
    expect(event?.body.text).toBe(JSON.stringify(payload));
    expect(event?.body.equals(given.body)).toBe(true);
  });

  it("keeps a payload of a mebibyte, and many large ones in one call", async () => {
    const topic = await defineTopic(harness.store);
    const large = draft({ payload: { text: "ü€🙂x".repeat(80_000) } });
    const many = Array.from({ length: 30 }, (_, i) => draft({ payload: { i, text: "y".repeat(100_000) } }));
    const result = await harness.store.log.append(topic, 0, [large, ...many]);
    expect([result.events.length, result.error]).toEqual([31, undefined]);
    const stored = await readAll(await harness.second(), topic);
    expect(seqs(stored)).toEqual(range(1, 31));
    expect(stored.map((e) => e.body.text === [large, ...many][e.seq - 1]?.body.text)).not.toContain(false);
  });

  it("keeps headers, tags, causes, session and time as they came", async () => {
    const topic = await defineTopic(harness.store);
    const headers = JSON.parse('{"x-a":"1","a.b":"ü","$set":"x","__proto__":"p","":"empty"}');
    const given = [
      draft({ meta: { headers, tags: ["t1", "", "ż"], caused_by: ["id-1", "id-2"], sid: "s 1" }, ts: 0 }),
      draft({ meta: { headers: {}, tags: [], caused_by: [], sid: "" }, ts: T0 + 1 }),
      draft({ meta: { sid: "only" }, ts: 8_640_000_000_000_000 }),
      draft(),
    ];
    const appended = await harness.store.log.append(topic, 0, given);
    const expected = given.map((d, i) => recordOf(d, topic, 0, i + 1));
    expect(records(appended.events)).toStrictEqual(expected);
    expect(records(await readAll(await harness.second(), topic))).toStrictEqual(expected);
  });

  it("keeps keys as they came, and tells an empty key from none", async () => {
    const topic = await defineTopic(harness.store);
    const keys = ["", "a.b", "$k", "__proto__", "ключ 🔑", "k".repeat(1_024), "A", "a"];
    const given = [draft(), ...keys.map((key) => draft({ key }))];
    await harness.store.log.append(topic, 0, given);
    const stored = await readAll(await harness.second(), topic);
    expect(records(stored)).toStrictEqual(given.map((d, i) => recordOf(d, topic, 0, i + 1)));
    expect(stored.map((e) => e.key)).toEqual([undefined, ...keys]);
  });

  it("shows one frozen record of an event", async () => {
    const topic = await defineTopic(harness.store);
    await harness.store.log.append(topic, 0, [draft({ payload: { list: [1] } })]);
    for (const { record } of await readAll(harness.store, topic)) {
      expect(Object.isFrozen(record)).toBe(true);
      expect(Object.isFrozen((record.payload as { list: unknown }).list)).toBe(true);
    }
  });
}
