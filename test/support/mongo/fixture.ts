/** The MongoDB store for the conformance suite: a database of its own for each test, on the server that all share. */
import { afterAll } from "vitest";
import type { TopicLayout } from "../../../src/model/topic.js";
import type { Store } from "../../../src/ports/store.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import type { StoreFixture } from "../../../src/testing/conformance/fixture.js";
import { Databases } from "./databases.js";
import { withLayout } from "./layout.js";
import { dropDatabase, sharedServerUrl } from "./shared-server.js";

export interface MongoFixtureOptions {
  readonly serverUrl?: () => Promise<string>;
  /** Of the kind of server, if it is not the usual one. */
  readonly server?: string;
  /** Of every topic that is defined. */
  readonly layout?: TopicLayout;
  /** The address by which the store of a database signs in; it is asked for once for each. Default: the server's. */
  readonly userUrl?: (db: string) => Promise<string>;
}

export function mongoFixture({
  serverUrl = sharedServerUrl,
  server,
  layout,
  userUrl,
}: MongoFixtureOptions = {}): StoreFixture {
  const databases = new Databases(serverUrl);
  afterAll(() => databases.close());
  return {
    name: ["mongo", server, layout].filter((part) => part !== undefined).join(", "),
    async create() {
      const db = databases.take();
      const url = await (userUrl?.(db) ?? serverUrl());
      const opened: Store[] = [];
      const open = async (): Promise<Store> => {
        const plain = mongoStore({ url, db, onWarning: () => undefined });
        const store = layout === undefined ? plain : withLayout(plain, layout);
        await store.open();
        opened.push(store);
        return store;
      };
      const store = await open();
      if (userUrl === undefined) await databases.opened(db);
      return {
        store,
        another: open,
        reopen: async () => {
          await store.close();
          return await open();
        },
        dispose: async () => {
          await Promise.all(opened.map((handle) => handle.close()));
          // A user is made for one database, once.
          if (userUrl === undefined) await databases.giveBack(db);
          else await dropDatabase(await serverUrl(), db);
        },
      };
    },
  };
}
