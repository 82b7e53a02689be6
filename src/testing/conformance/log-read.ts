/** Reading: pages that never skip (P2), heads, positions by time, single events. */
import { describe, expect, it } from "vitest";
import type { Seq } from "../../model/event.js";
import { nextTurn } from "../../model/next-turn.js";
import type { Page } from "../../ports/log.js";
import type { Store } from "../../ports/store.js";
import type { Harness } from "./harness.js";
import { defineTopic, draft, drafts, failsWith, range, recordOf, records, seqs, T0 } from "./samples.js";

export function describeRead(harness: Harness): void {
  describe("read", () => {
    describePages(harness);
    describeBytes(harness);
    describeFollowing(harness);
  });
  describe("heads, seqAt, find", () => {
    describeHeads(harness);
    describeTimes(harness);
    describeFind(harness);
  });
}

function describePages(harness: Harness): void {
  it("a topic or partition that was never written is an empty one", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store, 2);
    await log.append(topic, 0, drafts(1));
    for (const [name, partition] of [
      [topic, 1],
      ["never.defined", 0],
    ] as const) {
      expect(await log.read(name, partition, { after: 0, limit: 10 })).toEqual({ events: [], through: 0 });
      expect(await log.read(name, partition, { after: 5, limit: 10 })).toEqual({ events: [], through: 5 });
      expect(await log.seqAt(name, partition, 0)).toBe(1);
      expect(await log.trim(name, partition, 5)).toBe(0);
      expect(await log.remove(name, partition, [1])).toBe(0);
    }
    expect((await log.latestByKey("never.defined", ["k"])).size).toBe(0);
    expect(await log.history("never.defined", "k", { limit: 10 })).toEqual([]);
  });

  it.each([1, 7, 50, 51, 1_000])("P2: pages of %i put together are the whole log", async (limit) => {
    const topic = await defineTopic(harness.store);
    await harness.store.log.append(topic, 0, drafts(50));
    const pages = await readPages(harness.store, topic, limit);
    expect(pages.flatMap((page) => seqs(page.events))).toEqual(range(1, 50));
    for (const { events, through } of pages) {
      expect(events.length).toBeLessThanOrEqual(limit);
      if (through < 50) expect([events.length, events.at(-1)?.seq]).toEqual([limit, through]);
    }
    expect(pages.at(-1)?.through).toBe(50);
  });

  it("starts after any seq, and beyond the head there is nothing", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    await log.append(topic, 0, drafts(9));
    const page = await log.read(topic, 0, { after: 6, limit: 10 });
    expect([seqs(page.events), page.through]).toEqual([[7, 8, 9], 9]);
    expect(await log.read(topic, 0, { after: 9, limit: 10 })).toEqual({ events: [], through: 9 });
    expect(await log.read(topic, 0, { after: 40, limit: 10 })).toEqual({ events: [], through: 40 });
  });

  it("P2: what retention and compaction removed is covered by `through`", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    await log.append(topic, 0, drafts(20));
    await log.trim(topic, 0, 4);
    await log.remove(topic, 0, [7, 8, 9, 12, 19, 20]);
    const present = [5, 6, 10, 11, 13, 14, 15, 16, 17, 18];
    const whole = await log.read(topic, 0, { after: 0, limit: 100 });
    expect([seqs(whole.events), whole.through]).toEqual([present, 20]);
    for (const limit of [1, 2, 3, 10]) {
      const pages = await readPages(harness.store, topic, limit);
      expect(pages.flatMap((page) => seqs(page.events))).toEqual(present);
      expect(pages.at(-1)?.through).toBe(20);
    }
    expect(await log.read(topic, 0, { after: 18, limit: 10 })).toEqual({ events: [], through: 20 });
    await log.trim(topic, 0, 20);
    expect(await log.read(topic, 0, { after: 0, limit: 10 })).toEqual({ events: [], through: 20 });
  });
}

/** Reads on until the head; a page that gets nowhere would never end, so that is checked on the way. */
async function readPages(store: Store, topic: string, limit: number): Promise<Page[]> {
  const { head } = (await store.log.heads(topic))[0] ?? { head: 0 };
  const pages: Page[] = [];
  for (let after: Seq = 0; after < head; ) {
    const page = await store.log.read(topic, 0, { after, limit });
    expect(page.through).toBeGreaterThan(after);
    expect(seqs(page.events).every((seq) => seq > after && seq <= page.through)).toBe(true);
    pages.push(page);
    after = page.through;
  }
  return pages;
}

