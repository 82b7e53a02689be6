/** Topics that were removed, however many: a listing does not ask for the heads of each. */
import { Timestamp } from "mongodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { drafts, removeWhole } from "../../../src/testing/conformance/samples.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { NotedClient } from "../../support/mongo/noted-client.js";

let database: TestDatabase;
let noted: NotedClient;
beforeEach(async () => {
  database = await TestDatabase.create();
  noted = new NotedClient(database.url);
});
afterEach(async () => {
  await database.dispose();
  await noted.close();
});

const NAMES = Array.from({ length: 20 }, (_, n) => `t${n + 10}`);

describe.each(["documents", "batches"] as const)("topics of %s that were removed", (layout) => {
  it("are passed over together, and one that came back is found once, and is there for good", async () => {
    const store = mongoStore({ client: noted.client, db: database.name });
    await store.open();
    for (const name of NAMES) await store.registry.defineTopic({ name, partitions: 2, layout });
    for (const name of NAMES) await store.log.append(name, 1, drafts(2));
    for (const name of NAMES) expect(await removeWhole(store, name)).toBe(true);
    noted.forget();
    expect(await store.registry.topics()).toEqual([]);
    expect(noted.names).toEqual(["find", "find", "find"]);

    const other = await database.open();
    await other.log.append("t13", 0, drafts(1));
    expect((await store.registry.topics()).map(({ name }) => name)).toEqual(["t13"]);
    noted.forget();
    expect((await store.registry.topics()).map(({ name }) => name)).toEqual(["t13"]);
    expect(noted.names).toEqual(["find", "find", "find"]);
    await other.log.trim("t13", 0, 1);
    expect((await other.registry.topics()).map(({ name }) => name)).toEqual(["t13"]);
    await store.close();
  });

  it("P2: leave nothing but where they end, though their last events kept their places for a while", async () => {
    const store = await database.open();
    await store.registry.defineTopic({ name: "t1", partitions: 2, layout });
    for (let n = 0; n < 5; n++) await store.log.append("t1", n % 2, drafts(3));
    expect(await removeWhole(store, "t1")).toBe(true);
    const kept = database.db.collection(layout === "batches" ? "batches" : "events");
    const topics = database.db.collection("topics");
    expect(await kept.countDocuments({ gone: true })).toBeGreaterThan(2);
    expect(await store.registry.topics()).toEqual([]);
    expect(await topics.countDocuments({ unswept: true })).toBe(1);
    await kept.updateMany({ at: { $exists: true } }, { $set: { at: new Timestamp({ t: 1, i: 1 }) } });

    const other = await database.open();
    expect(await other.registry.topics()).toEqual([]);
    await expect.poll(() => topics.countDocuments({ unswept: true })).toBe(0);
    expect(await kept.countDocuments()).toBe(2);
    expect((await other.log.append("t1", 1, drafts(1))).events[0]?.seq).toBe(7);
    expect(await other.registry.topics()).toHaveLength(1);
  });
});
