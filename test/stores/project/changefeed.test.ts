/** Change feeds (P12) on a real server: order, restarts, lost places, dropped collections. */
import { type Collection, type Document, Long, MongoClient, ObjectId } from "mongodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import { BusError } from "../../../src/model/errors.js";
import type { EventRecord } from "../../../src/model/event.js";
import type { Handle } from "../../../src/model/task.js";
import {
  type ChangefeedOptions,
  type ChangefeedStats,
  type CollectionChange,
  startMongoChangefeed,
} from "../../../src/mongo.js";
import { startChangelogProjector } from "../../../src/project/changelog.js";
import { memoryStore } from "../../../src/stores/memory/index.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { ReplicaSet, StandaloneServer } from "../../support/mongo/replica-set.js";

let database: TestDatabase;
let bus: Bus;
/** The feed's own client: failures can be aimed at it alone. */
let client: MongoClient;
const failPoint = new FailPoint(() => database.client);
let orders: Collection<Document & { _id: number }>;

beforeEach(async () => {
  database = await TestDatabase.create();
  client = new MongoClient(database.urlWith(`appName=${database.name}`));
  bus = await createBus({ store: await database.open() });
  await bus.defineTopic({ name: "orders.changed", partitions: 1 });
  orders = database.db.collection("orders");
});
afterEach(async () => {
  await failPoint.release();
  await bus.close();
  await client.close();
  await database.dispose();
});

type Feed = Handle<ChangefeedStats>;

async function start(options: Partial<ChangefeedOptions> = {}, on: Bus = bus): Promise<Feed> {
  const feed = startMongoChangefeed(client.db(database.name), on, { collection: "orders", ...options });
  await following(feed);
  return feed;
}

async function following(feed: Feed): Promise<void> {
  await expect.poll(() => feed.stats().phase).toBe("following");
}

async function published(topic = "orders.changed", on: Bus = bus): Promise<EventRecord<CollectionChange>[]> {
  const events: EventRecord<CollectionChange>[] = [];
  for await (const event of on.read<CollectionChange>(topic)) events.push(event);
  return events;
}

const told = async (topic?: string): Promise<string[]> =>
  (await published(topic)).map(({ payload }) => `${payload.op} ${payload.id}`);

const stateView = (): string => `changefeed.${database.name.toLowerCase()}.orders`;

async function reconciliations(): Promise<Document[]> {
  const entries = await bus.store.registry.audits({ limit: 100 });
  return entries
    .filter(({ action }) => action === "changefeed.reconciled")
    .map(({ details }) => details as Document);
}

