/** Where a run of kills takes place: a bus on a store that processes share, and a database beside it. */
import type { Db, MongoClient } from "mongodb";
import type { Bus } from "../../../../src/bus/bus.js";
import { createBus } from "../../../../src/bus/create-bus.js";
import { type StorePlace, storeAt } from "../../../support/store-place.js";
import { type Death, dyingAt } from "../../crash/points.js";

export interface OpenedPlace {
  readonly bus: Bus;
  /** For workers that read a foreign collection. */
  readonly foreign: Db | null;
  close(): Promise<void>;
}

/** `death`: where this process is to end. */
export async function openPlace(place: StorePlace, death: Death | null = null): Promise<OpenedPlace> {
  const { url, db = "kills" } = place;
  const store = await storeAt(place);
  const bus = await createBus({
    store: death === null ? store : dyingAt(store, death),
    onTrouble: () => undefined,
  });
  const client = url === undefined ? null : await clientOf(url);
  return {
    bus,
    foreign: client?.db(`${db}-shop`) ?? null,
    close: async () => {
      await bus.close();
      await client?.close();
    },
  };
}

/** The driver is loaded where there is a server to speak to: a process on a file lives too briefly for it. */
async function clientOf(url: string): Promise<MongoClient> {
  const { MongoClient } = await import("mongodb");
  return new MongoClient(url);
}