function describeBytes(harness: Harness): void {
  it("P13: a page ends once maxBytes are gathered, yet has at least one event", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    await log.append(
      topic,
      0,
      Array.from({ length: 12 }, () => draft({ payload: "x".repeat(10_000) })),
    );
    const one = await log.read(topic, 0, { after: 3, limit: 100, maxBytes: 1 });
    expect([seqs(one.events), one.through]).toEqual([[4], 4]);
    const some = await log.read(topic, 0, { after: 0, limit: 100, maxBytes: 35_000 });
    expect(some.events.length).toBeGreaterThanOrEqual(3);
    expect(some.events.length).toBeLessThanOrEqual(4);
    expect(some.through).toBe(some.events.length);
    const limited = await log.read(topic, 0, { after: 0, limit: 2, maxBytes: 35_000 });
    expect([seqs(limited.events), limited.through]).toEqual([[1, 2], 2]);
    const all = await log.read(topic, 0, { after: 0, limit: 100, maxBytes: 10_000_000 });
    expect([all.events.length, all.through]).toEqual([12, 12]);
  });
}

function describeFollowing(harness: Harness): void {
  it("P2: a reader that follows two writers skips nothing, at no moment", async () => {
    const second = await harness.second();
    const topic = await defineTopic(harness.store);
    const total = 200;
    const write = async (store: Store): Promise<void> => {
      for (let i = 0; i < total / 10; i++) await store.log.append(topic, 0, drafts(5));
    };
    const follow = async (store: Store): Promise<void> => {
      let after = 0;
      for (let round = 0; after < total && round < 20_000; round++) {
        const page = await store.log.read(topic, 0, { after, limit: 17 });
        expect(seqs(page.events)).toEqual(range(after + 1, page.through));
        after = page.through;
        await nextTurn();
      }
      expect(after).toBe(total);
    };
    await Promise.all([write(harness.store), write(second), follow(harness.store), follow(second)]);
  });

  it("what one handle was told is committed, the other can read at once", async () => {
    const second = await harness.second();
    const topic = await defineTopic(harness.store);
    for (let n = 1; n <= 10; n++) {
      await harness.store.log.append(topic, 0, drafts(1));
      expect((await second.log.read(topic, 0, { after: n - 1, limit: 10 })).through).toBe(n);
      expect((await second.log.heads(topic))[0]?.head).toBe(n);
    }
  });
}

function describeHeads(harness: Harness): void {
  it("heads of a topic that is not defined: NOT_FOUND", async () => {
    await failsWith("NOT_FOUND", harness.store.log.heads("never.defined"));
  });

  it("heads has one entry for each partition, written or not", async () => {
    const topic = await defineTopic(harness.store, 3);
    const empty = { head: 0, low: 1, events: 0, bytes: 0 };
    expect(await harness.store.log.heads(topic)).toEqual(
      [0, 1, 2].map((partition) => ({ partition, ...empty })),
    );
    await harness.store.log.append(topic, 1, drafts(4));
    const heads = await harness.store.log.heads(topic);
    expect(heads.map((h) => h.partition)).toEqual([0, 1, 2]);
    expect(heads[1]).toMatchObject({ head: 4, low: 1, events: 4 });
    expect(heads[1]?.bytes).toBeGreaterThan(0);
    expect([heads[0], heads[2]]).toEqual([0, 2].map((partition) => ({ partition, ...empty })));
  });

  it("headsOf: the heads of many topics at once, written or not; what is not defined is left out", async () => {
    const { log } = harness.store;
    const written = await defineTopic(harness.store, 3);
    const empty = await defineTopic(harness.store, 2);
    await log.append(written, 1, drafts(4));
    await log.append(written, 2, drafts(1));
    const found = await log.headsOf([written, "never.defined", empty]);
    expect([...found.keys()].sort()).toEqual([written, empty].sort());
    expect(found.get(written)?.map(({ head }) => head)).toEqual([0, 4, 1]);
    for (const topic of [written, empty]) expect(found.get(topic)).toEqual(await log.heads(topic));
    expect((await log.headsOf([])).size).toBe(0);
  });

  it("headsOf: removing events lowers no head", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store, 2);
    await log.append(topic, 0, drafts(3));
    await log.append(topic, 1, drafts(3));
    await log.trim(topic, 0, 3);
    await log.remove(topic, 1, [2, 3]);
    expect((await log.headsOf([topic])).get(topic)).toMatchObject([
      { partition: 0, head: 3, low: 4, events: 0 },
      { partition: 1, head: 3, low: 1, events: 1 },
    ]);
  });
}

