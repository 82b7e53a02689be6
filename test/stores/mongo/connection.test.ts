/** What a user is told when MongoDB is not there, not willing, or goes away; and that it all goes on by itself. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { MongoClient } from "mongodb";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { nextTurn } from "../../../src/model/next-turn.js";
import { MongoCursorStore, MongoEventStore, mongoStore } from "../../../src/stores/mongo/index.js";
import { drafts, seqs } from "../../../src/testing/conformance/samples.js";
import { faultyStore } from "../../../src/testing/faulty-store/index.js";
import { failure } from "../../support/failure.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { freePort, NodeProcess } from "../../support/mongo/node-process.js";
import { NotedClient } from "../../support/mongo/noted-client.js";
import { ReplicaSet } from "../../support/mongo/replica-set.js";

function caught(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    return error as Error;
  }
  throw new Error("it did not throw");
}

describe("an address that leads nowhere", () => {
  it("no server: STORE_UNAVAILABLE, retryable, in the time the address allows", async () => {
    const url = `mongodb://127.0.0.1:${await freePort()}/?serverSelectionTimeoutMS=200`;
    const error = await failure(mongoStore({ url, db: "x" }).open());
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
    expect(error.message).toContain("check that it runs");
  });

  it("a name that no DNS knows: said so, with the name", async () => {
    const error = await failure(mongoStore({ url: "mongodb+srv://nowhere.invalid/x" }).open());
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
    expect(error.message).toMatch(/DNS.*nowhere\.invalid/);
  });

  it("an address that is none, and none at all: INVALID_OPTION", () => {
    expect(() => mongoStore({ url: "localhost:27017" })).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION" }),
    );
    expect(() => mongoStore({})).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
  });

  it.each([
    ["mongodb://me:s3@cret:x/y@localhost/db", "%40"],
    ["mongodb://me:s3cret?@localhost/db", "%40"],
    ["mongodb://me:s3cret%zz@localhost/db", "%40"],
    ["mongodb://me:s3cret@localhost/db?nonsense=1", "nonsense"],
  ])("%s: said what is wrong with it, and nothing of the password", (url, words) => {
    const thrown = caught(() => mongoStore({ url }));
    expect(thrown).toMatchObject({ code: "INVALID_OPTION" });
    expect(thrown.message).toContain(words);
    expect(inspect(thrown, { depth: 20 }).replace(/\n +at .*/g, "")).not.toMatch(/s3|cret/);
  });

  it("options that MongoDB would refuse, each said before anything is asked of a server", () => {
    const url = "mongodb://localhost:1";
    const wrong = [
      undefined,
      { url: 5 },
      { url: "" },
      { client: {} },
      ...["", "a b", "a/b", "x".repeat(64), 5, "admin", "\ud800"].map((db) => ({ url, db })),
      ...["a.b", "a%20b", "a$b", "x".repeat(64), "local"].map((db) => ({ url: `${url}/${db}` })),
      ...["a$b", "system.", "a.system.", ".a", "ä".repeat(31), 5].map((prefix) => ({ url, prefix })),
      ...[{ dbName: "shop" }, { onWarning: "log" }, { queryablePayloads: "no" }].map((o) => ({ url, ...o })),
    ];
    for (const options of wrong)
      expect(() => mongoStore(options as never), JSON.stringify(options)).toThrow(
        expect.objectContaining({ code: "INVALID_OPTION" }),
      );
  });
});

it("a server whose replica set was never begun: said so, with the command", async () => {
  const dir = await mkdtemp(join(tmpdir(), "promethean-mongo-"));
  const node = new NodeProcess({ dir: join(dir, "node"), port: await freePort(), replSet: "rs0" });
  await node.start();
  try {
    for (const set of ["", "&replicaSet=rs0"]) {
      const url = `mongodb://${node.address}/shop?serverSelectionTimeoutMS=500${set}`;
      await expect
        .poll(() => failure(mongoStore({ url }).open()))
        .toMatchObject({ code: "STORE_UNAVAILABLE", message: expect.stringContaining("rs.initiate()") });
    }
  } finally {
    await node.dispose();
    await rm(dir, { recursive: true, force: true });
  }
});

