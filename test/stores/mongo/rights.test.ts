/**
 * A server that asks for users, and users who may do little: what a store needs, what it says when it lacks a right, and that
 * no password shows anywhere. docs/stores/mongo.md, "Users and rights", says the same.
 */
import { inspect } from "node:util";
import { MongoClient } from "mongodb";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import { startMongoChangefeed } from "../../../src/mongo.js";
import type { Store } from "../../../src/ports/store.js";
import { startTransactionalProjector } from "../../../src/project/views/transactional.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { describeUnits } from "../../../src/testing/conformance/document-units.js";
import { upsert } from "../../../src/testing/conformance/document-writes.js";
import { describeFences } from "../../../src/testing/conformance/group-fencing.js";
import { sharedStore } from "../../../src/testing/conformance/harness.js";
import { describeRemoval } from "../../../src/testing/conformance/log-removal.js";
import { describeWatch } from "../../../src/testing/conformance/log-watch.js";
import { drafts } from "../../../src/testing/conformance/samples.js";
import { gate } from "../../support/eventually.js";
import { failure } from "../../support/failure.js";
import { mongoFixture } from "../../support/mongo/fixture.js";
import { GuardedServer, PASSWORD, type Rights } from "../../support/mongo/guarded-server.js";
import { newDatabaseName } from "../../support/mongo/shared-server.js";
import { TAKING_OVER_MS, takesOver } from "../../support/mongo/taking-over.js";

/** What the documentation lists for those who give no role but single rights. */
const ACTIONS = [
  ...["find", "insert", "update", "remove", "createIndex", "changeStream"],
  ...["listCollections", "listIndexes", "dropCollection"],
];

let server: GuardedServer;
const opened: (Bus | Store)[] = [];
let warnings: string[] = [];

beforeAll(async () => {
  server = await GuardedServer.start();
});
afterAll(() => server?.dispose());
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  warnings = [];
});

const onDatabase = (db: string, actions: readonly string[]) => ({
  resource: { db, collection: "" },
  actions,
});
const killAnySession = { resource: { cluster: true }, actions: ["killAnySession"] };

async function userUrl(rights: Rights): Promise<string> {
  return server.urlOf(await server.addUser(rights));
}

function storeOf(url: string, db: string): Store {
  return mongoStore({ url, db, onWarning: (message) => warnings.push(message) });
}

async function open(url: string, db: string): Promise<Store> {
  const store = storeOf(url, db);
  opened.push(store);
  await store.open();
  return store;
}

async function openBus(url: string, db: string): Promise<Bus> {
  const bus = await createBus({ store: storeOf(url, db), topics: [{ name: "orders", partitions: 2 }] });
  opened.push(bus);
  return bus;
}

async function lettersOf(bus: Bus): Promise<unknown[]> {
  const letters: unknown[] = [];
  for await (const { payload } of bus.read<{ event: { payload: unknown } }>("dlq.orders"))
    letters.push(payload.event.payload);
  return letters;
}

describe("a user with readWrite on the store's database", () => {
  const fixture = mongoFixture({
    serverUrl: async () => server.rootUrl,
    userUrl: (db) => server.writerUrl(db),
  });
  // The whole suite passes so; these are the parts that ask for most.
  const harness = sharedStore(fixture);
  describe("groups", () => describeFences(harness));
  describe("documents", () => describeUnits(harness));
  describe("log", () => {
    describeRemoval(harness);
    describeWatch(harness);
  });
});

describe.each([
  ["with readWrite on the database", (db: string) => ({ roles: [{ role: "readWrite", db }] })],
  ["with the listed rights alone", (db: string) => ({ privileges: [onDatabase(db, ACTIONS)] })],
])("a bus of a user %s", (_, rightsOn) => {
  it("P4, P8, P9: delivers to other processes, projects, buries, removes and feeds, and misses nothing", async () => {
    const db = newDatabaseName();
    const url = await userUrl(rightsOn(db));
    const [bus, other] = [await openBus(url, db), await openBus(url, db)];
    const heard: unknown[] = [];
    await other.subscribe("orders", "heard", ({ payload }) => void heard.push(payload), { from: "earliest" });
    await other.subscribe(
      "orders",
      "refused",
      () => {
        throw new Error("never");
      },
      { from: "earliest", maxAttempts: 1 },
    );
    await startTransactionalProjector(other, {
      topic: "orders",
      group: "totals",
      handler: (events, tx) => tx.view("totals").inc("all", { n: events.length }),
    });
    await bus.publish("orders", 1, { key: "a" });
    await bus.publish("orders", 2, { key: "a" });
    await expect.poll(() => heard).toEqual([1, 2]);
    await expect.poll(async () => (await bus.view("totals").get("all"))?.n).toBe(2);
    await expect.poll(async () => lettersOf(bus)).toEqual([1, 2]);
    await bus.store.log.trim("orders", 0, 1);
    await bus.store.documents.define("v", [{ keys: { a: 1 } }]);
    await bus.store.documents.drop("v");
    expect(await bus.store.documents.views()).toMatchObject([{ view: "totals" }]);

    await using client = new MongoClient(url);
    const feed = startMongoChangefeed(client.db(db), bus, { collection: "things" });
    await expect.poll(() => feed.stats().phase).toBe("following");
    await client.db(db).collection("things").insertOne({ n: 1 });
    await expect.poll(() => feed.stats().published).toBe(1);
    await feed.stop();
    expect(warnings).toEqual([]);
  });
});

