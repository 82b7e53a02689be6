/** Events by key: right for every topic, whether it keeps an index or not. */
import { describe, expect, it } from "vitest";
import type { EventRecord, StoredEvent } from "../../model/event.js";
import type { TopicConfig } from "../../model/topic.js";
import type { Harness } from "./harness.js";
import { defineTopic, draft, records, seqs } from "./samples.js";

const KINDS: readonly (readonly [string, Partial<TopicConfig>])[] = [
  ["a plain topic", {}],
  ["a keyed topic", { keyed: true }],
  ["a compacted topic", { compaction: true }],
];

export function describeKeys(harness: Harness): void {
  describe.each(KINDS)("by key, in %s", (_, options) => {
    describeLatest(harness, options);
    describeHistory(harness, options);
  });
}

/** Each letter becomes an event with that key; a blank one without. */
async function appendKeys(
  harness: Harness,
  topic: string,
  letters: string,
  partition = 0,
): Promise<readonly StoredEvent[]> {
  const given = [...letters].map((key) => draft(key === " " ? {} : { key }));
  return (await harness.store.log.append(topic, partition, given)).events;
}

function describeLatest(harness: Harness, options: Partial<TopicConfig>): void {
  const latest = async (topic: string, keys: string[]): Promise<[string, number][]> => {
    const found = await harness.store.log.latestByKey(topic, keys);
    return [...found].map(([key, event]): [string, number] => [key, event.seq]).sort();
  };

  it("latestByKey: the newest event of each key that has one", async () => {
    const topic = await defineTopic(harness.store, 2, options);
    const events = await appendKeys(harness, topic, "ab a c");
    await appendKeys(harness, topic, "dd", 1);
    expect(await latest(topic, ["a", "b", "c", "d", "nobody"])).toEqual([
      ["a", 4],
      ["b", 2],
      ["c", 6],
      ["d", 2],
    ]);
    expect(await latest(topic, [])).toEqual([]);
    expect(await latest(topic, ["a", "a"])).toEqual([["a", 4]]);
    const found = await harness.store.log.latestByKey(topic, ["a"]);
    expect(found.get("a")?.record).toEqual(events[3]?.record);
    await appendKeys(harness, topic, "ba");
    expect(await latest(topic, ["a", "b"])).toEqual([
      ["a", 8],
      ["b", 7],
    ]);
  });

  it("latestByKey: a tombstone is the newest event like any other", async () => {
    const topic = await defineTopic(harness.store, 1, options);
    await harness.store.log.append(topic, 0, [draft({ key: "k" }), draft({ key: "k", payload: null })]);
    const found = await harness.store.log.latestByKey(topic, ["k"]);
    expect(found.get("k")?.record.payload).toBeNull();
  });

  it("latestByKey: odd keys are keys", async () => {
    const topic = await defineTopic(harness.store, 1, options);
    const keys = ["", "__proto__", "a.b", "$k", "ключ 🔑", "constructor"];
    expect(await latest(topic, keys)).toEqual([]);
    await harness.store.log.append(
      topic,
      0,
      keys.map((key) => draft({ key })),
    );
    expect(await latest(topic, keys)).toEqual(keys.map((key, i): [string, number] => [key, i + 1]).sort());
  });

  it("P11: when the newest event of a key is removed, the one before it is the newest", async () => {
    const topic = await defineTopic(harness.store, 1, options);
    await appendKeys(harness, topic, "abab");
    expect(await latest(topic, ["a", "b"])).toEqual([
      ["a", 3],
      ["b", 4],
    ]);
    await harness.store.log.remove(topic, 0, [3]);
    expect(await latest(topic, ["a", "b"])).toEqual([
      ["a", 1],
      ["b", 4],
    ]);
    await harness.store.log.trim(topic, 0, 2);
    expect(await latest(topic, ["a", "b"])).toEqual([["b", 4]]);
  });

  it("P11: removing all but the newest of each key changes no answer", async () => {
    const topic = await defineTopic(harness.store, 1, options);
    await appendKeys(harness, topic, "abcabcab");
    const answers = async (): Promise<(EventRecord | undefined)[]> => {
      const found = await harness.store.log.latestByKey(topic, ["a", "b", "c"]);
      return ["a", "b", "c"].map((key) => found.get(key)?.record);
    };
    const before = await answers();
    expect(before.map((record) => record?.seq)).toEqual([7, 8, 6]);
    expect(await harness.store.log.remove(topic, 0, [1, 2, 3, 4, 5])).toBe(5);
    expect(await answers()).toEqual(before);
  });

  it("a topic that is made keyed later answers for its older events too", async () => {
    const topic = await defineTopic(harness.store, 1, options);
    await appendKeys(harness, topic, "ab");
    await harness.store.registry.defineTopic({ name: topic, partitions: 1, keyed: true });
    await appendKeys(harness, topic, "b");
    expect(await latest(topic, ["a", "b"])).toEqual([
      ["a", 1],
      ["b", 3],
    ]);
    expect(seqs(await harness.store.log.history(topic, "b", { limit: 10 }))).toEqual([2, 3]);
  });
}

