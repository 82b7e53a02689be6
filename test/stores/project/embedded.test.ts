import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../../src/ports/store.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";
import { describeProject } from "./index.js";

describeProject({
  name: "embedded",
  async create() {
    const folder = await mkdtemp(join(tmpdir(), "promethean-project-"));
    const opened: Store[] = [];
    const open = async (): Promise<Store> => {
      const store = embeddedStore({ path: join(folder, "bus.db") });
      await store.open();
      opened.push(store);
      return store;
    };
    return {
      store: await open(),
      another: open,
      async dispose() {
        for (const store of opened) await store.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
});
