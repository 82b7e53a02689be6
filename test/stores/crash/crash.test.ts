/** The short forms of `scripts/crash.mjs`. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileProgram } from "../../../scripts/embedded-sources.mjs";
import type { ReplicaSet } from "../../support/mongo/replica-set.js";
import { runKills } from "../project/kills/kill-run.js";
import { inPlaceOf, type StoreName, startServer, tells } from "../project/kills/servers.js";
import { POINTS_OF } from "./points.js";
import { runCrashes } from "./run.js";

const TEST_MS = 300_000;
const STORES: readonly StoreName[] = ["embedded", "mongo", "batches"];
const WORKERS = [
  ["P2", "remover", POINTS_OF.remover],
  ["P10", "drainer", POINTS_OF.drainer],
  ["P11", "compactor", POINTS_OF.compactor],
  ["P12", "changefeed", POINTS_OF.changefeed],
] as const;
const program = await compileProgram(new URL("./child.ts", import.meta.url));
const worker = await compileProgram(new URL("../project/kills/worker-process.ts", import.meta.url));

let server: ReplicaSet;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.dispose());

describe.each(STORES)("processes on the %s store, killed", (store) => {
  it(
    "P1, P2, P3, P5, P8, P9: at any moment, over and over: nothing is lost or doubled, and the next goes on at once",
    async () => {
      const cycles = store === "embedded" ? 6 : 4;
      const run = await inPlaceOf(server, store, (place) => runCrashes({ program, place, cycles, seed: 7 }));
      expect(run.anomalies).toEqual([]);
      expect(run.acked).toBeGreaterThan(50);
      // The lease of a killed process lasts 10 s on a file: it is not waited for.
      expect(run.slowestTakeoverMs).toBeLessThan(8_000);
    },
    TEST_MS,
  );

  it(
    "P1, P2, P3, P5, P7, P8, P9: at each named point: nothing is lost or doubled",
    async () => {
      const points = store === "batches" ? POINTS_OF.layout : POINTS_OF.bus;
      const run = await inPlaceOf(server, store, (place) =>
        runCrashes({ program, place, cycles: points.length, seed: 3, points, endsSessions: true }),
      );
      expect(run.anomalies).toEqual([]);
      expect(run.deadLettered).toBeGreaterThan(0);
    },
    TEST_MS,
  );

  it.each(WORKERS.filter(([, role]) => tells(store, role)))(
    "%s: a %s dies at each named point, and the next one finishes its work",
    async (_, role, points) => {
      const run = await inPlaceOf(
        server,
        store,
        (place) => runKills({ role, place, program: worker, cycles: points.length, seed: 3, points }),
        role,
      );
      expect(run.anomalies).toEqual([]);
    },
    TEST_MS,
  );
});