function describeHistory(harness: Harness, options: Partial<TopicConfig>): void {
  it("history: the events of one key in seq order, within the bounds asked for", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store, 1, options);
    const events = await appendKeys(harness, topic, "abaa bbaa");
    const whole = await log.history(topic, "a", { limit: 100 });
    expect(records(whole)).toEqual(records(events.filter((e) => e.key === "a")));
    const ask = async (o: Parameters<typeof log.history>[2]): Promise<number[]> =>
      seqs(await log.history(topic, "a", o));
    expect(await ask({ limit: 2 })).toEqual([1, 3]);
    expect(await ask({ limit: 2, after: 3 })).toEqual([4, 8]);
    expect(await ask({ limit: 10, after: 2, through: 8 })).toEqual([3, 4, 8]);
    expect(await ask({ limit: 10, through: 7 })).toEqual([1, 3, 4]);
    expect(await ask({ limit: 10, after: 9 })).toEqual([]);
    expect(await ask({ limit: 3, newestFirst: true })).toEqual([9, 8, 4]);
    expect(await ask({ limit: 2, newestFirst: true, through: 4 })).toEqual([4, 3]);
    expect(await log.history(topic, "nobody", { limit: 10 })).toEqual([]);
  });

  it("history: only of this topic, and without what was removed", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store, 1, options);
    const other = await defineTopic(harness.store, 1, options);
    await appendKeys(harness, topic, "aaaaa");
    await appendKeys(harness, other, "aa");
    expect(seqs(await log.history(topic, "a", { limit: 10 }))).toEqual([1, 2, 3, 4, 5]);
    await log.trim(topic, 0, 1);
    await log.remove(topic, 0, [3, 5]);
    expect(seqs(await log.history(topic, "a", { limit: 10 }))).toEqual([2, 4]);
    expect(seqs(await log.history(topic, "a", { limit: 10, newestFirst: true }))).toEqual([4, 2]);
    expect(seqs(await log.history(other, "a", { limit: 10 }))).toEqual([1, 2]);
  });

  it("a key spread over partitions by hand is kept by seq, then partition", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store, 3, options);
    expect(await log.history(topic, "k", { limit: 10 })).toEqual([]);
    await appendKeys(harness, topic, "ka", 2);
    expect((await log.latestByKey(topic, ["k"])).get("k")?.partition).toBe(2);
    await appendKeys(harness, topic, "kkk", 0);
    await appendKeys(harness, topic, "akk", 1);
    const places = (await log.history(topic, "k", { limit: 10 })).map((e) => [e.seq, e.partition]);
    expect(places).toEqual([
      [1, 0],
      [1, 2],
      [2, 0],
      [2, 1],
      [3, 0],
      [3, 1],
    ]);
    const newest = (await log.latestByKey(topic, ["k"])).get("k");
    expect([newest?.seq, newest?.partition]).toEqual([3, 1]);
    // However far below them the appends began that brought them.
    for (const limit of [1, 2, 3]) {
      const last = await log.history(topic, "k", { limit, newestFirst: true });
      expect(last.map((e) => [e.seq, e.partition])).toEqual(places.toReversed().slice(0, limit));
    }
  });
}
