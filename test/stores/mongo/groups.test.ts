import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileModule } from "../../../scripts/embedded-sources.mjs";
import { dropDatabase, newDatabaseName, sharedServerUrl } from "../../support/mongo/shared-server.js";
import { runGroup } from "./group-run.js";

/** scripts/mongo-groups.mjs runs it longer. */
const SECONDS = Number(process.env.PROMETHEAN_GROUP_SECONDS ?? 12);

describe("a group of processes on MongoDB", () => {
  const db = newDatabaseName();
  let url: string;

  beforeAll(async () => {
    url = await sharedServerUrl();
  });
  afterAll(() => dropDatabase(url, db));

  it(
    "P4, P5, P7, P15: members come, leave, are killed and frozen; nothing is lost, keys stay in order, little moves",
    async () => {
      const program = await compileModule(new URL("./group-member.ts", import.meta.url));
      const run = await runGroup({ program, url, db, seconds: SECONDS, seed: 5 });
      if (SECONDS > 12) console.info(run);
      expect(run.anomalies).toEqual([]);
      expect(run.delivered).toBe(run.published);
      expect(run.published).toBeGreaterThan(100);
      expect(run.moves).toBeLessThanOrEqual(run.estimatedMoves * 2 + 12);
    },
    120_000 + SECONDS * 1_000,
  );
});
