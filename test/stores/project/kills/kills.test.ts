/** The short form of scripts/project-kills.mjs. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileProgram } from "../../../../scripts/embedded-sources.mjs";
import type { ReplicaSet } from "../../../support/mongo/replica-set.js";
import { runKills } from "./kill-run.js";
import type { RoleName } from "./roles.js";
import { inPlaceOf, type StoreName, startServer } from "./servers.js";

/** Those that do not die at named points in test/stores/crash. */
const PROMISES: readonly (readonly [RoleName, string])[] = [
  ["changelog", "P5: the view is what a replay comes to"],
  ["transactional", "P9: every event takes effect exactly once"],
];

const program = await compileProgram(new URL("./worker-process.ts", import.meta.url));

let server: ReplicaSet;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.dispose());

describe.each(["embedded", "mongo", "batches"] as StoreName[])(
  "workers killed over and over, on the %s store",
  (store) => {
    it.each(PROMISES)(
      "%s: %s",
      async (role) => {
        const run = await inPlaceOf(
          server,
          store,
          (place) => runKills({ role, place, program, cycles: 2, seed: 3 }),
          role,
        );
        expect(run.anomalies).toEqual([]);
      },
      300_000,
    );
  },
);
