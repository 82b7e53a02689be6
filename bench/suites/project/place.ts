/** Places to measure projections in: a fresh file or database each time, filled with events before the clock runs. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Db, MongoClient } from "mongodb";
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import type { Store } from "../../../src/ports/store.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";
// The compiler must emit the threads' modules too, although nothing here calls them.
import type {} from "../../../src/stores/embedded/threads/reader-worker.js";
import type {} from "../../../src/stores/embedded/threads/writer-worker.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { ReplicaSet } from "../../../test/support/mongo/replica-set.js";
import { payloadOf } from "../../events.js";

export const TOPIC = "bench.events";
/**
 * Events a second of something at work: while it joins its group, and while the compiler learns its code anew as it does
 * after each collection, no clock runs. The bare drivers have their first events outside of it too.
 */
export const FIRST_EVENTS = 20_000;
export const EVENTS = 60_000;
export const BATCH = 500;
const KEYS = 5_000;

/** Within a batch every key is another one: nobody gains by leaving writes out. */
export const keyOf = (n: number): string => `customer-${(n * 7) % KEYS}`;

const folder = mkdtempSync(join(tmpdir(), "promethean-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
let places = 0;

export async function withFile<T>(work: (path: string) => Promise<T>): Promise<T> {
  const path = join(folder, String(++places));
  try {
    return await work(path);
  } finally {
    for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
  }
}

let server: Promise<string> | undefined;

/** The set ends with this process: whoever holds the other end of its pipe sees to that. */
function serverUrl(): Promise<string> {
  const given = process.env.PROMETHEAN_TEST_MONGO_URL;
  server ??= given ? Promise.resolve(given) : ReplicaSet.start({ cacheGb: 1 }).then((set) => set.url);
  return server;
}

export async function withDatabase<T>(work: (db: Db, url: string) => Promise<T>): Promise<T> {
  const url = await serverUrl();
  const client = new MongoClient(url);
  const db = client.db(`bench_${process.pid}_${++places}`, {
    writeConcern: { w: "majority", journal: true },
  });
  try {
    return await work(db, url);
  } finally {
    await db.dropDatabase();
    await client.close();
  }
}

export type StoreName = "embedded" | "mongo";

/** A bus on a fresh store whose topic has all the events. */
export function withEvents<T>(store: StoreName, work: (bus: Bus) => Promise<T>): Promise<T> {
  return store === "embedded"
    ? withFile((path) => onBus(embeddedStore({ path }), work))
    : withDatabase((db, url) => onBus(mongoStore({ url, db: db.databaseName }), work));
}

async function onBus<T>(store: Store, work: (bus: Bus) => Promise<T>): Promise<T> {
  const bus = await createBus({ store, topics: [{ name: TOPIC, partitions: 1 }] });
  try {
    for (let n = 0; n < FIRST_EVENTS + EVENTS; n += 1_000) {
      const items = Array.from({ length: 1_000 }, (_, i) => ({
        payload: payloadOf(n + i),
        key: keyOf(n + i),
      }));
      await bus.publishMany(TOPIC, items);
    }
    return await work(bus);
  } finally {
    await bus.close();
  }
}
