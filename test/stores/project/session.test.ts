/** A transactional projector that shares MongoDB's own session (P9). */
import type { ClientSession } from "mongodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import { startTransactionalProjector } from "../../../src/project/views/transactional.js";
import { memoryStore } from "../../../src/stores/memory/index.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { TestDatabase } from "../../support/mongo/database.js";

let database: TestDatabase;
let bus: Bus;

beforeEach(async () => {
  database = await TestDatabase.create();
  // The session is the store's: its client must be the one that the handler writes with.
  bus = await createBus({ store: mongoStore({ client: database.client, db: database.name }) });
});
afterEach(async () => {
  await bus.close();
  await database.dispose();
});

describe("tx.session", () => {
  it("P9: what the handler writes with it is committed with views and cursor, or not at all", async () => {
    await bus.defineTopic({ name: "orders", partitions: 1 });
    const ledger = database.db.collection<{ _id: number }>("ledger");
    await database.db.createCollection("ledger");
    let fail = true;
    const projector = await startTransactionalProjector<number>(bus, {
      topic: "orders",
      group: "ledger",
      session: true,
      handler: async (events, tx) => {
        const session = tx.session as ClientSession;
        await ledger.insertMany(
          events.map(({ payload }) => ({ _id: payload })),
          { session },
        );
        await tx.view("totals").inc("all", { n: events.length });
        if (fail) {
          fail = false;
          throw new Error("after the writes");
        }
      },
    });
    for (let n = 1; n <= 5; n++) await bus.publish("orders", n, { key: "k" });
    await expect.poll(async () => (await bus.view("totals").get("all"))?.n).toBe(5);
    expect(await ledger.countDocuments()).toBe(5);
    await projector.stop();
  });

  it("is nothing that another store has", async () => {
    const local = await createBus({ store: memoryStore() });
    const start = startTransactionalProjector(local, {
      topic: "orders",
      group: "g",
      session: true,
      handler: () => undefined,
    });
    await expect(start).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await local.close();
  });
});
