/** Events by key: by index for topics that asked for it when they were defined, by a walk through the topic for others. */
import type { Document } from "mongodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBus } from "../../../src/bus/create-bus.js";
import type { StoredEvent } from "../../../src/model/event.js";
import type { TopicConfig, TopicLayout } from "../../../src/model/topic.js";
import type { Store } from "../../../src/ports/store.js";
import { compactNow } from "../../../src/project/history/compactor.js";
import { MongoEventStore } from "../../../src/stores/mongo/index.js";
import { draft, range, seqs } from "../../../src/testing/conformance/samples.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { plansOf } from "../../support/mongo/plans.js";

const TOPIC = "orders";
const BY_MARK = /\{ keyed: 1, topic: 1, key: 1, seq: -1, partition: -1 \}/;
const BY_ANY_KEY = /\{ topic: 1, key: 1, seq: -1, partition: -1 \}/;
const BY_PLACE = /\{ topic: 1, partition: 1, seq: 1 \}/;

let database: TestDatabase;
let store: Store;
let warnings: string[];

beforeEach(async () => {
  database = await TestDatabase.create();
  warnings = [];
  store = await database.open({ onWarning: (message) => warnings.push(message) });
});
afterEach(() => database.dispose());

function define(options: Partial<TopicConfig> = {}): Promise<TopicConfig> {
  return store.registry.defineTopic({ name: TOPIC, partitions: 1, ...options });
}

/** Each letter becomes an event with that key, so many of them in an append. */
async function append(letters: string, { topic = TOPIC, partition = 0, at = 10 } = {}): Promise<void> {
  for (let i = 0; i < letters.length; i += at) {
    const some = [...letters.slice(i, i + at)].map((key) => draft({ key, freshId: true }));
    const { error } = await store.log.append(topic, partition, some);
    expect(error).toBeUndefined();
  }
}

async function history(key: string, options: Document = {}, from = store): Promise<number[]> {
  return seqs(await from.log.history(TOPIC, key, { limit: 1_000, ...options }));
}

async function latest(keys: string, from = store): Promise<string> {
  const found = await from.log.latestByKey(TOPIC, [...keys]);
  return [...found]
    .map(([key, { seq }]) => `${key}${seq}`)
    .sort()
    .join(" ");
}

function kept(collection: "events" | "batches", topic = TOPIC): Promise<Document[]> {
  return database.db.collection(collection).find({ topic }).sort({ seq: 1, first: 1 }).toArray();
}

/** How the server found what `work` asked of the events. */
async function eventPlans(work: () => Promise<unknown>): Promise<{ plan: string; examined: number }[]> {
  const plans = await plansOf(database, work);
  return plans
    .filter(({ collection }) => collection === "events")
    .map(({ plan, examined }) => ({ plan, examined }));
}

async function askByKey(): Promise<void> {
  expect(await history("a")).toEqual([1, 4]);
  expect(await latest("ac")).toBe("a4 c3");
}

/** As versions before the mark left it: an index of all keys, and nothing that tells of the new one. */
async function makeOld(): Promise<void> {
  const { db } = database;
  await db.collection("events").dropIndex("keys");
  await db
    .collection("events")
    .createIndex(
      { topic: 1, key: 1, seq: -1, partition: -1 },
      { name: "key", partialFilterExpression: { key: { $exists: true } } },
    );
  await db.collection("events").updateMany({}, { $unset: { keyed: 1 } });
  await db.collection("topics").updateMany({}, { $unset: { keyIndex: 1 } });
}

