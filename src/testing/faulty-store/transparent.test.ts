import { memoryStore } from "../../stores/memory/index.js";
import { describeStore } from "../conformance/index.js";
import { faultyStore } from "./faulty-store.js";

/* Without faults the wrapper must not be noticed: the whole suite passes through it. */
describeStore({
  name: "memory behind a faulty handle without faults",
  async create() {
    const store = faultyStore(memoryStore(), { call: () => null });
    await store.open();
    return { store, dispose: () => store.close() };
  },
});
