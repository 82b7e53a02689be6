export { ensureIndexes } from "./collections.js";
export { MongoOutbox, type MongoOutboxOptions } from "./outbox.js";
export { type MongoStoreOptions, mongoStore } from "./store.js";
