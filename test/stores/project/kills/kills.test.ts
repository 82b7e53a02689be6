/** The short form of scripts/project-kills.mjs. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileProgram } from "../../../../scripts/embedded-sources.mjs";
import type { ReplicaSet } from "../../../support/mongo/replica-set.js";
import { runKills } from "./kill-run.js";
import type { RoleName } from "./roles.js";
import { inPlaceOf, type StoreName, startServer, tells } from "./servers.js";

/** A remover dies at each named point in test/stores/crash. */
const PROMISES: Readonly<Record<Exclude<RoleName, "remover">, string>> = {
  compactor: "P11: no key's newest value is lost, in the log or in its snapshot",
  drainer: "P10: every entry is published once, each key in order",
  changelog: "P5: the view is what a replay comes to",
  transactional: "P9: every event takes effect exactly once",
  changefeed: "P12: every change is told once, each document's in order",
};

let server: ReplicaSet;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.dispose());

describe.each(["embedded", "mongo", "batches"] as StoreName[])(
  "workers killed over and over, on the %s store",
  (store) => {
    const program = compileProgram(new URL("./worker-process.ts", import.meta.url));

    const promises = Object.entries(PROMISES) as [RoleName, string][];
    it.each(promises.filter(([role]) => tells(store, role)))(
      "%s: %s",
      async (role) => {
        const run = await inPlaceOf(server, store, (place) =>
          runKills({ role, place, program, cycles: 2, seed: 3 }),
        );
        expect(run.anomalies).toEqual([]);
      },
      300_000,
    );
  },
);
