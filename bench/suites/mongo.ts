/**
 * The bus on MongoDB beside the bare driver, with the same indexes, entries in them and concern levels, on one replica set
 * of one node that this suite starts for itself (or on PROMETHEAN_TEST_MONGO_URL). Events have keys everywhere; an index by
 * key has only what is called keyed.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Collection, type Document, MongoClient } from "mongodb";
import { v7 } from "uuid";
import { createBus } from "../../src/bus/create-bus.js";
import type { BusOptions } from "../../src/bus/options.js";
import { Fatal } from "../../src/model/errors.js";
import type { TopicDefinition } from "../../src/model/topic.js";
import { ensureIndexes, mongoStore } from "../../src/stores/mongo/index.js";
import { ReplicaSet } from "../../test/support/mongo/replica-set.js";
import { keyOf, payloadOf, perSecond, windowed } from "../events.js";
import type { Suite } from "../suite.js";
import { spreadOver } from "./mongo-spread.js";

type Bus = Awaited<ReturnType<typeof createBus>>;
type Kept = Pick<TopicDefinition, "layout" | "keyed">;

const TOPIC = "bench.events";
const EVENTS = 20_000;
const BATCH = 1_000;
const WINDOW = 1_024;
const PUBLISHERS = 64;
/** Before the clock starts. */
const FIRST = 20 * PUBLISHERS;
/** So many that both take about a second. */
const SINGLE = 3_000;
const GATHERED = 20_000;
const PINGS = 100;
const LETTERS = 2_000;
const WRITERS = 3;
/** So many by each of them that it takes about a second. */
const EACH = 12 * BATCH;

let server: Promise<string> | undefined;
let databases = 0;

/** The set ends with this process: whoever holds the other end of its pipe sees to that. */
function serverUrl(): Promise<string> {
  const given = process.env.PROMETHEAN_TEST_MONGO_URL;
  server ??= given ? Promise.resolve(given) : ReplicaSet.start({ cacheGb: 1 }).then((set) => set.url);
  return server;
}

/** A fresh database, dropped afterwards. */
async function withDatabase<T>(work: (url: string, db: string) => Promise<T>): Promise<T> {
  const url = await serverUrl();
  const db = `bench_${process.pid}_${++databases}`;
  try {
    return await work(url, db);
  } finally {
    const client = new MongoClient(url);
    await client.db(db).dropDatabase();
    await client.close();
  }
}

/** A plain collection of the same shape as ours. */
async function withCollection<T>(work: (events: Collection<{ _id: string }>) => Promise<T>): Promise<T> {
  return await withDatabase(async (url, name) => {
    const client = new MongoClient(url);
    const db = client.db(name, { writeConcern: { w: "majority", journal: true } });
    try {
      await ensureIndexes(db);
      return await work(db.collection("events", { readConcern: { level: "majority" } }));
    } finally {
      await client.close();
    }
  });
}

function openBus(url: string, db: string, kept: Kept, options: Partial<BusOptions> = {}): Promise<Bus> {
  const topics = [{ name: TOPIC, partitions: 1, ...kept }];
  return createBus({ store: mongoStore({ url, db }), topics, ...options });
}

async function withBus<T>(
  work: (bus: Bus, url: string, db: string) => Promise<T>,
  kept: Kept = {},
  options: Partial<BusOptions> = {},
): Promise<T> {
  return await withDatabase(async (url, db) => {
    const bus = await openBus(url, db, kept, options);
    try {
      return await work(bus, url, db);
    } finally {
      await bus.close();
    }
  });
}

function plainDocument(n: number, keyed = false): { _id: string } & Document {
  return {
    _id: v7(),
    topic: TOPIC,
    partition: 0,
    seq: n + 1,
    ts: Date.now(),
    key: keyOf(n),
    ...(keyed && { keyed }),
    payload: payloadOf(n),
  };
}

async function insertMany(
  events: Collection<{ _id: string }>,
  { from = 0, to = EVENTS, size = BATCH, keyed = false } = {},
): Promise<void> {
  for (let n = from; n < to; n += size) {
    await events.insertMany(Array.from({ length: size }, (_, i) => plainDocument(n + i, keyed)));
  }
}

function insertManySteadily(how: { size?: number; keyed?: boolean } = {}): Promise<number> {
  return withCollection(async (events) => {
    const { size = BATCH } = how;
    const wholeBatches = (atLeast: number): number => Math.ceil(atLeast / size) * size;
    const from = wholeBatches(FIRST);
    const to = from + wholeBatches(EVENTS);
    await insertMany(events, { ...how, to: from });
    return await perSecond(to - from, () => insertMany(events, { ...how, from, to }));
  });
}

/**
 * Sends, first some and then so many by the clock. A new client opens its connections and a new collection grows its first
 * pages: 64 connections for some, one for others. What is compared is how each goes on.
 */
async function steadily(
  count: number,
  window: number,
  send: (n: number) => Promise<unknown>,
): Promise<number> {
  await windowed(FIRST, window, send);
  return await perSecond(count, () => windowed(count, window, (n) => send(FIRST + n)));
}

