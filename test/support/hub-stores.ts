/** The stores that the hub's end-to-end tests run on, each fresh and empty. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import type { StoreFixture } from "../../src/testing/conformance/fixture.js";
import { mongoFixture } from "./mongo/fixture.js";

const memory: StoreFixture = {
  name: "memory",
  create: async () => {
    const store = memoryStore();
    await store.open();
    return { store, dispose: () => store.close() };
  },
};

const embedded: StoreFixture = {
  name: "embedded",
  create: async () => {
    const folder = await mkdtemp(join(tmpdir(), "promethean-hub-"));
    const store = embeddedStore({ path: join(folder, "bus.db") });
    await store.open();
    return {
      store,
      dispose: async () => {
        await store.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
};

export const HUB_STORES: readonly StoreFixture[] = [memory, embedded, mongoFixture()];