describe("on a server that runs", () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await TestDatabase.create();
  });
  afterEach(() => database.dispose());

  it("wrong credentials: said so, and not worth a retry", async () => {
    const url = database.url.replace("mongodb://", "mongodb://nobody:wrong@");
    const error = await failure(mongoStore({ url, db: "x" }).open());
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: false });
    expect(error.message).toContain("credentials");
    expect(error.message).not.toContain("wrong@");
  });

  it.each([
    ["?replicaSet=other&serverSelectionTimeoutMS=500", "STORE_UNAVAILABLE", true, 'the replica set "other"'],
    ["?tls=true&serverSelectionTimeoutMS=500", "STORE_UNAVAILABLE", true, "TLS"],
    ["?tls=true&tlsCAFile=/not/there.pem", "INVALID_OPTION", false, "/not/there.pem"],
    ["?compressors=snappy", "INVALID_OPTION", false, "snappy"],
    ["?loadBalanced=true", "STORE_INCOMPATIBLE", false, "loadBalanced"],
    ["?authMechanism=MONGODB-AWS", "INVALID_OPTION", false, "@aws-sdk"],
    [
      "?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:test",
      "STORE_UNAVAILABLE",
      true,
      "authMechanism",
    ],
  ])("an address with %s: said which part of it", async (options, code, retryable, words) => {
    const url = `mongodb://${new URL(database.url.replace("mongodb://", "http://")).host}/x${options}`;
    const error = await failure(mongoStore({ url }).open());
    expect(error).toMatchObject({ code, retryable });
    expect(error.message).toContain(words);
  });

  it("an address that prefers others for reading is read from the primary all the same", async () => {
    const url = database.urlWith("readPreference=secondary&readConcernLevel=local&w=0");
    const store = await database.open({ url });
    await store.registry.defineTopic({ name: "orders", partitions: 1 });
    expect(seqs((await store.log.append("orders", 0, drafts(2))).events)).toEqual([1, 2]);
    expect(seqs((await store.log.read("orders", 0, { after: 0, limit: 9 })).events)).toEqual([1, 2]);
  });

  it.each([
    ["members", { name: "Ada", expiresAt: new Date(0) }],
    ["events", { title: "a concert" }],
    ["tokens", { token: "x" }],
  ])(
    "a database that has %s of somebody else's: STORE_INCOMPATIBLE, and nothing is done to them",
    async (name, theirs) => {
      await database.db.collection(name).insertOne({ ...theirs });
      const error = await failure(database.open());
      expect(error).toMatchObject({ code: "STORE_INCOMPATIBLE" });
      expect(error.message).toContain(`"${name}"`);
      expect(await database.db.collection(name).indexes()).toHaveLength(1);
      await database.open({ prefix: "bus_" });
    },
  );

  it("a name that differs from another database's in case alone: INVALID_OPTION", async () => {
    await database.open();
    const error = await failure(database.open({ db: database.name.toUpperCase() }));
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
  });

  it("a client of the caller's is used as it is, with our concern levels, and stays open", async () => {
    const client = new MongoClient(database.url, { writeConcern: { w: 1 }, promoteLongs: false });
    const noted = new NotedClient(database.url, { writeConcern: { w: 0 } });
    try {
      for (const c of [client, noted.client]) {
        const store = mongoStore({ client: c, db: database.name });
        await store.open();
        await store.registry.defineTopic({ name: "orders", partitions: 1 });
        noted.forget();
        expect((await store.log.append("orders", 0, drafts(1))).error).toBeUndefined();
        expect((await store.log.read("orders", 0, { after: 0, limit: 9 })).through).toBeGreaterThan(0);
        await store.close();
        expect(await c.db(database.name).collection("events").countDocuments()).toBeGreaterThan(0);
      }
      const writes = noted.commands.filter(({ writeConcern }) => writeConcern !== undefined);
      expect(writes).toMatchObject([{ writeConcern: { w: "majority", j: true } }]);
      expect(writes[0]).not.toHaveProperty("readConcern");
      expect(noted.commands.some(({ readConcern }) => readConcern?.level === "majority")).toBe(true);
    } finally {
      await client.close();
      await noted.close();
    }
  });

  it("a client of the caller's may want raw documents, and be held to version 1 of the server's interface", async () => {
    const serverApi = { version: "1", strict: true, deprecationErrors: true } as const;
    const client = new MongoClient(database.url, { raw: true, serverApi });
    const store = await database.open({ client });
    const member = { member: "m", host: "h", pid: 1, processStart: "" };
    await store.groups.open(member, { nowMs: 0, ttlMs: 60_000 });
    const document = { op: "upsert", key: "a", fields: { n: 1 }, ts: 1 } as const;
    const unit = { writes: [{ view: "v", writes: [document] }] };
    expect(await store.documents.transact(unit)).toEqual({ applied: 1, stale: 0 });
    expect((await store.documents.get("v", ["a"])).get("a")?.fields).toEqual({ n: 1 });
    await store.registry.defineTopic({ name: "orders", partitions: 1, layout: "batches", keyed: true });
    await store.log.append("orders", 0, drafts(2, { key: "k" }));
    expect((await store.log.latestByKey("orders", ["k"])).get("k")?.seq).toBe(2);
    await store.close();
    await client.close();
  });

  it("a call that gets no connection, since all are in use, is told so in time", async () => {
    const url = database.urlWith(`maxPoolSize=1&waitQueueTimeoutMS=1000&appName=${database.name}`);
    const store = await database.open({ url });
    const failPoint = new FailPoint(() => database.client);
    try {
      const slow = { failCommands: ["find"], blockConnection: true, blockTimeMS: 4_000 };
      await failPoint.set(1, { ...slow, appName: database.name });
      const blocked = store.registry.topics();
      const refused = await failure(store.registry.topics());
      expect(refused).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
      expect(await blocked).toEqual([]);
    } finally {
      await failPoint.release();
    }
  });

  it.each(["documents", "batches"] as const)(
    "P1, P3: a client that its owner closes in the middle of an append to %s leaves it unknown, not failed",
    async (layout) => {
      const client = new MongoClient(database.urlWith(`appName=${database.name}`), { monitorCommands: true });
      const store = await database.open({ client });
      await store.registry.defineTopic({ name: "orders", partitions: 1, layout });
      await store.log.append("orders", 0, drafts(1));
      const failPoint = new FailPoint(() => database.client);
      try {
        const slow = { failCommands: ["insert"], blockConnection: true, blockTimeMS: 1_000 };
        await failPoint.set(1, { ...slow, appName: database.name });
        const sent = new Promise<void>((resolve) => {
          client.on("commandStarted", ({ commandName }) => commandName === "insert" && resolve());
        });
        const appending = store.log.append("orders", 0, drafts(1));
        await sent;
        // The driver waits for ever for a command that it closes before it has begun to wait for its answer.
        await nextTurn();
        await client.close();
        expect((await appending).error).toMatchObject({ code: "OUTCOME_UNKNOWN" });
        const { error } = await store.log.append("orders", 0, drafts(1));
        expect(error).toMatchObject({ code: "CLOSED" });
      } finally {
        await failPoint.release();
      }
    },
  );

  it("two stores with prefixes share a database and nothing else", async () => {
    const [a, b] = [await database.open({ prefix: "a_" }), await database.open({ prefix: "b_" })];
    await a.registry.defineTopic({ name: "orders", partitions: 1 });
    await a.log.append("orders", 0, drafts(1));
    await a.documents.write("v", [{ op: "upsert", key: "k", ts: 1, fields: {} }]);
    expect(await b.registry.topics()).toEqual([]);
    expect(await b.documents.views()).toEqual([]);
    const names = (await database.db.listCollections().toArray()).map(({ name }) => name);
    expect(names.every((name) => /^[ab]_/.test(name))).toBe(true);
  });

  it("payloads can be queried by hand if the store is told to keep them so", async () => {
    const store = await database.open({ queryablePayloads: true });
    await store.registry.defineTopic({ name: "orders", partitions: 1 });
    await store.log.append("orders", 0, drafts(3));
    const events = database.db.collection("events");
    expect(await events.countDocuments({ "body.n": { $gte: 2 } })).toBe(2);
    const page = await store.log.read("orders", 0, { after: 0, limit: 9 });
    expect(page.events.map((event) => event.record.payload)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  it("the small stores of the first days work on a bare database", async () => {
    await MongoEventStore.ensureIndexes(database.db);
    const events = new MongoEventStore(database.db);
    const cursors = new MongoCursorStore(database.db);
    await events.insert({ id: "e1", topic: "orders", ts: 1, key: "k", payload: { n: 1 } });
    await events.insert({ id: "e2", topic: "orders", ts: 2, key: "k", payload: { n: 2 } });
    expect((await events.scan("orders", {})).map((event) => event.id)).toEqual(["e1", "e2"]);
    expect((await events.scan("orders", { afterId: "e1" })).map((event) => event.id)).toEqual(["e2"]);
    expect((await events.latestByKey("orders", ["k"])).k?.id).toBe("e2");
    await cursors.set("orders", "g", { topic: "orders", lastId: "e1" });
    expect(await cursors.get("orders", "g")).toMatchObject({ lastId: "e1" });
    expect(await events.scan("orders")).toHaveLength(2);
  });

  it("the small stores take the name of their collection, of which only the beginning is free", async () => {
    const shop = new MongoEventStore(database.db, "shop_events");
    await shop.insert({ id: "e1", topic: "orders", ts: 1, payload: 1 });
    expect(await database.db.collection("shop_events").countDocuments()).toBe(1);
    expect(await new MongoEventStore(database.db, { prefix: "shop_" }).scan("orders")).toHaveLength(1);
    expect(await new MongoEventStore(database.db, "events").scan("orders")).toEqual([]);
    expect(() => new MongoCursorStore(database.db, "places")).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION" }),
    );
  });
});

