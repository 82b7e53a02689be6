/** Change feeds (P12) that lose their place in the log of a real server, or its connection. */
import { type Collection, type Document, Double, Long, MongoClient } from "mongodb";
import { describe, expect, it } from "vitest";
import { createBus } from "../../../src/bus/create-bus.js";
import { BusError } from "../../../src/model/errors.js";
import { startMongoChangefeed } from "../../../src/mongo.js";
import type { DocumentWrite } from "../../../src/ports/documents.js";
import { removeView } from "../../../src/project/view-removal.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import { gate } from "../../support/eventually.js";
import { failure } from "../../support/failure.js";
import { ChangefeedBench, following } from "../../support/mongo/changefeed-bench.js";
import { ReplicaSet } from "../../support/mongo/replica-set.js";

const bench = new ChangefeedBench();

describe("losing the place", () => {
  it("P12: after ChangeStreamHistoryLost, adds, changes and deletes are found by a scan and told in the audit", async () => {
    await bench.orders.insertMany([1, 2, 3].map((_id) => ({ _id, n: 0 })));
    const first = await bench.start();
    await bench.orders.insertOne({ _id: 4, n: 0 });
    await expect.poll(() => first.stats().published).toBe(1);
    await first.stop();
    await bench.orders.updateOne({ _id: 2 }, { $set: { n: 1 } });
    await bench.orders.deleteOne({ _id: 3 });
    await bench.orders.insertOne({ _id: 5, n: 0 });
    await bench.failNext(["aggregate"], 286);
    const second = await bench.start();
    await expect.poll(() => second.stats().reconciliations).toBe(1);
    expect(await bench.told()).toEqual(["insert 4", "replace 2", "insert 5", "delete 3"]);
    expect((await bench.published()).at(-1)?.payload).toMatchObject({ reconciled: true, _deleted: true });
    expect(await bench.reconciliations()).toMatchObject([
      { reason: "ChangeStreamHistoryLost", added: 1, changed: 1, deleted: 1, scanned: 4 },
    ]);
    await bench.orders.deleteOne({ _id: 1 });
    await expect.poll(() => bench.told()).toContain("delete 1");
    await second.stop();
  });

  it("P12: ids beyond the numbers of JavaScript are told apart, and documents that are there are not told gone", async () => {
    const [one, other, gone] = [0, 1, 2].map((i) => Long.fromString("9007199254740992").add(i)) as Long[];
    const ids = bench.orders as unknown as Collection<Document>;
    await ids.insertMany([{ _id: one }, { _id: other }, { _id: gone }] as never);
    await (await bench.start({ from: "earliest" })).stop();
    await ids.deleteOne({ _id: gone } as never);
    await bench.failNext(["aggregate"], 286);
    const feed = await bench.start();
    await expect
      .poll(() => bench.reconciliations())
      .toMatchObject([{ added: 0, changed: 0, deleted: 1, scanned: 2 }]);
    await feed.stop();
    expect(await bench.told()).toEqual([
      `insert ${one}`,
      `insert ${other}`,
      `insert ${gone}`,
      `delete ${gone}`,
    ]);
  });

  it("P12: nor are those told gone whose ids are doubles beyond 2^53", async () => {
    const ids = bench.orders as unknown as Collection<Document>;
    const large = [new Double(2 ** 60), { n: new Double(-(2 ** 63)) }];
    await ids.insertMany(large.map((_id) => ({ _id })) as never);
    await (await bench.start({ from: "earliest" })).stop();
    await bench.failNext(["aggregate"], 286);
    const feed = await bench.start();
    await expect
      .poll(() => bench.reconciliations())
      .toMatchObject([{ added: 0, changed: 0, deleted: 0, scanned: 2 }]);
    await feed.stop();
  });

  it.each([
    ["short", "a"],
    ["long", "a".repeat(300_000)],
  ])(
    "P12: what was published and not remembered when it crashed is told gone if it is, with %s ids",
    async (_, id) => {
      const failing = interceptStore(await bench.database.open(), {
        around: async ({ name, args }, proceed) => {
          const digests = name === "documents.write" ? (args[1] as readonly DocumentWrite[]) : [];
          if (digests.some((write) => write.op === "upsert" && write.fields["digest"] !== ""))
            throw new BusError("STORE_UNAVAILABLE", "not now");
          return proceed();
        },
      });
      const bus = await createBus({ store: failing });
      const crashing = await bench.start({}, bus);
      const orders = bench.orders as unknown as Collection<{ _id: string }>;
      await orders.insertOne({ _id: id });
      await expect.poll(async () => (await bench.published()).length).toBe(1);
      await crashing.stop();
      await bus.close();
      await orders.deleteOne({ _id: id });
      await bench.failNext(["aggregate"], 286);
      const feed = await bench.start();
      await expect.poll(() => bench.reconciliations()).toMatchObject([{ deleted: 1 }]);
      expect((await bench.published()).map(({ payload }) => payload.op)).toEqual(["insert", "delete"]);
      await feed.stop();
    },
  );

  it("P7, P12: what a feed remembers after another process took it over counts for nothing", async () => {
    const [asleep, awake, done] = [gate(), gate(), gate()];
    const store = interceptStore(await bench.database.open(), {
      around: async ({ name, args }, proceed) => {
        const writes = name === "documents.write" ? (args[1] as readonly DocumentWrite[]) : [];
        if (!writes.some(({ op }) => op === "delete")) return proceed();
        asleep.open();
        await awake.passed;
        return proceed().finally(done.open);
      },
    });
    const bus = await createBus({ store });
    const takeOverMs = 300;
    const sleeping = await bench.start({ takeOverMs }, bus);
    await bench.orders.insertOne({ _id: 1, n: 1 });
    await expect.poll(() => bench.told()).toEqual(["insert 1"]);
    await bench.orders.deleteOne({ _id: 1 });
    await asleep.passed;
    await bench.orders.insertOne({ _id: 1, n: 2 });
    const feed = await bench.start({ takeOverMs });
    await expect.poll(() => bench.told()).toEqual(["insert 1", "delete 1", "insert 1"]);
    await bench.orders.insertOne({ _id: 2 });
    const remembered = async (): Promise<number> =>
      (await bench.bus.store.documents.find(bench.stateView, { limit: 10 })).documents.length;
    await expect.poll(remembered).toBe(2);
    awake.open();
    await done.passed;
    await sleeping.stop();
    await bus.close();
    await feed.stop();
    await bench.orders.deleteOne({ _id: 1 });
    await bench.failNext(["aggregate"], 286);
    const next = await bench.start();
    await expect.poll(() => bench.reconciliations()).toMatchObject([{ deleted: 1 }]);
    expect((await bench.told()).at(-1)).toBe("delete 1");
    await next.stop();
  });

  it("P12: once its view is removed, the next start publishes all that is there anew, and goes on from there", async () => {
    await bench.orders.insertMany([1, 2, 3].map((_id) => ({ _id, n: 0 })));
    const first = await bench.start();
    await bench.orders.updateOne({ _id: 1 }, { $set: { n: 1 } });
    await expect.poll(() => first.stats().published).toBe(1);
    const view = bench.stateView;
    expect(await failure(removeView(bench.bus, view, { dryRun: true }))).toMatchObject({
      code: "WRITE_CONFLICT",
      message: expect.stringMatching(/^the change feed .*\.orders runs; stop it first$/),
    });
    await first.stop();
    const feeds = [view.slice("changefeed.".length)];
    const means = { view, documents: 3, others: [], feeds };
    expect(await removeView(bench.bus, view, { dryRun: true })).toEqual({ ...means, removed: false });
    expect(await removeView(bench.bus, view)).toEqual({ ...means, removed: true });
    const views = (await bench.bus.store.documents.views()).map((table) => table.view);
    expect(views).not.toContain(view);
    expect(await failure(removeView(bench.bus, view))).toMatchObject({ code: "NOT_FOUND" });
    await bench.orders.updateOne({ _id: 2 }, { $set: { n: 2 } });
    const second = await bench.start();
    await expect.poll(() => second.stats().reconciliations).toBe(1);
    expect(await bench.told()).toEqual(["update 1", "insert 1", "insert 2", "insert 3"]);
    expect(await bench.reconciliations()).toMatchObject([
      { reason: `${view} was removed`, added: 3, changed: 0, deleted: 0 },
    ]);
    await bench.orders.deleteOne({ _id: 3 });
    await expect.poll(() => bench.told()).toContain("delete 3");
    await second.stop();
    const third = await bench.start();
    expect(third.stats().reconciliations).toBe(0);
    await third.stop();
  });

  it("P12: a place lost in the middle is made good, and nothing that was published is published again", async () => {
    const feed = await bench.start();
    await bench.orders.insertMany([1, 2, 3].map((_id) => ({ _id })));
    await expect.poll(() => feed.stats().published).toBe(3);
    await bench.failNext(["getMore"], 286);
    await expect.poll(() => feed.stats().reconciliations).toBe(1);
    await bench.orders.insertOne({ _id: 4 });
    await expect.poll(() => bench.told()).toEqual(["insert 1", "insert 2", "insert 3", "insert 4"]);
    expect(await bench.reconciliations()).toMatchObject([{ added: 0, changed: 0, deleted: 0 }]);
    await feed.stop();
  });

  it("P12: a dropped collection means a delete for each document; one made anew is followed", async () => {
    await bench.orders.insertOne({ _id: 1 });
    const feed = await bench.start({ from: "earliest" });
    await bench.orders.insertOne({ _id: 2 });
    await expect.poll(() => feed.stats().published).toBe(2);
    await bench.orders.drop();
    await expect.poll(() => feed.stats().reconciliations).toBe(1);
    expect(await bench.told()).toEqual(["insert 1", "insert 2", "delete 1", "delete 2"]);
    expect(await bench.reconciliations()).toMatchObject([{ reason: "invalidate", deleted: 2 }]);
    await following(feed);
    await bench.orders.insertOne({ _id: 3 });
    await expect.poll(async () => (await bench.told()).at(-1)).toBe("insert 3");
    await feed.stop();
  });

  it("a lost connection is no lost place", async () => {
    const feed = await bench.start();
    await bench.orders.insertOne({ _id: 1 });
    await expect.poll(() => feed.stats().published).toBe(1);
    const failCommands = ["getMore", "aggregate"];
    await bench.failPoint.set(2, { failCommands, closeConnection: true, appName: bench.database.name });
    await bench.orders.insertOne({ _id: 2 });
    await expect.poll(() => bench.told()).toEqual(["insert 1", "insert 2"]);
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
      const first = startMongoChangefeed(db, bench.bus, { collection: "orders", from: "earliest" });
      await expect.poll(() => first.stats().published).toBe(2);
      await following(first);
      await first.stop();
      await collection.updateOne({ _id: 1 }, { $set: { n: 1 } });
      await collection.deleteOne({ _id: 2 });
      await collection.insertOne({ _id: 3, n: 0 });
      await overwriteLog(source);
      const second = startMongoChangefeed(db, bench.bus, { collection: "orders" });
      await expect.poll(() => second.stats().reconciliations, { timeout: 60_000 }).toBe(1);
      expect(await bench.told()).toEqual(["insert 1", "insert 2", "replace 1", "insert 3", "delete 2"]);
      expect(await bench.reconciliations()).toMatchObject([
        { reason: "ChangeStreamHistoryLost", added: 1, changed: 1, deleted: 1 },
      ]);
      await second.stop();
    } finally {
      await source.close();
    }
  });
});

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
