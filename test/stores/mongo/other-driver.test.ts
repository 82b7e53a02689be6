/** A client of the caller's that comes from another copy of the driver: none of its classes is one that we import. */
import { createRequire } from "node:module";
import { MongoClient } from "mongodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { plainJson } from "../../../src/project/changefeed/collection-change.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { draft, drafts, seqs } from "../../../src/testing/conformance/samples.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { freePort } from "../../support/mongo/node-process.js";

/** The same files, loaded once more. */
function otherCopy(): typeof import("mongodb") {
  const require = createRequire(import.meta.url);
  for (const file of Object.keys(require.cache))
    if (/node_modules\/(mongodb|bson)\//.test(file)) delete require.cache[file];
  return require("mongodb");
}

const other = otherCopy();
let database: TestDatabase;
let client: MongoClient;
const failPoint = new FailPoint(() => database.client);

beforeEach(async () => {
  database = await TestDatabase.create();
  client = new other.MongoClient(database.url);
});
afterEach(async () => {
  await failPoint.release();
  await client.close();
  await database.dispose();
});

describe("a client of another copy of the driver", () => {
  it("is one", () => {
    expect(other.MongoClient).not.toBe(MongoClient);
    expect(client).not.toBeInstanceOf(MongoClient);
  });

  it("P1, P3: appends go on through lost connections, and ids that are taken are found", async () => {
    const store = await database.open({ client });
    await store.registry.defineTopic({ name: "orders", partitions: 1 });
    await store.log.append("orders", 0, [draft({ id: "a" })]);
    const namespace = `${database.name}.events`;
    await failPoint.set(1, { failCommands: ["insert"], closeConnection: true, namespace });
    const { error, duplicates } = await store.log.append("orders", 0, [draft({ id: "a" }), ...drafts(2)]);
    expect([error, [...duplicates]]).toEqual([undefined, [0]]);
    await failPoint.set(1, { failCommands: ["find"], closeConnection: true, namespace });
    const { events } = await store.log.read("orders", 0, { after: 0, limit: 10 });
    expect(seqs(events)).toEqual([1, 2, 3]);
    await store.close();
  });

  it("says that no server was found, as any other does", async () => {
    const url = `mongodb://127.0.0.1:${await freePort()}/?serverSelectionTimeoutMS=300`;
    const lost = new other.MongoClient(url);
    await expect(mongoStore({ client: lost, db: "x" }).open()).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      retryable: true,
    });
    await lost.close();
  });

  it("P12: what it decodes becomes the same JSON", () => {
    const { ObjectId, Long, Timestamp, Binary, UUID } = other;
    const id = "0123456789abcdef01234567";
    const uuid = "3b241101-e2bb-4255-8caf-4136c566a962";
    expect(
      plainJson({
        id: new ObjectId(id),
        small: Long.fromNumber(7),
        large: Long.fromString("9007199254740993"),
        at: new Timestamp({ t: 1, i: 2 }),
        bytes: new Binary(Buffer.from("abc")),
        uuid: new UUID(uuid),
      }),
    ).toEqual({ id, small: 7, large: "9007199254740993", at: { t: 1, i: 2 }, bytes: "YWJj", uuid });
  });
});
