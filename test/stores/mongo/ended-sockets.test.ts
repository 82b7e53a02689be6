import { type Db, MongoClient } from "mongodb";
import { describe, expect, it } from "vitest";
import { createBus } from "../../../src/bus/create-bus.js";
import { nextTurn } from "../../../src/model/next-turn.js";
import { startMongoChangefeed } from "../../../src/mongo.js";
import { memoryStore } from "../../../src/stores/memory/index.js";
import { MongoOutbox, mongoStore } from "../../../src/stores/mongo/index.js";
import { TcpProxy } from "../../faults/tcp-proxy.js";
import { dropDatabase, newDatabaseName, sharedServerUrl } from "../../support/mongo/shared-server.js";

const ROUNDS = 20;
const IDLE_CONNECTIONS = 10;
const TURNS = 30;
const ANSWERED_MS = 30_000;

/** What looks after a client of the caller's; returns how to end it. */
const USERS: readonly [name: string, start: (db: Db) => Promise<() => Promise<void>>][] = [
  [
    "a store",
    async (db) => {
      const options = { client: db.client, db: db.databaseName, onWarning: () => undefined };
      const store = mongoStore(options);
      await store.open();
      return () => store.close();
    },
  ],
  [
    "a change feed",
    async (db) => {
      const bus = await createBus({ store: memoryStore() });
      const feed = startMongoChangefeed(db, bus, { collection: "things" });
      return async () => {
        await feed.stop();
        await bus.close();
      };
    },
  ],
  [
    "an outbox that is watched",
    async (db) => {
      const outbox = new MongoOutbox(db);
      outbox.watch(() => undefined);
      return () => outbox.close();
    },
  ],
];

describe.each(USERS)("a client that serves %s", (_, start) => {
  it("P15: calls that begin while idle connections end are answered, each of them", async () => {
    const server = await sharedServerUrl();
    const proxy = await TcpProxy.start(Number(new URL(server).port));
    const client = new MongoClient(`mongodb://127.0.0.1:${proxy.port}/?directConnection=true`);
    const db = client.db(newDatabaseName());
    const end = await start(db);
    const open = new Set<Promise<unknown>>();
    const call = (): Promise<unknown> => {
      const answer: Promise<unknown> = db.command({ ping: 1 }).then(
        () => open.delete(answer),
        () => open.delete(answer),
      );
      open.add(answer);
      return answer;
    };
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(Array.from({ length: IDLE_CONNECTIONS }, call));
      proxy.cut();
      proxy.mend();
      // One call in each turn of the event loop, so that some fall between the end of a socket and its telling so.
      for (let turn = 0; turn < TURNS; turn++) {
        void call();
        await nextTurn();
      }
    }
    await expect.poll(() => open.size, { timeout: ANSWERED_MS }).toBe(0);
    await end();
    await client.close();
    await proxy.close();
    await dropDatabase(server, db.databaseName);
  });
});