describe("a server that goes away", () => {
  it("P15: calls fail as STORE_UNAVAILABLE or OUTCOME_UNKNOWN meanwhile, and go on without a restart", async () => {
    await using set = await ReplicaSet.start();
    const store = mongoStore({ url: `${set.url}&serverSelectionTimeoutMS=2000`, db: "x" });
    await store.open();
    try {
      await store.registry.defineTopic({ name: "orders", partitions: 1 });
      await store.log.append("orders", 0, drafts(2));
      await set.killAll();
      expect(await failure(store.registry.topics())).toMatchObject({
        code: "STORE_UNAVAILABLE",
        retryable: true,
      });
      const lost = drafts(1);
      const { error } = await store.log.append("orders", 0, lost);
      expect(["STORE_UNAVAILABLE", "OUTCOME_UNKNOWN"]).toContain(error?.code);
      await set.startAll();
      const again = await vi.waitFor(
        async () => {
          const result = await store.log.append("orders", 0, lost);
          if (result.error !== undefined) throw result.error;
          return result;
        },
        { timeout: 40_000, interval: 100 },
      );
      expect(seqs(again.events)).toEqual([3]);
    } finally {
      await store.close();
    }
  }, 60_000);
});

it("a store that is wrapped before it is opened says of itself what it does once it is open", async () => {
  const database = await TestDatabase.create();
  const plain = mongoStore({ url: database.url, db: database.name });
  const wrapped = faultyStore(plain, { call: () => null });
  try {
    const before = wrapped.name;
    await wrapped.open();
    expect(wrapped.name).not.toBe(before);
    expect(wrapped.name).toBe(plain.name);
  } finally {
    await wrapped.close();
    await database.dispose();
  }
});