describe("single documents", () => {
  it.each([{ keyed: true }, { compaction: true }])(
    "of a topic with %j are found by key by index",
    async (o) => {
      await define(o);
      await append(`abca${"x".repeat(300)}`);
      expect((await kept("events")).every(({ keyed }) => keyed === true)).toBe(true);
      const plans = await eventPlans(askByKey);
      expect(plans).toHaveLength(2);
      for (const { plan, examined } of plans) {
        expect(plan).toMatch(BY_MARK);
        expect(examined).toBeLessThan(10);
      }
    },
  );

  it("of other topics have no entry by key; to find them, only their own topic is walked", async () => {
    await define();
    await store.registry.defineTopic({ name: "others", partitions: 1 });
    await append("x".repeat(200), { topic: "others" });
    await append("abcabb");
    expect((await kept("events")).some((document) => "keyed" in document)).toBe(false);
    const plans = await eventPlans(async () => {
      expect(await history("a")).toEqual([1, 4]);
      expect(await latest("ac")).toBe("a4 c3");
    });
    expect(plans).toHaveLength(2);
    for (const { plan, examined } of plans) {
      expect(plan).toMatch(BY_PLACE);
      expect(examined).toBeLessThanOrEqual(6);
    }
  });

  it("without a key have no entry, and those that are removed lose theirs", async () => {
    await define({ keyed: true });
    await store.log.append(TOPIC, 0, [
      draft(),
      draft({ key: "a" }),
      draft({ key: "a" }),
      draft({ key: "b" }),
    ]);
    await store.log.remove(TOPIC, 0, [3]);
    await store.log.trim(TOPIC, 0, 2);
    const marked = (await kept("events")).filter((document) => "keyed" in document);
    expect(marked.map(({ key, keyed }) => [key, keyed])).toEqual([["b", true]]);
    expect(await latest("ab")).toBe("b4");
  });

  it("of an older database are found by its index of all keys, old events and new ones", async () => {
    await define();
    await append(`abc${"x".repeat(300)}`);
    await makeOld();
    store = await database.open();
    await append("a");
    const plans = await eventPlans(async () => {
      expect(await history("a")).toEqual([1, 304]);
      expect(await latest("ac")).toBe("a304 c3");
    });
    for (const { plan, examined } of plans) {
      expect(plan).toMatch(BY_ANY_KEY);
      expect(examined).toBeLessThan(10);
    }
    const names = (await database.db.collection("events").indexes()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["key", "keys"]));
  });

  it("an older database's topic stays without the mark when it is defined again, and its answers stay right", async () => {
    await define({ compaction: true });
    await append("abca");
    await makeOld();
    store = await database.open();
    await define({ keyed: true });
    await append("a");
    expect(await history("a")).toEqual([1, 4, 5]);
    expect(await database.db.collection("topics").findOne()).not.toHaveProperty("keyIndex");
  });

  it("of a topic that the small store makes are found by index", async () => {
    const events = new MongoEventStore(database.db);
    await events.insert({ id: "e1", topic: TOPIC, ts: 1, key: "k", payload: 1 });
    expect((await events.latestByKey(TOPIC, ["k"])).k?.id).toBe("e1");
    expect(await kept("events")).toMatchObject([{ key: "k", keyed: true }]);
  });

  it("a new database has no index of all keys", async () => {
    const names = (await database.db.collection("events").indexes()).map(({ name }) => name);
    expect(names).toContain("keys");
    expect(names).not.toContain("key");
  });

  it("of a topic that nobody defined yet are found by index once it is", async () => {
    await append("abc");
    await define({ keyed: true });
    await append(`a${"x".repeat(300)}`);
    for (const { plan } of await eventPlans(askByKey)) expect(plan).toMatch(BY_MARK);
  });

  it("that have no entry although their topic was not defined yet are not forgotten when it is", async () => {
    await append("abc");
    await makeOld();
    await define({ keyed: true });
    await append("a");
    await askByKey();
  });

  it("of a topic that asks for it too late can be given an index by hand", async () => {
    await define();
    await append(`abca${"x".repeat(300)}`);
    await define({ keyed: true });
    await database.db
      .collection("events")
      .createIndex({ key: 1, seq: -1, partition: -1 }, { partialFilterExpression: { topic: TOPIC } });
    const plans = await eventPlans(askByKey);
    for (const { plan, examined } of plans) {
      expect(plan).toMatch(/\{ key: 1, seq: -1, partition: -1 \}/);
      expect(examined).toBeLessThan(10);
    }
  });
});

