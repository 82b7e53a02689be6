/** A sharded cluster: behind its router, the store's collections are whole, on one shard. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createBus } from "../../../src/bus/create-bus.js";
import { type CollectionChange, startMongoChangefeed } from "../../../src/mongo.js";
import type { Signal, Store } from "../../../src/ports/store.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { describeStore } from "../../../src/testing/conformance/index.js";
import { drafts, seqs } from "../../../src/testing/conformance/samples.js";
import { eventually } from "../../support/eventually.js";
import { storedLog } from "../../support/kept-history.js";
import { following } from "../../support/mongo/changefeed-bench.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { mongoFixture } from "../../support/mongo/fixture.js";
import { appendBeside } from "../../support/mongo/held-place.js";
import { admin } from "../../support/mongo/replica-set.js";
import { ShardedCluster } from "../../support/mongo/sharded-cluster.js";

const TOPIC = "orders";
let cluster: ShardedCluster;

beforeAll(async () => {
  cluster = await ShardedCluster.start();
});
afterAll(() => cluster?.dispose());

describeStore(mongoFixture({ server: "sharded", serverUrl: async () => cluster.url }));

describe("a store on a sharded cluster", () => {
  let database: TestDatabase;
  let store: Store;

  beforeEach(async () => {
    database = new TestDatabase(cluster.url);
    store = await database.open();
    await store.registry.defineTopic({ name: TOPIC, partitions: 4 });
  });
  afterEach(() => database.dispose());

  it("says that it goes through a router", () => {
    expect(store.name).toBe(`mongodb mongos/${database.name}`);
    expect(store.capabilities).toMatchObject({ transactions: true, changeFeed: true });
  });

  it("P2, P3: is refused where one of its collections is spread over shards", async () => {
    const spread = new TestDatabase(cluster.url);
    await admin(cluster.router, { shardCollection: `${spread.name}.events`, key: { topic: 1 } });
    const opening = spread.open();
    await expect(opening).rejects.toMatchObject({
      code: "STORE_INCOMPATIBLE",
      message: expect.stringContaining('"events" must not be sharded'),
    });
    await spread.dispose();
  });

  it("tells what other processes publish, though the change stream waits for a shard that is idle", async () => {
    const heard: Signal[] = [];
    const other = await database.open();
    const stop = other.watch?.((signal) => heard.push(signal));
    await eventually(() => heard.length > 0, "the stream is open");
    const first: string[] = [];
    for (let n = 0; n < 5; n++) {
      heard.length = 0;
      await store.log.append(TOPIC, 1, drafts(1, { freshId: true }));
      await eventually(() => heard.length > 0, "it is told");
      first.push(heard[0]?.type ?? "");
    }
    expect(first).toContain("any");
    stop?.();
  });

  it("P1, P3: of appends that a shard did not end in time, those that took place are found", async () => {
    const ALL = [0, 1, 2, 3];
    const append = (n: number) => store.log.append(TOPIC, n, drafts(2, { freshId: true }));
    await Promise.all(ALL.map(append));
    const { answers, meanwhile } = await appendBeside(database, {
      collection: "events",
      document: { topic: TOPIC, partition: 3, seq: 3 },
      partitions: ALL,
      deadlineMs: 30_000,
      append,
    });
    expect(meanwhile.has(3)).toBe(false);
    expect(answers.flatMap(({ error }) => error ?? [])).toEqual([]);
    for (const n of ALL) expect(seqs(await storedLog(store, TOPIC, n))).toEqual([1, 2, 3, 4]);
  });

  it("P1, P2, P3, P5, P15: goes on when its shard, or the router, was killed", async () => {
    const bus = await createBus({ store: mongoStore({ url: cluster.url, db: database.name }) });
    const handled = new Set<number>();
    await bus.subscribe<number>(TOPIC, "billing", ({ payload }) => void handled.add(payload));
    const shard = await cluster.shardOf(database.name);
    const publish = async (from: number): Promise<unknown> =>
      Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          bus.publish(TOPIC, from + n, { key: `k${n}`, id: `e${from + n}` }),
        ),
      );
    await publish(0);
    const cutOff = publish(50);
    await shard.killAll();
    await shard.startAll();
    await cutOff;
    const again = publish(100);
    await cluster.router.kill();
    await cluster.startRouter();
    await again;
    await eventually(() => handled.size === 150, "all are handled", 60_000);
    const logs = await Promise.all([0, 1, 2, 3].map((n) => storedLog(store, TOPIC, n)));
    for (const log of logs) expect(seqs(log)).toEqual(log.map((_, i) => i + 1));
    expect(logs.flat()).toHaveLength(150);
    await bus.close();
  });

  it("P12: a feed follows a collection that is spread over the shards", async () => {
    const name = `${database.name}.stock`;
    await admin(cluster.router, { shardCollection: name, key: { _id: "hashed" } });
    const bus = await createBus({ store: mongoStore({ url: cluster.url, db: database.name }) });
    const stock = database.db.collection<{ _id: number; left: number }>("stock");
    await stock.insertMany(Array.from({ length: 20 }, (_, _id) => ({ _id, left: _id })));
    const feed = startMongoChangefeed(database.db, bus, { collection: "stock", from: "earliest" });
    await following(feed);
    expect(feed.stats().published).toBe(20);
    await stock.updateOne({ _id: 7 }, { $set: { left: 0 } });
    await stock.deleteOne({ _id: 8 });
    await eventually(() => feed.stats().published === 22, "what changed is told", 60_000);
    const told: string[] = [];
    for await (const { payload } of bus.read<CollectionChange>("stock.changed"))
      if (payload.op !== "insert") told.push(`${payload.op} ${payload.id}`);
    expect(told.sort()).toEqual(["delete 8", "update 7"]);
    await feed.stop();
    await bus.close();
  });
});
