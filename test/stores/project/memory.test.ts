import { memoryStore } from "../../../src/stores/memory/index.js";
import { describeProject } from "./index.js";

describeProject({
  name: "memory",
  async create() {
    const store = memoryStore();
    await store.open();
    return { store, dispose: () => store.close() };
  },
});
