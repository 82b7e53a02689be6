/** Where a durable store is, in words that can be handed to another process. */
import type { TopicLayout } from "../../src/model/topic.js";
import type { Store } from "../../src/ports/store.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { mongoStore } from "../../src/stores/mongo/index.js";
import { withLayout } from "./mongo/layout.js";

export interface StorePlace {
  /** File of the embedded store; absent: the store is in MongoDB. */
  readonly path?: string;
  /** Address of MongoDB; absent where nothing is in it. */
  readonly url?: string;
  /** The database there. */
  readonly db?: string;
  /** Of every topic, in MongoDB. */
  readonly layout?: TopicLayout;
}

export function storeAt({ path, url = "", db = "kills", layout }: StorePlace): Store {
  if (path !== undefined) return embeddedStore({ path });
  const store = mongoStore({ url, db, onWarning: () => undefined });
  return layout === undefined ? store : withLayout(store, layout);
}
