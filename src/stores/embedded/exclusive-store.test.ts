import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeStore } from "../../testing/conformance/index.js";
import { type EmbeddedStore, embeddedStore } from "./index.js";

describeStore({
  name: "embedded, exclusive",
  async create() {
    const folder = await mkdtemp(join(tmpdir(), "promethean-exclusive-"));
    const path = join(folder, "bus.db");
    const opened: EmbeddedStore[] = [];
    const open = async (): Promise<EmbeddedStore> => {
      const store = embeddedStore({ path, exclusive: true });
      await store.open();
      opened.push(store);
      return store;
    };
    const store = await open();
    return {
      store,
      async reopen() {
        await store.close();
        return open();
      },
      async dispose() {
        for (const one of opened) await one.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
});
