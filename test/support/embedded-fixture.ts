/** The embedded store for the conformance suite: a file of its own for each test. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../src/ports/store.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import type { StoreFixture } from "../../src/testing/conformance/fixture.js";

/** `crashes`: what is reopened is what a killed process would have left, a copy of its files as they are while it runs. */
export function embeddedFixture({ exclusive = false, crashes = false } = {}): StoreFixture {
  return {
    name: exclusive ? "embedded, exclusive" : "embedded",
    async create() {
      const folder = await mkdtemp(join(tmpdir(), "promethean-embedded-"));
      const opened: Store[] = [];
      let lives = 1;
      const place = (): string => join(folder, String(lives));
      const open = async (): Promise<Store> => {
        const store = embeddedStore({ path: join(place(), "bus.db"), exclusive });
        await store.open();
        opened.push(store);
        return store;
      };
      let store = await open();
      return {
        store,
        ...(!exclusive && { another: open }),
        async reopen() {
          if (crashes)
            await cp(place(), join(folder, String(lives + 1)), { recursive: true, filter: isLeft });
          await store.close();
          if (crashes) lives++;
          store = await open();
          return store;
        },
        async dispose() {
          for (const one of opened) await one.close();
          await rm(folder, { recursive: true, force: true });
        },
      };
    },
  };
}

/** Memory that processes share ends with them. */
function isLeft(path: string): boolean {
  return !path.endsWith("-shm");
}
