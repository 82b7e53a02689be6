/** Topics that were removed, however many: a listing does not ask for the heads of each. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { drafts } from "../../../src/testing/conformance/samples.js";
import { removeWhole } from "../../../src/testing/conformance/topic-removal.js";
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
});
