/** The stores of the first days on MongoDB, for those who compose by hand: the same data that a bus on it uses. */
import type { Db } from "mongodb";
import { StoreCursors, StoreEvents } from "../../ports/event-store.js";
import type { Store } from "../../ports/store.js";
import { ensureIndexes } from "./collections.js";
import { mongoStore } from "./store.js";

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
  constructor(db: Db, options: MongoHandMadeOptions = {}) {
    super(storeOn(db, options));
  }

  /** Creates what is missing; harmless when it is there. */
  static async ensureIndexes(db: Db, options: MongoHandMadeOptions = {}): Promise<void> {
    await ensureIndexes(db, options);
  }
}

/** Cursors in MongoDB behind the small interface. */
export class MongoCursorStore extends StoreCursors {
  constructor(db: Db, options: MongoHandMadeOptions = {}) {
    super(storeOn(db, options));
  }
}

/** The client stays the caller's: nothing to close. */
function storeOn(db: Db, options: MongoHandMadeOptions): Store {
  return mongoStore({ client: db.client, db: db.databaseName, ...options });
}
