/**
 * A shop that never loses an event nor invents one: the order and its event are one transaction of the shop's own
 * database, SQLite or MongoDB; a drainer publishes what was committed, once (P10).
 *
 *   node scripts/example.mjs outbox-shop [mongodb://…]
 */
import { type Bus, createBus, memoryStore, runOutboxDrainer } from "promethean";

interface Shop {
  readonly outbox: Parameters<typeof runOutboxDrainer>[0];
  /** Stores the order and leaves its event, or neither. */
  place(order: { id: string; amount: number }): Promise<void>;
  close(): Promise<void>;
}

async function sqliteShop(): Promise<Shop> {
  const { default: Database } = await import("libsql");
  const { SqliteOutbox } = await import("promethean/stores/embedded");
  const db = new Database(":memory:");
  db.exec("CREATE TABLE orders (id TEXT PRIMARY KEY, amount INTEGER CHECK (amount > 0))");
  const outbox = new SqliteOutbox(db);
  const place = db.transaction((order: { id: string; amount: number }) => {
    void outbox.add({ id: order.id, topic: "orders.placed", payload: order, key: order.id });
    db.prepare("INSERT INTO orders VALUES (?, ?)").run(order.id, order.amount);
  });
  return { outbox, place: async (order) => void place(order), close: async () => void db.close() };
}

async function mongoShop(url: string): Promise<Shop> {
  const { MongoClient } = await import("mongodb");
  const { MongoOutbox } = await import("promethean/stores/mongo");
  const client = await MongoClient.connect(url);
  const db = client.db();
  const orders = db.collection<{ _id: string; amount: number }>("orders");
  const outbox = new MongoOutbox(db);
  await outbox.prepare();
  return {
    outbox,
    place: ({ id, amount }) =>
      client.withSession((session) =>
        session.withTransaction(async () => {
          await outbox.add({ id, topic: "orders.placed", payload: { id, amount }, key: id }, { session });
          if (amount <= 0) throw new Error("CHECK constraint failed");
          await orders.insertOne({ _id: id, amount }, { session });
        }),
      ),
    close: async () => {
      await db.dropDatabase();
      await client.close();
    },
  };
}

async function published(bus: Bus, count: number): Promise<string[]> {
  for (;;) {
    const ids: string[] = [];
    if ((await bus.topics()).length > 0) for await (const { id } of bus.read("orders.placed")) ids.push(id);
    if (ids.length >= count) return ids;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const url = process.argv[2];
const shop = url === undefined ? await sqliteShop() : await mongoShop(url);
const bus = await createBus({ store: memoryStore() });
const drainer = runOutboxDrainer(shop.outbox, bus);

await shop.place({ id: "order-1", amount: 30 });
await shop.place({ id: "order-2", amount: -5 }).catch(() => console.log("order-2 was rolled back"));
await shop.place({ id: "order-3", amount: 12 });

console.log(`published: ${(await published(bus, 2)).join(", ")}`);
await drainer.stop();
await bus.close();
await shop.close();
