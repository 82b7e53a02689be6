/** The store in a bundle: it cannot work there, and says what to do instead. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";
import { afterAll, expect, it } from "vitest";
import type { embeddedStore } from "../../../src/stores/embedded/index.js";

const path = (name: string): string => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
mkdirSync(path(".cache"), { recursive: true });
// Within the repository, so that the bundle finds the engine.
const folder = mkdtempSync(path(".cache/bundle-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("a bundle that has the store in it is told to leave it out", async () => {
  await build({
    configFile: false,
    logLevel: "error",
    build: {
      ssr: path("src/stores/embedded/index.ts"),
      outDir: folder,
      target: "node20",
      rolldownOptions: { external: ["libsql"], output: { entryFileNames: "bundle.js" } },
    },
  });
  const bundle = (await import(/* @vite-ignore */ pathToFileURL(join(folder, "bundle.js")).href)) as {
    embeddedStore: typeof embeddedStore;
  };
  const store = bundle.embeddedStore({ path: join(folder, "bus.db") });
  await expect(store.open()).rejects.toMatchObject({
    code: "UNSUPPORTED",
    message: expect.stringContaining("--packages=external"),
  });
  await store.close();
});
