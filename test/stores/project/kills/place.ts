/** Where a run of kills takes place: a bus on a store that processes share, and a database beside it. */
import { MongoClient } from "mongodb";
import type { Bus } from "../../../../src/bus/bus.js";
import { createBus } from "../../../../src/bus/create-bus.js";
import { embeddedStore } from "../../../../src/stores/embedded/index.js";
import { mongoStore } from "../../../../src/stores/mongo/index.js";

export interface KillPlace {
  /** File of the embedded store; absent: the store is in MongoDB. */
  readonly path?: string;
  /** Address of MongoDB; absent where nothing is in it. */
  readonly url?: string;
}

export interface OpenedPlace {
  readonly bus: Bus;
  /** For workers that read a foreign collection. */
  readonly client: MongoClient | null;
  close(): Promise<void>;
}

export async function openPlace({ path, url }: KillPlace): Promise<OpenedPlace> {
  const store = path === undefined ? mongoStore({ url: url ?? "", db: "kills" }) : embeddedStore({ path });
  const bus = await createBus({ store, onTrouble: () => undefined });
  const client = url === undefined ? null : new MongoClient(url);
  return {
    bus,
    client,
    close: async () => {
      await bus.close();
      await client?.close();
    },
  };
}