async function scan(events: Collection<{ _id: string }>): Promise<void> {
  for (let after = 0; after < EVENTS; after += BATCH) {
    const place = { topic: TOPIC, partition: 0, seq: { $gt: after } };
    await events.find(place).sort({ seq: 1 }).limit(BATCH).batchSize(BATCH).toArray();
  }
}

/** Events a second of one publisher that waits for an answer only when `window` events have gone out since. */
function publish(events: number, window: number, kept: Kept = {}): Promise<number> {
  return withBus((bus) => steadily(events, window, (n) => publishOne(bus, n)), kept);
}

function publishOne(bus: Bus, n: number): Promise<unknown> {
  return bus.publish(TOPIC, payloadOf(n), { key: keyOf(n) });
}

/** In a bus that did not publish what it reads: that one would have the newest events in memory. */
function catchUp(kept: Kept = {}): Promise<number> {
  return withDatabase(async (url, db) => {
    const publisher = await openBus(url, db, kept);
    await windowed(EVENTS, WINDOW, (n) => publishOne(publisher, n));
    await publisher.close();
    const bus = await openBus(url, db, kept);
    try {
      return await perSecond(EVENTS, () => readAll(bus));
    } finally {
      await bus.close();
    }
  });
}

async function readAll(bus: Bus): Promise<void> {
  let handled = 0;
  await new Promise<void>((resolve, reject) => {
    bus
      .subscribe(TOPIC, "bench", () => void (++handled === EVENTS && resolve()), { from: "earliest" })
      .catch(reject);
  });
}

/** Events of as many keys as publishers elsewhere, each given up at the first try; the last letter is there when its cursor is. */
function givenUp(): Promise<number> {
  const given = async (bus: Bus): Promise<number> => {
    const items = Array.from({ length: LETTERS }, (_, n) => ({
      payload: payloadOf(n),
      key: `key-${n % PUBLISHERS}`,
    }));
    await bus.publishMany(TOPIC, items);
    return await perSecond(LETTERS, async () => {
      const fail = (): never => {
        throw new Fatal("not this one");
      };
      await bus.subscribe(TOPIC, "bench", fail, { from: "earliest" });
      while (await isBehind(bus)) await setTimeout(10);
    });
  };
  // What fails here is meant to.
  return withBus(given, {}, { onTrouble: () => undefined });
}

async function isBehind(bus: Bus): Promise<boolean> {
  const cursor = await bus.getCursor(TOPIC, "bench");
  return cursor?.partitions.some(({ lag }) => lag > 0) ?? true;
}

/** Starts another process of this suite and waits until it is ready. */
async function peer(...args: string[]): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL("./mongo-peer.js", import.meta.url)), args);
  await once(child, "message");
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  const exit = once(child, "exit");
  child.send("stop");
  await exit;
}

function contended(): Promise<number> {
  return withBus(async (_bus, url, db) => {
    const writers = await Promise.all(
      Array.from({ length: WRITERS }, () => peer("write", url, db, TOPIC, String(EACH))),
    );
    try {
      return await perSecond(EACH * WRITERS, async () => {
        for (const writer of writers) writer.send("go");
        await Promise.all(writers.map((writer) => once(writer, "message")));
      });
    } finally {
      await Promise.all(writers.map(ended));
    }
  });
}

/** Median time from sending, in this process, to hearing of it in another. */
async function medianDelay(
  listener: ChildProcess,
  send: (sentAt: string) => Promise<unknown>,
): Promise<number> {
  const delays: number[] = [];
  for (let n = 0; n < PINGS; n++) {
    const heard = once(listener, "message") as Promise<[number]>;
    await send(String(process.hrtime.bigint()));
    delays.push((await heard)[0]);
  }
  return delays.sort((a, b) => a - b)[PINGS >>> 1] as number;
}

function streamDelay(): Promise<number> {
  return withDatabase(async (url, name) => {
    const client = new MongoClient(url);
    const db = client.db(name, { writeConcern: { w: "majority", journal: true } });
    await ensureIndexes(db);
    const listener = await peer("stream", url, name, TOPIC);
    try {
      let seq = 0;
      return await medianDelay(listener, (sentAt) =>
        db.collection("events").insertOne({ topic: TOPIC, partition: 0, seq: ++seq, payload: { sentAt } }),
      );
    } finally {
      await ended(listener);
      await client.close();
    }
  });
}

function handledDelay(): Promise<number> {
  return withBus(async (bus, url, db) => {
    const listener = await peer("handle", url, db, TOPIC);
    try {
      return await medianDelay(listener, (sentAt) => bus.publish(TOPIC, { sentAt }));
    } finally {
      await ended(listener);
    }
  });
}