describe("batches", () => {
  it("tell their keys if the topic asks for it, also when they are written anew", async () => {
    await define({ layout: "batches", keyed: true });
    await append("abcabd", { at: 3 });
    await store.log.remove(TOPIC, 0, [4]);
    await store.log.trim(TOPIC, 0, 1);
    expect((await kept("batches")).map(({ keys }) => keys)).toEqual([undefined, ["b", "c"], ["b", "d"]]);
    expect(await latest("abcd")).toBe("b5 c3 d6");
  });

  it("of other topics do not, whatever is done to them", async () => {
    await define({ layout: "batches" });
    await append("abcabd", { at: 3 });
    await store.log.remove(TOPIC, 0, [4]);
    await store.log.trim(TOPIC, 0, 1);
    expect((await kept("batches")).some((document) => "keys" in document)).toBe(false);
    expect(await latest("abcd")).toBe("b5 c3 d6");
    expect(await history("b")).toEqual([2, 5]);
  });

  it("of a topic that was defined before there was a choice tell their keys", async () => {
    await define({ layout: "batches", keyed: true });
    await append("abc");
    await makeOld();
    store = await database.open();
    await append("a");
    expect((await kept("batches")).map(({ keys }) => keys)).toEqual([["a", "b", "c"], ["a"]]);
    await askByKey();
  });

  it("are walked from either end, however many there are, within the bounds asked for", async () => {
    await define({ layout: "batches", partitions: 2 });
    await append("ab".repeat(150), { at: 3 });
    await append("cccaab", { partition: 1 });
    const places = async (options: Document): Promise<string> => {
      const found = await store.log.history(TOPIC, "a", { limit: 3, ...options });
      return found.map(({ partition, seq }: StoredEvent) => `${partition}/${seq}`).join(" ");
    };
    expect(await history("a", { after: 6 })).toEqual(range(4, 150).map((n) => 2 * n - 1));
    expect(await places({})).toBe("0/1 0/3 1/4");
    expect(await places({ after: 4 })).toBe("0/5 1/5 0/7");
    expect(await places({ after: 200, through: 203 })).toBe("0/201 0/203");
    expect(await places({ newestFirst: true })).toBe("0/299 0/297 0/295");
    expect(await places({ newestFirst: true, through: 5 })).toBe("1/5 0/5 1/4");
    expect(await places({ after: 299 })).toBe("");
    expect(await latest("abcz")).toBe("a299 b300 c3");
  });

  it.each([
    ["walked", {}],
    ["looked up", { keyed: true }],
  ])("that are cut while they are %s are not passed over", async (_, o) => {
    await define({ layout: "batches", ...o });
    const total = 600;
    await append("ab".repeat(total / 2), { at: 20 });
    const trimmer = await database.open();
    let floor = 0;
    const trim = async (): Promise<void> => {
      while (floor < total - 60) {
        floor += 7;
        await trimmer.log.trim(TOPIC, 0, floor);
      }
    };
    const walk = async (newestFirst: boolean): Promise<void> => {
      while (floor < total - 60) {
        const before = floor;
        const found = (await history("a", { newestFirst })).sort((x, y) => x - y);
        // What the floor passed meanwhile may be there or not; all else is, and once.
        const mustBe = range(1, total).filter((seq) => seq % 2 === 1 && seq > floor);
        expect(found.filter((seq) => seq > floor)).toEqual(mustBe);
        expect(found.every((seq, i) => seq > before - 7 && (i === 0 || seq > (found[i - 1] as number)))).toBe(
          true,
        );
      }
    };
    await Promise.all([trim(), walk(false), walk(true)]);
  });
});

describe.each<TopicLayout>(["documents", "batches"])(
  "a topic kept as %s that is made to ask for it later",
  (layout) => {
    it("has no index, says so once it is defined, and answers rightly", async () => {
      await define({ layout });
      await append("abc");
      const other = await database.open();
      expect(await history("a", {}, other)).toEqual([1]);
      expect(warnings).toEqual([]);
      expect(await define({ keyed: true })).toEqual({ name: TOPIC, partitions: 1, layout, keyed: true });
      expect(warnings).toEqual([
        expect.stringContaining(`topic "${TOPIC}" was first defined without "keyed"`),
      ]);
      await append("a");
      await askByKey();
      expect(await latest("ac", other)).toBe("a4 c3");
      expect(await database.db.collection("topics").findOne()).toMatchObject({ keyIndex: false });
    });

    it("keeps its index when it is defined without, and nobody is told", async () => {
      await define({ layout, keyed: true });
      await append("abc");
      await define();
      await append("a");
      await define({ compaction: true });
      await askByKey();
      expect(await database.db.collection("topics").findOne()).toMatchObject({ keyIndex: true });
      expect(warnings).toEqual([]);
    });

    it("P11: is compacted like any other", async () => {
      await define({ layout });
      await append("abcabcad");
      const bus = await createBus({ store });
      try {
        await bus.defineTopic({ name: TOPIC, compaction: true });
        expect(await compactNow(bus)).toMatchObject({ removed: 4 });
        await append("ca");
        expect(await compactNow(bus)).toMatchObject({ removed: 2 });
        expect(await latest("abcd")).toBe("a10 b5 c9 d8");
        const page = await store.log.read(TOPIC, 0, { after: 0, limit: 100 });
        expect(seqs(page.events)).toEqual([5, 8, 9, 10]);
      } finally {
        await bus.close();
      }
    });

    it("P11: is compacted without a walk for each key", async () => {
      await define({ layout });
      await append("abcdefgh".repeat(20), { at: 16 });
      const asked: string[] = [];
      const watched = interceptStore(store, {
        around: (call, proceed) => {
          asked.push(call.name);
          return proceed();
        },
      });
      const bus = await createBus({ store: watched });
      try {
        await bus.defineTopic({ name: TOPIC, compaction: true, tombstoneRetentionMs: 0 });
        expect(await compactNow(bus)).toMatchObject({ removed: 152 });
        await bus.publishMany(TOPIC, [
          { key: "a", payload: 1 },
          { key: "b", payload: null },
          { key: "c", payload: null },
        ]);
        expect(await compactNow(bus)).toMatchObject({ removed: 3, tombstonesRemoved: 2 });
        expect(await latest("abcdefgh")).toBe("a161 d156 e157 f158 g159 h160");
        expect(asked).toContain("log.hasKeyIndex");
        expect(asked).not.toContain("log.history");
      } finally {
        await bus.close();
      }
    });
  },
);
