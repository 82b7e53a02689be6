/** Where a durable store is, in words that can be handed to another process. */
import type { Store } from "../../src/ports/store.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { mongoStore } from "../../src/stores/mongo/index.js";

export interface StorePlace {
  /** File of the embedded store; absent: the store is in MongoDB. */
  readonly path?: string;
  /** Address of MongoDB; absent where nothing is in it. */
  readonly url?: string;
}

export function storeAt({ path, url = "" }: StorePlace): Store {
  return path === undefined
    ? mongoStore({ url, db: "kills", onWarning: () => undefined })
    : embeddedStore({ path });
}
