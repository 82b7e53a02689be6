/** The same work without a bus: the bare drivers, durable after each batch. */
import Database from "libsql";
import type { AnyBulkWriteOperation, Collection } from "mongodb";
import { payloadOf, perSecond } from "../../events.js";
import { BATCH, EVENTS, FIRST_EVENTS, keyOf, type StoreName, withDatabase, withFile } from "./place.js";

async function inBatches(
  from: number,
  to: number,
  work: (first: number) => Promise<unknown> | undefined,
): Promise<void> {
  for (let first = from; first < to; first += BATCH) await work(first);
}

/** Events a second, once the first ones are through. */
async function rateOf(work: (first: number) => Promise<unknown> | undefined): Promise<number> {
  await inBatches(0, FIRST_EVENTS, work);
  return perSecond(EVENTS, () => inBatches(FIRST_EVENTS, FIRST_EVENTS + EVENTS, work));
}

const batchOf = <T>(first: number, make: (n: number) => T): T[] =>
  Array.from({ length: BATCH }, (_, i) => make(first + i));

interface Row {
  readonly _id: string;
}

/** Documents of the same content, put in place of what is there. */
export function bulkUpserts(store: StoreName): Promise<number> {
  if (store === "embedded") return sqliteUpserts();
  return withDatabase(async (db) => {
    const rows: Collection<Row> = db.collection<Row>("view");
    await rows.createIndex({ ts: 1 });
    const upsert = (n: number): AnyBulkWriteOperation<Row> => ({
      updateOne: {
        filter: { _id: keyOf(n) },
        update: { $set: { version: n + 1, ts: Date.now(), fields: payloadOf(n) } },
        upsert: true,
      },
    });
    return rateOf((first) => rows.bulkWrite(batchOf(first, upsert)));
  });
}

/** One transaction for a batch: a counter for each key, and the place it has come to. */
export function rawTransactions(store: StoreName): Promise<number> {
  if (store === "embedded") return sqliteCounters();
  return withDatabase(async (db) => {
    const rows: Collection<Row> = db.collection<Row>("totals");
    const places: Collection<Row> = db.collection<Row>("places");
    await rows.createIndex({ ts: 1 });
    await places.insertOne({ _id: "place" });
    const count = (n: number): AnyBulkWriteOperation<Row> => ({
      updateOne: {
        filter: { _id: keyOf(n) },
        update: { $inc: { "fields.orders": 1, version: 1 }, $set: { ts: Date.now() } },
        upsert: true,
      },
    });
    const transaction = (first: number): Promise<unknown> =>
      db.client.withSession((session) =>
        session.withTransaction(
          async () => {
            await places.updateOne({ _id: "place" }, { $set: { floor: first + BATCH } }, { session });
            await rows.bulkWrite(batchOf(first, count), { session });
          },
          { readConcern: { level: "snapshot" }, writeConcern: { w: "majority", journal: true } },
        ),
      );
    return rateOf(transaction);
  });
}

function openFile(path: string): Database.Database {
  const database = new Database(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec(
    "CREATE TABLE view (key TEXT PRIMARY KEY, version INTEGER, ts INTEGER, fields TEXT) WITHOUT ROWID",
  );
  database.exec("CREATE TABLE place (id INTEGER PRIMARY KEY, floor INTEGER)");
  return database;
}

function sqliteUpserts(): Promise<number> {
  return withFile(async (path) => {
    const database = openFile(path);
    const upsert = database.prepare(
      `INSERT INTO view (key, version, ts, fields) VALUES (?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET version = excluded.version, ts = excluded.ts, fields = excluded.fields`,
    );
    const batch = async (first: number): Promise<void> => {
      database.exec("BEGIN IMMEDIATE");
      for (let n = first; n < first + BATCH; n++)
        upsert.run([keyOf(n), n + 1, Date.now(), JSON.stringify(payloadOf(n))]);
      database.exec("COMMIT");
    };
    const rate = await rateOf(batch);
    database.close();
    return rate;
  });
}

function sqliteCounters(): Promise<number> {
  return withFile(async (path) => {
    const database = openFile(path);
    const add = database.prepare(
      `INSERT INTO view (key, version, ts, fields) VALUES (?, 1, ?, '{"orders":1}')
       ON CONFLICT (key) DO UPDATE SET version = version + 1, ts = excluded.ts,
         fields = json_set(fields, '$.orders', json_extract(fields, '$.orders') + 1)`,
    );
    const move = database.prepare("INSERT OR REPLACE INTO place (id, floor) VALUES (1, ?)");
    const batch = async (first: number): Promise<void> => {
      database.exec("BEGIN IMMEDIATE");
      for (let n = first; n < first + BATCH; n++) add.run([keyOf(n), Date.now()]);
      move.run([first + BATCH]);
      database.exec("COMMIT");
    };
    const rate = await rateOf(batch);
    database.close();
    return rate;
  });
}
