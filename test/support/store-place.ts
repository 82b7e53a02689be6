/** Where a durable store is, in words that can be handed to another process. */
import type { TopicLayout } from "../../src/model/topic.js";
import type { Store } from "../../src/ports/store.js";

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

/** With the driver of that place alone: to load both takes a process longer than most of them live. */
export async function storeAt({ path, url = "", db = "kills", layout }: StorePlace): Promise<Store> {
  if (path !== undefined) {
    const { embeddedStore } = await import("../../src/stores/embedded/index.js");
    return embeddedStore({ path });
  }
  const { mongoStore } = await import("../../src/stores/mongo/index.js");
  const store = mongoStore({ url, db, onWarning: () => undefined });
  if (layout === undefined) return store;
  const { withLayout } = await import("./mongo/layout.js");
  return withLayout(store, layout);
}