describe("following a collection", () => {
  it("P12: publishes every change in order, with the document, keyed by its id", async () => {
    const feed = await start();
    await orders.insertOne({ _id: 1, state: "new", at: new Date(0), by: new ObjectId("0".repeat(24)) });
    await orders.updateOne({ _id: 1 }, { $set: { state: "paid" }, $unset: { by: "" } });
    await expect.poll(() => feed.stats().published).toBe(2);
    await orders.replaceOne({ _id: 1 }, { state: "sent" });
    await orders.deleteOne({ _id: 1 });
    await expect.poll(() => feed.stats().published).toBe(4);
    const [insert, update, replace, remove] = await published();
    expect(insert).toMatchObject({ key: "1", payload: { op: "insert", collection: "orders", id: "1" } });
    expect(insert?.payload.document).toEqual({
      _id: 1,
      state: "new",
      at: "1970-01-01T00:00:00.000Z",
      by: "0".repeat(24),
    });
    expect(update?.payload).toMatchObject({
      op: "update",
      updated: { state: "paid" },
      removed: ["by"],
      document: { state: "paid" },
    });
    expect(replace?.payload).toMatchObject({ op: "replace", document: { _id: 1, state: "sent" } });
    expect(remove?.payload).toMatchObject({ op: "delete", document: null, _deleted: true });
    await feed.stop();
  });

  it("P12: goes on after a restart with what happened meanwhile, and repeats nothing", async () => {
    const first = await start();
    await orders.insertOne({ _id: 1 });
    await expect.poll(() => first.stats().published).toBe(1);
    await first.stop();
    await orders.insertOne({ _id: 2 });
    await orders.deleteOne({ _id: 1 });
    const second = await start();
    await expect.poll(() => told()).toEqual(["insert 1", "insert 2", "delete 1"]);
    expect(second.stats()).toMatchObject({ published: 2, reconciliations: 0 });
    await second.stop();
  });

  it("P12: a feed that forgot its last token publishes the same ids again, which adds nothing", async () => {
    const first = await start();
    const { registry } = bus.store;
    const name = `changefeed:${database.name}.orders`;
    const before = await registry.token(name);
    await orders.insertMany([{ _id: 1 }, { _id: 2 }]);
    await orders.updateOne({ _id: 2 }, { $set: { n: 1 } });
    await expect.poll(() => first.stats().published).toBe(3);
    await first.stop();
    // Since its update was published the document changed: what is looked up now is not what was published.
    await orders.updateOne({ _id: 2 }, { $set: { n: 2 } });
    const now = await registry.token(name);
    await registry.putToken(
      name,
      { ...(before?.value as object), owner: null },
      { expected: now?.revision ?? 0 },
    );
    const second = startMongoChangefeed(client.db(database.name), bus, {
      collection: "orders",
      name: `${database.name}.orders`,
    });
    await expect
      .poll(() => told(), { timeout: 60_000 })
      .toEqual(["insert 1", "insert 2", "update 2", "update 2"]);
    await second.stop();
  });

  it("P12: what could not be remembered while more was published comes again, and adds nothing", async () => {
    const asked: string[] = [];
    const store = interceptStore(await database.open(), {
      around: async (call, proceed) => {
        if (call.name === "documents.write" || call.name === "log.append") asked.push(call.name);
        const isSecond = asked.filter((name) => name === "documents.write").length === 2;
        if (call.name !== "documents.write" || !isSecond) return proceed();
        // Not before the next batch is on its way to the log.
        await expect.poll(() => asked.at(-1)).toBe("log.append");
        throw new BusError("STORE_UNAVAILABLE", "not now");
      },
    });
    const failing = await createBus({ store });
    const feed = await start({ batchSize: 2 }, failing);
    const ids = Array.from({ length: 9 }, (_, i) => i);
    await orders.insertMany(ids.map((_id) => ({ _id })));
    await expect.poll(() => told(), { timeout: 60_000 }).toEqual(ids.map((id) => `insert ${id}`));
    await expect
      .poll(async () => (await bus.store.documents.find(stateView(), { limit: 100 })).documents.length)
      .toBe(ids.length);
    await feed.stop();
    await failing.close();
  });

  it("stops without waiting for the next change", async () => {
    const watched = new MongoClient(database.url, { monitorCommands: true });
    const ended: string[] = [];
    let asked = 0;
    watched.on("commandStarted", ({ commandName }) => commandName === "getMore" && asked++);
    watched.on("commandFailed", ({ commandName }) => ended.push(commandName));
    const feed = startMongoChangefeed(watched.db(database.name), bus, { collection: "orders" });
    await expect.poll(() => asked).toBeGreaterThan(0);
    await feed.stop();
    expect(ended).toEqual(["getMore"]);
    await watched.close();
  });

  it("P12: keeps its place while its own collection is quiet", async () => {
    const feed = await start();
    const name = `changefeed:${database.name}.orders`;
    const before = await bus.store.registry.token(name);
    await expect
      .poll(async () => {
        await database.db.collection("others").insertOne({});
        return (await bus.store.registry.token(name))?.revision;
      })
      .not.toBe(before?.revision);
    expect(feed.stats().changes).toBe(0);
    await feed.stop();
  });

  it("P12: reads documents as they are, whatever their fields are called and however the caller's client reads", async () => {
    const odd = new MongoClient(database.urlWith(`appName=${database.name}`), { useBigInt64: true });
    const feed = startMongoChangefeed(odd.db(database.name), bus, { collection: "orders" });
    await following(feed);
    const fields = { constructor: [{ n: 1 }], toString: [[{ n: 2 }]], big: Long.MAX_VALUE };
    await orders.insertOne({ _id: Long.ONE, small: Long.ONE, ...fields } as never);
    await expect.poll(() => told()).toEqual(["insert 1"]);
    const [event] = await published();
    expect(event?.payload.document).toEqual({ _id: 1, small: 1, ...fields, big: String(Long.MAX_VALUE) });
    // A scan reads the same of it as the stream did.
    await failNext(["getMore"], 286);
    await expect.poll(reconciliations).toMatchObject([{ added: 0, changed: 0, deleted: 0, scanned: 1 }]);
    await feed.stop();
    await odd.close();
  });

  it("tells what a document was before, where the collection keeps it", async () => {
    await database.db.createCollection("orders", { changeStreamPreAndPostImages: { enabled: true } });
    const feed = await start();
    await orders.insertOne({ _id: 1, n: 1 });
    await orders.updateOne({ _id: 1 }, { $inc: { n: 1 } });
    await orders.updateOne({ _id: 1 }, { $inc: { n: 1 } });
    await orders.deleteOne({ _id: 1 });
    await expect.poll(() => feed.stats().published).toBe(4);
    const changes = (await published()).map(({ payload }) => [payload.before?.n, payload.document?.n]);
    expect(changes).toEqual([
      [undefined, 1],
      [1, 2],
      [2, 3],
      [3, undefined],
    ]);
    await feed.stop();
  });

  it("filters, maps and feeds a view, also from a store that is not MongoDB", async () => {
    const local = await createBus({ store: memoryStore() });
    await orders.insertMany([
      { _id: 1, n: 1 },
      { _id: 2, n: 2, secret: true },
    ]);
    const feed = await start(
      {
        topic: "shop.orders",
        from: "earliest",
        filter: ({ document }) => document?.secret !== true,
        map: ({ document }) => document && { n: document.n },
      },
      local,
    );
    const projector = await startChangelogProjector(local, { topic: "shop.orders", view: "orders" });
    await expect.poll(async () => (await local.view("orders").find()).items.map(({ n }) => n)).toEqual([1]);
    await orders.insertOne({ _id: 3, n: 3 });
    await orders.deleteOne({ _id: 1 });
    await expect.poll(async () => (await local.view("orders").find()).items.map(({ n }) => n)).toEqual([3]);
    expect(feed.stats()).toMatchObject({ filtered: 1, published: 3 });
    await projector.stop();
    await feed.stop();
    await local.close();
  });

  it("holds at a change that cannot be published, or leaves it out if told so, never in silence", async () => {
    const map = ({ document }: CollectionChange): unknown => {
      if (document?.bad === true) throw new Error("cannot be told");
      return document;
    };
    const holding = await start({ map });
    await orders.insertMany([{ _id: 1 }, { _id: 2, bad: true }, { _id: 3 }]);
    const report = () => bus.tasks.reports().find(({ kind }) => kind === "changefeed");
    await expect.poll(() => report()).toMatchObject({ state: "retrying", lastError: "cannot be told" });
    await holding.stop();
    const skipping = await start({ map, onRefused: "skip" });
    await expect.poll(() => skipping.stats().skipped).toBe(1);
    await expect.poll(async () => (await published()).map(({ key }) => key)).toEqual(["1", "3"]);
    const [audit] = await bus.store.registry.audits({ limit: 1 });
    expect(audit).toMatchObject({
      action: "changefeed.skipped",
      details: { id: "2", error: "cannot be told" },
    });
    await skipping.stop();
  });

  it("is run by one process at a time; another takes over when it leaves", async () => {
    const first = await start();
    const other = await createBus({ store: await database.open() });
    const second = startMongoChangefeed(client.db(database.name), other, { collection: "orders" });
    await orders.insertOne({ _id: 1 });
    await expect.poll(() => told()).toEqual(["insert 1"]);
    expect(second.stats()).toMatchObject({ phase: "waiting", changes: 0 });
    await first.stop();
    await following(second);
    await orders.insertOne({ _id: 2 });
    await expect.poll(() => told()).toEqual(["insert 1", "insert 2"]);
    await second.stop();
    await other.close();
  });
});

