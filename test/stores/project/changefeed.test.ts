/** Change feeds (P12) on a real server: what is published of changes, in which order, and once. */
import { BSON, BSONRegExp, Long, MongoClient, ObjectId } from "mongodb";
import { describe, expect, it } from "vitest";
import { createBus } from "../../../src/bus/create-bus.js";
import { BusError } from "../../../src/model/errors.js";
import { defineTopic } from "../../../src/model/topic.js";
import { type CollectionChange, startMongoChangefeed } from "../../../src/mongo.js";
import { startChangelogProjector } from "../../../src/project/views/changelog.js";
import { memoryStore } from "../../../src/stores/memory/index.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import { ChangefeedBench, following } from "../../support/mongo/changefeed-bench.js";
import { insertBytes } from "../../support/mongo/insert-bytes.js";
import { StandaloneServer } from "../../support/mongo/replica-set.js";

const bench = new ChangefeedBench();

describe("following a collection", () => {
  it("P12: publishes every change in order, with the document, keyed by its id", async () => {
    const feed = await bench.start();
    await bench.orders.insertOne({ _id: 1, state: "new", at: new Date(0), by: new ObjectId("0".repeat(24)) });
    await bench.orders.updateOne({ _id: 1 }, { $set: { state: "paid" }, $unset: { by: "" } });
    await expect.poll(() => feed.stats().published).toBe(2);
    await bench.orders.replaceOne({ _id: 1 }, { state: "sent" });
    await bench.orders.deleteOne({ _id: 1 });
    await expect.poll(() => feed.stats().published).toBe(4);
    const [insert, update, replace, remove] = await bench.published();
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
    const first = await bench.start();
    await bench.orders.insertOne({ _id: 1 });
    await expect.poll(() => first.stats().published).toBe(1);
    await first.stop();
    await bench.orders.insertOne({ _id: 2 });
    await bench.orders.deleteOne({ _id: 1 });
    const second = await bench.start();
    await expect.poll(() => bench.told()).toEqual(["insert 1", "insert 2", "delete 1"]);
    await expect.poll(() => second.stats()).toMatchObject({ published: 2, reconciliations: 0 });
    await second.stop();
  });

  it("P12: a feed that forgot its last token publishes the same ids again, which adds nothing", async () => {
    const first = await bench.start();
    const { registry } = bench.bus.store;
    const name = `changefeed:${bench.database.name}.orders`;
    const before = await registry.token(name);
    await bench.orders.insertMany([{ _id: 1 }, { _id: 2 }]);
    await bench.orders.updateOne({ _id: 2 }, { $set: { n: 1 } });
    await expect.poll(() => first.stats().published).toBe(3);
    await first.stop();
    // Since its update was published the document changed: what is looked up now is not what was published.
    await bench.orders.updateOne({ _id: 2 }, { $set: { n: 2 } });
    const now = await registry.token(name);
    await registry.putToken(
      name,
      { ...(before?.value as object), owner: null },
      { expected: now?.revision ?? 0 },
    );
    const second = startMongoChangefeed(bench.client.db(bench.database.name), bench.bus, {
      collection: "orders",
      name: `${bench.database.name}.orders`,
    });
    await expect
      .poll(() => bench.told(), { timeout: 60_000 })
      .toEqual(["insert 1", "insert 2", "update 2", "update 2"]);
    await second.stop();
  });

  it("P12: what could not be remembered while more was published comes again, and adds nothing", async () => {
    const asked: string[] = [];
    const store = interceptStore(await bench.database.open(), {
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
    const feed = await bench.start({ batchSize: 2 }, failing);
    const ids = Array.from({ length: 9 }, (_, i) => i);
    await bench.orders.insertMany(ids.map((_id) => ({ _id })));
    await expect.poll(() => bench.told(), { timeout: 60_000 }).toEqual(ids.map((id) => `insert ${id}`));
    await expect
      .poll(
        async () => (await bench.bus.store.documents.find(bench.stateView, { limit: 100 })).documents.length,
      )
      .toBe(ids.length);
    await feed.stop();
    await failing.close();
  });

  it("publishes to a topic that is given by its definition as that says", async () => {
    const feed = await bench.start({ topic: defineTopic("shop.orders", { partitions: 3 }) });
    await bench.orders.insertOne({ _id: 1 });
    await expect.poll(() => feed.stats().published).toBe(1);
    expect(await bench.bus.topics()).toContainEqual({ name: "shop.orders", partitions: 3 });
    await feed.stop();
  });

  it("stops without waiting for the next change", async () => {
    const watched = new MongoClient(bench.database.url, { monitorCommands: true });
    const ended: string[] = [];
    let asked = 0;
    watched.on("commandStarted", ({ commandName }) => commandName === "getMore" && asked++);
    watched.on("commandFailed", ({ commandName }) => ended.push(commandName));
    const feed = startMongoChangefeed(watched.db(bench.database.name), bench.bus, { collection: "orders" });
    await expect.poll(() => asked).toBeGreaterThan(0);
    await feed.stop();
    expect(ended).toEqual(["getMore"]);
    await watched.close();
  });

  it("P12: keeps its place while its own collection is quiet", async () => {
    const feed = await bench.start();
    const name = `changefeed:${bench.database.name}.orders`;
    const before = await bench.bus.store.registry.token(name);
    await expect
      .poll(async () => {
        await bench.database.db.collection("others").insertOne({});
        return (await bench.bus.store.registry.token(name))?.revision;
      })
      .not.toBe(before?.revision);
    expect(feed.stats().changes).toBe(0);
    await feed.stop();
  });

  it("P12: reads documents as they are, whatever their fields are called and however the caller's client reads", async () => {
    const odd = new MongoClient(bench.database.urlWith(`appName=${bench.database.name}`), {
      useBigInt64: true,
    });
    const feed = startMongoChangefeed(odd.db(bench.database.name), bench.bus, { collection: "orders" });
    await following(feed);
    const fields = { constructor: [{ n: 1 }], toString: [[{ n: 2 }]], big: Long.MAX_VALUE };
    await bench.orders.insertOne({ _id: Long.ONE, small: Long.ONE, ...fields } as never);
    await expect.poll(() => bench.told()).toEqual(["insert 1"]);
    const [event] = await bench.published();
    expect(event?.payload.document).toEqual({ _id: 1, small: 1, ...fields, big: String(Long.MAX_VALUE) });
    // A scan reads the same of it as the stream did.
    await bench.failNext(["getMore"], 286);
    await expect
      .poll(() => bench.reconciliations())
      .toMatchObject([{ added: 0, changed: 0, deleted: 0, scanned: 1 }]);
    await feed.stop();
    await odd.close();
  });

  it("P12: nothing that other programs can write holds it up", async () => {
    const feed = await bench.start();
    const named = (kind: string) => ({ $arrayToObject: { $literal: [["_bsontype", kind]] } });
    const set = [{ $set: { by: named("ObjectID"), in: [{ at: named("Long") }] } }];
    await bench.orders.updateOne({ _id: 1 }, set, { upsert: true });
    await bench.orders.insertOne({ _id: 2, like: new BSONRegExp("(?i)a/b", "s"), plain: /a/i });
    const bytes = Buffer.from(BSON.serialize({ _id: 3, text: "no UTF-?" }));
    bytes[bytes.indexOf("?")] = 0xff;
    await insertBytes(bench.database.db, "orders", bytes);
    await expect.poll(() => bench.told()).toEqual(["insert 1", "insert 2", "insert 3"]);
    expect((await bench.published()).map(({ payload }) => payload.document)).toEqual([
      { _id: 1, by: { _bsontype: "ObjectID" }, in: [{ at: { _bsontype: "Long" } }] },
      { _id: 2, like: "/(?i)a/b/s", plain: "/a/i" },
      { _id: 3, text: "no UTF-\ufffd" },
    ]);
    // A scan reads the same of them as the stream did.
    await bench.failNext(["getMore"], 286);
    await expect
      .poll(() => bench.reconciliations())
      .toMatchObject([{ added: 0, changed: 0, deleted: 0, scanned: 3 }]);
    await feed.stop();
  });

  it("tells what a document was before, where the collection keeps it", async () => {
    await bench.database.db.createCollection("orders", { changeStreamPreAndPostImages: { enabled: true } });
    const feed = await bench.start();
    await bench.orders.insertOne({ _id: 1, n: 1 });
    await bench.orders.updateOne({ _id: 1 }, { $inc: { n: 1 } });
    await bench.orders.updateOne({ _id: 1 }, { $inc: { n: 1 } });
    await bench.orders.deleteOne({ _id: 1 });
    await expect.poll(() => feed.stats().published).toBe(4);
    const changes = (await bench.published()).map(({ payload }) => [payload.before?.n, payload.document?.n]);
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
    await bench.orders.insertMany([
      { _id: 1, n: 1 },
      { _id: 2, n: 2, secret: true },
    ]);
    const feed = await bench.start(
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
    await bench.orders.insertOne({ _id: 3, n: 3 });
    await bench.orders.deleteOne({ _id: 1 });
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
    const holding = await bench.start({ map });
    await bench.orders.insertMany([{ _id: 1 }, { _id: 2, bad: true }, { _id: 3 }]);
    const report = () => bench.bus.tasks.reports().find(({ kind }) => kind === "changefeed");
    await expect.poll(() => report()).toMatchObject({ state: "retrying", lastError: "cannot be told" });
    await holding.stop();
    const skipping = await bench.start({ map, onRefused: "skip" });
    await expect.poll(() => skipping.stats().skipped).toBe(1);
    await expect.poll(async () => (await bench.published()).map(({ key }) => key)).toEqual(["1", "3"]);
    const [audit] = await bench.bus.store.registry.audits({ limit: 1 });
    expect(audit).toMatchObject({
      action: "changefeed.skipped",
      details: { id: "2", error: "cannot be told" },
    });
    await skipping.stop();
  });

  it("is run by one process at a time; another takes over when it leaves", async () => {
    const first = await bench.start();
    const other = await createBus({ store: await bench.database.open() });
    const second = startMongoChangefeed(bench.client.db(bench.database.name), other, {
      collection: "orders",
    });
    await bench.orders.insertOne({ _id: 1 });
    await expect.poll(() => bench.told()).toEqual(["insert 1"]);
    expect(second.stats()).toMatchObject({ phase: "waiting", changes: 0 });
    await first.stop();
    await following(second);
    await bench.orders.insertOne({ _id: 2 });
    await expect.poll(() => bench.told()).toEqual(["insert 1", "insert 2"]);
    await second.stop();
    await other.close();
  });
});

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
