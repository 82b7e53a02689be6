export type { SqlValue } from "./sqlite.js";
export { type SqliteHandle, SqliteOutbox } from "./sqlite-outbox.js";
export {
  type CheckReport,
  type Durability,
  type EmbeddedStore,
  type EmbeddedStoreOptions,
  embeddedStore,
} from "./store.js";
