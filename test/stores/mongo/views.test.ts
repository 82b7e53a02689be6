/** Views that others remove meanwhile, or that are none of ours. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { NotedClient } from "../../support/mongo/noted-client.js";

let database: TestDatabase;
const failPoint = new FailPoint(() => database.client);

beforeEach(async () => {
  database = await TestDatabase.create();
});
afterEach(async () => {
  await failPoint.release();
  await database.dispose();
});

it("a view that is removed while views are listed is left out of the list", async () => {
  const { documents } = await database.open();
  for (const view of ["orders", "users"]) await documents.define(view, [{ keys: { name: 1 } }]);
  const noted = new NotedClient(database.urlWith(`appName=${database.name}`));
  try {
    const lister = await database.open({ client: noted.client });
    const late = { failCommands: ["listIndexes"], blockConnection: true, blockTimeMS: 1_000 };
    await failPoint.set(2, { ...late, appName: database.name });
    const listing = lister.documents.views();
    await expect.poll(() => noted.commands.filter(({ listIndexes }) => listIndexes).length).toBe(2);
    await documents.drop("orders");
    expect(await listing).toEqual([{ view: "users", documents: 0, indexes: [{ keys: { name: 1 } }] }]);
    await lister.close();
  } finally {
    await noted.close();
  }
});

it("a view of MongoDB's own that is called as one of ours is none", async () => {
  const { documents } = await database.open();
  await documents.define("orders", []);
  await database.db.createCollection("view.sums", { viewOn: "view.orders", pipeline: [] });
  expect(await documents.views()).toEqual([{ view: "orders", documents: 0, indexes: [] }]);
});
