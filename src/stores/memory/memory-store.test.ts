import { describeStore } from "../../testing/conformance/index.js";
import { memoryStore } from "./index.js";

describeStore({
  name: "memory",
  async create() {
    const store = memoryStore();
    await store.open();
    return { store, dispose: () => store.close() };
  },
});