describe("losing the place", () => {
  it("P12: after ChangeStreamHistoryLost, adds, changes and deletes are found by a scan and told in the audit", async () => {
    await orders.insertMany([1, 2, 3].map((_id) => ({ _id, n: 0 })));
    const first = await start();
    await orders.insertOne({ _id: 4, n: 0 });
    await expect.poll(() => first.stats().published).toBe(1);
    await first.stop();
    await orders.updateOne({ _id: 2 }, { $set: { n: 1 } });
    await orders.deleteOne({ _id: 3 });
    await orders.insertOne({ _id: 5, n: 0 });
    await failNext(["aggregate"], 286);
    const second = await start();
    await expect.poll(() => second.stats().reconciliations).toBe(1);
    expect(await told()).toEqual(["insert 4", "replace 2", "insert 5", "delete 3"]);
    expect((await published()).at(-1)?.payload).toMatchObject({ reconciled: true, _deleted: true });
    expect(await reconciliations()).toMatchObject([
      { reason: "ChangeStreamHistoryLost", added: 1, changed: 1, deleted: 1, scanned: 4 },
    ]);
    await orders.deleteOne({ _id: 1 });
    await expect.poll(() => told()).toContain("delete 1");
    await second.stop();
  });

  it("P12: ids beyond the numbers of JavaScript are told apart, and documents that are there are not told gone", async () => {
    const [one, other, gone] = [0, 1, 2].map((i) => Long.fromString("9007199254740992").add(i)) as Long[];
    const ids = orders as unknown as Collection<Document>;
    await ids.insertMany([{ _id: one }, { _id: other }, { _id: gone }] as never);
    await (await start({ from: "earliest" })).stop();
    await ids.deleteOne({ _id: gone } as never);
    await failNext(["aggregate"], 286);
    const feed = await start();
    await expect.poll(reconciliations).toMatchObject([{ added: 0, changed: 0, deleted: 1, scanned: 2 }]);
    await feed.stop();
    expect(await told()).toEqual([`insert ${one}`, `insert ${other}`, `insert ${gone}`, `delete ${gone}`]);
  });

  it("P12: a place lost in the middle is made good, and nothing that was published is published again", async () => {
    const feed = await start();
    await orders.insertMany([1, 2, 3].map((_id) => ({ _id })));
    await expect.poll(() => feed.stats().published).toBe(3);
    await failNext(["getMore"], 286);
    await expect.poll(() => feed.stats().reconciliations).toBe(1);
    await orders.insertOne({ _id: 4 });
    await expect.poll(() => told()).toEqual(["insert 1", "insert 2", "insert 3", "insert 4"]);
    expect(await reconciliations()).toMatchObject([{ added: 0, changed: 0, deleted: 0 }]);
    await feed.stop();
  });

  it("P12: a dropped collection means a delete for each document; one made anew is followed", async () => {
    await orders.insertOne({ _id: 1 });
    const feed = await start({ from: "earliest" });
    await orders.insertOne({ _id: 2 });
    await expect.poll(() => feed.stats().published).toBe(2);
    await orders.drop();
    await expect.poll(() => feed.stats().reconciliations).toBe(1);
    expect(await told()).toEqual(["insert 1", "insert 2", "delete 1", "delete 2"]);
    expect(await reconciliations()).toMatchObject([{ reason: "invalidate", deleted: 2 }]);
    await following(feed);
    await orders.insertOne({ _id: 3 });
    await expect.poll(async () => (await told()).at(-1)).toBe("insert 3");
    await feed.stop();
  });

  it("a lost connection is no lost place", async () => {
    const feed = await start();
    await orders.insertOne({ _id: 1 });
    await expect.poll(() => feed.stats().published).toBe(1);
    await client.db("admin").command({
      configureFailPoint: "failCommand",
      mode: { times: 2 },
      data: { failCommands: ["getMore", "aggregate"], closeConnection: true, appName: database.name },
    });
    await orders.insertOne({ _id: 2 });
    await expect.poll(() => told()).toEqual(["insert 1", "insert 2"]);
    expect(feed.stats().reconciliations).toBe(0);
    await feed.stop();
  });

  it("P12: a log of the server's that is too small to reach back is found out and made good", async () => {
    await using server = await ReplicaSet.start({ oplogMb: 1 });
    const source = new MongoClient(server.url);
    const db = source.db("shop");
    const collection = db.collection<Document & { _id: number }>("orders");
    try {
      await collection.insertMany([
        { _id: 1, n: 0 },
        { _id: 2, n: 0 },
      ]);
      const first = startMongoChangefeed(db, bus, { collection: "orders", from: "earliest" });
      await expect.poll(() => first.stats().published).toBe(2);
      await following(first);
      await first.stop();
      await collection.updateOne({ _id: 1 }, { $set: { n: 1 } });
      await collection.deleteOne({ _id: 2 });
      await collection.insertOne({ _id: 3, n: 0 });
      await overwriteLog(source);
      const second = startMongoChangefeed(db, bus, { collection: "orders" });
      await expect.poll(() => second.stats().reconciliations, { timeout: 60_000 }).toBe(1);
      expect(await told()).toEqual(["insert 1", "insert 2", "replace 1", "insert 3", "delete 2"]);
      expect(await reconciliations()).toMatchObject([
        { reason: "ChangeStreamHistoryLost", added: 1, changed: 1, deleted: 1 },
      ]);
      await second.stop();
    } finally {
      await source.close();
    }
  });
});

