/** The embedded store for the conformance suite: a file of its own for each test. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../src/ports/store.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import type { StoreFixture } from "../../src/testing/conformance/fixture.js";

export function embeddedFixture({ exclusive = false } = {}): StoreFixture {
  return {
    name: exclusive ? "embedded, exclusive" : "embedded",
    async create() {
      const folder = await mkdtemp(join(tmpdir(), "promethean-embedded-"));
      const opened: Store[] = [];
      const open = async (): Promise<Store> => {
        const store = embeddedStore({ path: join(folder, "bus.db"), exclusive });
        await store.open();
        opened.push(store);
        return store;
      };
      const store = await open();
      return {
        store,
        ...(!exclusive && { another: open }),
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
  };
}