const INSERT_MANY = "insertMany of 1,000, bare driver";
const INSERT_MANY_KEYED = "insertMany of 1,000, keyed, bare driver";
const SPREADS = [
  { name: "publish to handled, one partition", topics: 1, partitions: 1 },
  { name: "publish to handled, 64 partitions", topics: 1, partitions: 64 },
  { name: "publish to handled, 500 topics, an event of each in turn", topics: 500, partitions: 1 },
] as const;
/** An event may cost 15 % more. */
const FLAT = 0.87;
const PUBLISH = "publish, window 1,024, one partition";
const PUBLISH_BATCHES = "publish, window 1,024, one partition, keyed, batch documents";
const CONTENDED = "three processes append to one partition, batches of 1,000";
const INSERT_ONE = "64 concurrent insertOne, bare driver";
const INSERT_WAVES = "insertMany of 64, one after the other, bare driver";
const PUBLISH_ONE = "64 concurrent publishers";
const PUBLISH_ONE_KEYED = "64 concurrent publishers, keyed topic";
const PUBLISH_ONE_BATCHES = "64 concurrent publishers, batch documents";
const SCAN = "page scan with find, bare driver";
const CATCH_UP = "catch-up consume";
const CATCH_UP_BATCHES = "catch-up consume, batch documents";
const STREAM_DELAY = "inserted to heard in another process, bare change stream, p50";
const HANDLED_DELAY = "published to handled in another process, p50";

export const suite: Suite = {
  name: "mongo",
  cases: [
    { name: INSERT_MANY, unit: "events/s", measure: () => insertManySteadily() },
    { name: PUBLISH, unit: "events/s", measure: () => publish(EVENTS, WINDOW) },
    { name: INSERT_MANY_KEYED, unit: "events/s", measure: () => insertManySteadily({ keyed: true }) },
    {
      name: PUBLISH_BATCHES,
      unit: "events/s",
      measure: () => publish(EVENTS, WINDOW, { layout: "batches", keyed: true }),
    },
    { name: CONTENDED, unit: "events/s", measure: contended },
    {
      name: INSERT_ONE,
      unit: "events/s",
      measure: () =>
        withCollection((events) => steadily(SINGLE, PUBLISHERS, (n) => events.insertOne(plainDocument(n)))),
    },
    { name: INSERT_WAVES, unit: "events/s", measure: () => insertManySteadily({ size: PUBLISHERS }) },
    { name: PUBLISH_ONE, unit: "events/s", measure: () => publish(GATHERED, PUBLISHERS) },
    {
      name: PUBLISH_ONE_KEYED,
      unit: "events/s",
      measure: () => publish(GATHERED, PUBLISHERS, { keyed: true }),
    },
    {
      name: PUBLISH_ONE_BATCHES,
      unit: "events/s",
      measure: () => publish(GATHERED, PUBLISHERS, { layout: "batches" }),
    },
    {
      name: SCAN,
      unit: "events/s",
      measure: () =>
        withCollection(async (events) => {
          await insertMany(events);
          return await perSecond(EVENTS, () => scan(events));
        }),
    },
    ...SPREADS.map(({ name, ...spread }) => ({
      name,
      unit: "events/s",
      measure: () => withDatabase((url, db) => spreadOver(url, db, spread)),
    })),
    { name: CATCH_UP, unit: "events/s", measure: () => catchUp() },
    { name: CATCH_UP_BATCHES, unit: "events/s", measure: () => catchUp({ layout: "batches" }) },
    { name: "given up, 64 keys", unit: "events/s", measure: givenUp },
    { name: STREAM_DELAY, unit: "ms", measure: streamDelay },
    { name: HANDLED_DELAY, unit: "ms", measure: handledDelay },
  ],
  ratios: [
    { name: "publish / insertMany", of: PUBLISH, to: INSERT_MANY, atLeast: 0.95 },
    { name: "three processes / insertMany", of: CONTENDED, to: INSERT_MANY, atLeast: 0.8 },
    { name: "64 publishers / 64 insertOne", of: PUBLISH_ONE, to: INSERT_ONE, atLeast: 12 },
    { name: "insertMany of 64 / 64 insertOne", of: INSERT_WAVES, to: INSERT_ONE },
    { name: "64 publishers, keyed topic / 64 insertOne", of: PUBLISH_ONE_KEYED, to: INSERT_ONE },
    {
      name: "publish in batches, keyed / insertMany, keyed",
      of: PUBLISH_BATCHES,
      to: INSERT_MANY_KEYED,
      atLeast: 2.5,
    },
    { name: "64 publishers in batches / 64 insertOne", of: PUBLISH_ONE_BATCHES, to: INSERT_ONE, atLeast: 12 },
    {
      name: "publish to handled, 64 partitions / one",
      of: SPREADS[1].name,
      to: SPREADS[0].name,
      atLeast: FLAT,
    },
    { name: "publish to handled, 500 topics / one", of: SPREADS[2].name, to: SPREADS[0].name, atLeast: FLAT },
    { name: "catch-up in batches / page scan", of: CATCH_UP_BATCHES, to: SCAN, atLeast: 0.8 },
    { name: "catch-up / page scan", of: CATCH_UP, to: SCAN, atLeast: 0.8 },
    { name: "published to handled / bare change stream", of: HANDLED_DELAY, to: STREAM_DELAY, atMost: 2 },
  ],
};