function describeTimes(harness: Harness): void {
  it("seqAt: the lowest present seq whose ts is at least the one asked for", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    await log.append(
      topic,
      0,
      [100, 200, 200, 300].map((ts) => draft({ ts: T0 + ts })),
    );
    const asked = [0, 100, 101, 200, 201, 300, 301];
    const found = await Promise.all(asked.map((ts) => log.seqAt(topic, 0, T0 + ts)));
    expect(found).toEqual([1, 1, 2, 2, 4, 4, 5]);
  });

  it("seqAt: clocks that run backwards do not hide events", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    await log.append(
      topic,
      0,
      [100, 500, 200, 300, 50, 600].map((ts) => draft({ ts: T0 + ts })),
    );
    const ask = (asked: number[]): Promise<Seq[]> =>
      Promise.all(asked.map((ts) => log.seqAt(topic, 0, T0 + ts)));
    expect(await ask([0, 101, 250, 500, 501, 601])).toEqual([1, 2, 2, 2, 6, 7]);
    await log.remove(topic, 0, [2]);
    expect(await ask([0, 101, 250, 301, 500, 601])).toEqual([1, 3, 4, 6, 6, 7]);
    await log.trim(topic, 0, 3);
    expect(await ask([0, 40, 301])).toEqual([4, 4, 6]);
    await log.trim(topic, 0, 6);
    expect(await ask([0, 600])).toEqual([7, 7]);
  });

  it.each([1, 4])(
    "seqAt: a time that was ahead goes with its event, of appends of %i events",
    async (size) => {
      const { log } = harness.store;
      const removals: ((topic: string) => Promise<number>)[] = [
        (topic) => log.trim(topic, 0, 2),
        (topic) => log.remove(topic, 0, [1, 2]),
        (topic) => log.remove(topic, 0, [2]),
      ];
      for (const removal of removals) {
        const topic = await defineTopic(harness.store);
        const times = [100, 900, 200, 300].map((ts) => draft({ ts: T0 + ts }));
        for (let i = 0; i < times.length; i += size) await log.append(topic, 0, times.slice(i, i + size));
        expect(await log.seqAt(topic, 0, T0 + 301)).toBe(2);
        await removal(topic);
        const found = await Promise.all([150, 201, 300, 301, 901].map((ts) => log.seqAt(topic, 0, T0 + ts)));
        expect(found).toEqual([3, 4, 4, 5, 5]);
        await log.append(topic, 0, [draft({ ts: T0 + 250 })]);
        expect(await log.seqAt(topic, 0, T0 + 301)).toBe(6);
        await log.append(topic, 0, [draft({ ts: T0 + 400 })]);
        expect(await log.seqAt(topic, 0, T0 + 301)).toBe(6);
      }
    },
  );

  it("seqAt: finds the one event of a time that no later event reaches", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    await log.append(
      topic,
      0,
      [900, 100, 500, 200, 50].map((ts) => draft({ ts: T0 + ts })),
    );
    expect(await log.seqAt(topic, 0, T0 + 501)).toBe(1);
    await log.remove(topic, 0, [1]);
    expect(await log.seqAt(topic, 0, T0 + 501)).toBe(6);
    expect(await log.seqAt(topic, 0, T0 + 300)).toBe(3);
  });

  it("seqAt: right over thousands of events", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    for (let i = 0; i < 3; i++) {
      await log.append(
        topic,
        0,
        range(1, 800).map((n) => draft({ ts: T0 + (i * 800 + n) * 10, freshId: true })),
      );
    }
    const asked = [5, 10, 8_005, 12_340, 23_995, 24_000, 24_001];
    const found = await Promise.all(asked.map((ts) => log.seqAt(topic, 0, T0 + ts)));
    expect(found).toEqual([1, 1, 801, 1_234, 2_400, 2_400, 2_401]);
  });
}

function describeFind(harness: Harness): void {
  it("find: an event by its id, as long as it is retained", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store, 2);
    const [a, b, c] = [draft({ key: "k", payload: { a: 1 } }), draft(), draft()];
    await log.append(topic, 1, [a, b, c]);
    const found = await (await harness.second()).log.find(a.id);
    expect(records(found === null ? [] : [found])).toEqual([recordOf(a, topic, 1, 1)]);
    expect(await log.find("nobody's id")).toBeNull();
    await log.trim(topic, 1, 1);
    await log.remove(topic, 1, [2]);
    expect([await log.find(a.id), await log.find(b.id)]).toEqual([null, null]);
    expect((await log.find(c.id))?.seq).toBe(3);
  });
}
