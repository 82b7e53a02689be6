/** promethean/stores/mongo: the store, and what is composed of it and a bus. */

import { Bus } from "./bus/bus.js";
import { BusCore } from "./bus/core.js";
import { settingsOf } from "./bus/options.js";
import type { Handle } from "./model/task.js";
import { startChangefeed } from "./project/changefeed/changefeed.js";
import type {
  ChangefeedOptions,
  ChangefeedStats,
  FeedDatabase,
  FeedHost,
} from "./project/changefeed/changefeed-options.js";
import { freeEndedSockets } from "./stores/mongo/connection/ended-sockets.js";
import type { MongoEventStore } from "./stores/mongo/index.js";

export type {
  ChangefeedOptions,
  ChangefeedStats,
  FeedDatabase,
} from "./project/changefeed/changefeed-options.js";
export type { CollectionChange } from "./project/changefeed/collection-change.js";
export type { ReconciliationCounts } from "./project/changefeed/reconciliation.js";
export * from "./stores/mongo/index.js";

/**
 * A bus on MongoDB, composed by hand; `createBus({ store: mongoStore({ url, db }) })` is the shorter way.
 *
 * @example
 * const bus = new MongoEventBus(new MongoEventStore(db));
 */
export class MongoEventBus extends Bus {
  /** Cursors live beside the events: a cursor store, as older code gives one, says nothing that the events do not. */
  constructor(events: MongoEventStore, _cursors?: unknown) {
    super(new BusCore(settingsOf({ store: events.store }, {})));
  }
}

/**
 * Publishes the changes of a collection. Any number of processes may start the same feed: one runs it, the others wait.
 *
 * @example
 * const feed = startMongoChangefeed(client.db("shop"), bus, { collection: "orders" });   // → orders.changed
 * // …
 * await feed.stop();
 */
export function startMongoChangefeed(
  db: FeedDatabase,
  bus: FeedHost,
  options: ChangefeedOptions,
): Handle<ChangefeedStats> {
  return startChangefeed(db, bus, options, freeEndedSockets);
}