describe("a user who lacks a right", () => {
  const cases: readonly (readonly [string, (db: string) => Rights, string, string])[] = [
    ["no roles", () => ({}), "find", "topics"],
    ["read only", (db) => ({ roles: [{ role: "read", db }] }), "createIndex", "events"],
    ["rights elsewhere", () => ({ roles: [{ role: "readWrite", db: "elsewhere" }] }), "find", "topics"],
  ];

  it.each(cases)("%s: said at the start, with the right and what to do", async (_, rightsOn, right, name) => {
    const db = newDatabaseName();
    const error = await failure(storeOf(await userUrl(rightsOn(db)), db).open());
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: false });
    expect(error.message).toContain(
      `(${right} on ${db}.${name}): give it the role readWrite on the database "${db}"`,
    );
    expect(error.message.split("\n")).toHaveLength(1);
    expect(error.details).toEqual({ right, on: `${db}.${name}` });
    expect(inspect(error, { depth: 20 })).not.toContain(PASSWORD);
  });

  it("no user, and a wrong password: said so", async () => {
    const none = await failure(storeOf(server.openUrl, "x").open());
    expect(none).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: false });
    expect(none.message).toContain("the address must name a user");
    const wrong = await failure(storeOf(server.urlOf("root", "wr0ng"), "x").open());
    expect(wrong).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: false });
    expect(wrong.message).toContain("check user, password and authSource");
    expect(inspect(wrong, { depth: 20 })).not.toContain("wr0ng");
  });

  it("a write that is refused tells nothing of what was to be written", async () => {
    const db = newDatabaseName();
    const rights = ACTIONS.filter((action) => action !== "insert");
    const store = await open(await userUrl({ privileges: [onDatabase(db, rights)] }), db);
    const { error } = await store.log.append("orders", 0, drafts(1, { payload: { card: "4111-1111" } }));
    expect(error).toMatchObject({ retryable: false, details: { right: "insert", on: `${db}.events` } });
    expect(inspect(error, { depth: 20 })).not.toContain("4111");
    const refused = await failure(store.documents.write("v", [upsert("a", { card: "4111-1111" })]));
    expect(refused).toMatchObject({ retryable: false, details: { right: "update, insert" } });
    expect(inspect(refused, { depth: 20 })).not.toContain("4111");
  });

  it("P4: without changeStream, news come by polling, and the warning names the right", async () => {
    const db = newDatabaseName();
    const rights = ACTIONS.filter((action) => action !== "changeStream");
    const url = await userUrl({ privileges: [onDatabase(db, rights)] });
    const [bus, other] = [await openBus(url, db), await openBus(url, db)];
    const heard = gate<unknown>();
    await other.subscribe("orders", "heard", ({ payload }) => heard.open(payload));
    await bus.publish("orders", 1);
    expect(await heard.passed).toBe(1);
    expect(new Set(warnings)).toEqual(new Set([expect.stringContaining(`(changeStream on ${db})`)]));
  });
});

describe("a member that dies within a transaction", () => {
  async function takenOver(db: string, firstUrl: string, secondUrl: string): Promise<void> {
    await takesOver(await open(firstUrl, db), await open(secondUrl, db));
  }

  it(
    "P7, P9: is taken over at once by another of the same user",
    async () => {
      const db = newDatabaseName();
      const url = await server.writerUrl(db);
      await takenOver(db, url, url);
      expect(warnings).toEqual([]);
    },
    TAKING_OVER_MS,
  );

  it(
    "P7, P9: is taken over at once by another user who may end sessions of others",
    async () => {
      const db = newDatabaseName();
      const roles = [{ role: "readWrite", db }];
      const second = await userUrl({ roles, privileges: [killAnySession] });
      await takenOver(db, await server.writerUrl(db), second);
      expect(warnings).toEqual([]);
    },
    TAKING_OVER_MS,
  );

  it("P7, P9: any other user is told why it has to wait, and takes over when the server has ended it", async () => {
    const db = newDatabaseName();
    const roles = [{ role: "readWrite", db }];
    const [first, second] = [await server.addUser({ roles }), await server.addUser({ roles })];
    await server.command({ setParameter: 1, transactionLifetimeLimitSeconds: 1 });
    try {
      await takenOver(db, server.urlOf(first), server.urlOf(second));
    } finally {
      await server.command({ setParameter: 1, transactionLifetimeLimitSeconds: 60 });
    }
    expect(warnings).toHaveLength(1);
    for (const words of [`${first}@admin`, `${second}@admin`, "killAnySession"])
      expect(warnings[0]).toContain(words);
  });
});