function failNext(failCommands: readonly string[], errorCode: number): Promise<void> {
  return failPoint.set(1, { failCommands, errorCode, appName: database.name });
}

/** Writes until the server has forgotten what it knew when this began. */
async function overwriteLog(source: MongoClient): Promise<void> {
  const log = source.db("local").collection("oplog.rs");
  const last = await log.find().sort({ $natural: -1 }).limit(1).next();
  const noise = source.db("shop").collection("noise");
  await expect
    .poll(
      async () => {
        const documents = Array.from({ length: 100 }, () => ({ text: "x".repeat(100_000) }));
        await noise.insertMany(documents, { writeConcern: { w: 1, journal: false } });
        return await log.findOne({ ts: last?.ts });
      },
      { timeout: 90_000, interval: 200 },
    )
    .toBe(null);
}

describe("on a standalone server", () => {
  it("says that it needs a replica set, and publishes nothing", async () => {
    const server = await StandaloneServer.start();
    const alone = new MongoClient(server.url);
    const other = await createBus({ store: memoryStore() });
    const lone = startMongoChangefeed(alone.db("shop"), other, { collection: "orders", from: "earliest" });
    try {
      await alone.db("shop").collection("orders").insertOne({ n: 1 });
      await expect
        .poll(() => other.tasks.reports())
        .toMatchObject([{ state: "retrying", lastError: expect.stringContaining("replica set") }]);
      expect(lone.stats()).toMatchObject({ published: 0 });
    } finally {
      await lone.stop();
      await other.close();
      await alone.close();
      await server.dispose();
    }
  });
});
