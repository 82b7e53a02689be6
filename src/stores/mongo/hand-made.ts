/** The stores of the first days on MongoDB, for those who compose by hand: the same data that a bus on it uses. */
import type { Db } from "mongodb";
import { BusError } from "../../model/errors.js";
import { StoreCursors, StoreEvents } from "../../ports/event-store.js";
import type { Store } from "../../ports/store.js";
import { ensureIndexes } from "./collections.js";
import { mongoStore } from "./store.js";

/** What can be said of stores that are made by hand on a database. */
export interface MongoHandMadeOptions {
  /** Put before the name of every collection. */
  readonly prefix?: string;
}

/**
 * Events in MongoDB behind the small interface.
 *
 * @example
 * await MongoEventStore.ensureIndexes(db);
 * const events = new MongoEventStore(db);
 * await events.insert({ id, topic: "orders", ts: Date.now(), payload });
 */
export class MongoEventStore extends StoreEvents {
  /** A name in place of options is that of the collection of events: "shop_events" is the prefix "shop_". */
  constructor(db: Db, options: MongoHandMadeOptions | string = {}) {
    super(storeOn(db, optionsOf(options, "events")));
  }

  /** Creates what is missing; harmless when it is there. */
  static async ensureIndexes(db: Db, options: MongoHandMadeOptions | string = {}): Promise<void> {
    await ensureIndexes(db, optionsOf(options, "events"));
  }
}

/** Cursors in MongoDB behind the small interface. */
export class MongoCursorStore extends StoreCursors {
  constructor(db: Db, options: MongoHandMadeOptions | string = {}) {
    super(storeOn(db, optionsOf(options, "cursors")));
  }
}

/** Collections belong together, so only what stands before their names can be chosen. */
function optionsOf(given: MongoHandMadeOptions | string, name: string): MongoHandMadeOptions {
  if (typeof given !== "string") return given;
  if (given.endsWith(name)) return { prefix: given.slice(0, -name.length) };
  throw new BusError(
    "INVALID_OPTION",
    `the collection is called "${name}"; give it a prefix: { prefix: "shop_" }`,
  );
}

/** The client stays the caller's: nothing to close. */
function storeOn(db: Db, options: MongoHandMadeOptions): Store {
  return mongoStore({ client: db.client, db: db.databaseName, ...options });
}
