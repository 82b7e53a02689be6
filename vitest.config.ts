import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.js";

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

/** Command lines, examples, hubs: what they do can be waited for on a busy machine too. */
const PROGRAMS =
  "test/e2e/{cli,cli-*,console-files,examples,hub-fuzz,hub-processes,hub-stores,project-scale,readme,serve-tracing,start}.test.ts";
/** They put something in the place of a module, which no other file is to see. */
const APART = "src/stores/embedded/threads/{append-now,threads}.test.ts";
const END_TO_END = {
  globalSetup: ["test/support/mongo/global-setup.ts", "test/support/console/global-setup.ts"],
  testTimeout: 180_000,
  hookTimeout: 180_000,
};

export default defineConfig({
  resolve: {
    // Tests that import the package by name get the sources, as tsconfig.json's `paths` does.
    alias: [
      { find: /^promethean$/, replacement: source("index.ts") },
      { find: /^promethean\/(.+)$/, replacement: source("$1/index.ts") },
    ],
  },
  test: {
    // A small machine is the norm, whatever the core count says: one worker more than its two cores, since tests of
    // stores and programs wait half of their time.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    restoreMocks: true,
    // Events are given up by the hundred, on purpose. Tests that are about warnings listen to the process.
    execArgv: ["--disable-warning=PrometheanWarning"],
    // Conditions are waited for, not times: a deadline only has to tell "slow" from "never", on a busy machine too.
    expect: { poll: { timeout: 30_000 } },
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      exclude: ["src/**/*.test.ts", "src/console/**"],
      reporter: ["text-summary", "html", "json-summary"],
    },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "test/unit/**/*.test.ts"],
          exclude: ["src/stores/**"],
          // Hundreds of files would load the same modules anew, which takes a third as long as all of their tests.
          isolate: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "stores",
          include: ["src/stores/**/*.test.ts", "test/stores/**/*.test.ts", "test/faults/**/*.test.ts"],
          exclude: [APART],
          globalSetup: ["test/support/mongo/global-setup.ts"],
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: { name: "stores-apart", include: [APART], testTimeout: 120_000, hookTimeout: 120_000 },
      },
      { extends: true, test: { name: "programs", include: [PROGRAMS], isolate: false, ...END_TO_END } },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          exclude: [PROGRAMS],
          // Browsers and crowds, after all others and two files at a time: what waits for a person's pace is not to be
          // judged on a machine that is busy with something else, and half of the time it waits.
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
          ...END_TO_END,
        },
      },
    ],
  },
});
