import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../ports/store.js";
import { describeStore } from "../../testing/conformance/index.js";
import { embeddedStore } from "./index.js";

describeStore({
  name: "embedded",
  async create() {
    const folder = await mkdtemp(join(tmpdir(), "promethean-embedded-"));
    const path = join(folder, "bus.db");
    const opened: Store[] = [];
    const open = async (): Promise<Store> => {
      const store = embeddedStore({ path });
      await store.open();
      opened.push(store);
      return store;
    };
    const store = await open();
    return {
      store,
      another: open,
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
