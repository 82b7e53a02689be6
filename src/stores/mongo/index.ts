export { ensureIndexes } from "./collections.js";
export { MongoCursorStore, MongoEventStore, type MongoHandMadeOptions } from "./hand-made.js";
export { MongoOutbox, type MongoOutboxOptions } from "./outbox.js";
export { type MongoStoreOptions, mongoStore } from "./store.js";
