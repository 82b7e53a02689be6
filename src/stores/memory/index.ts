export { type MemoryStoreOptions, memoryStore } from "./store.js";
