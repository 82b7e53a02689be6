/** The short form; `npm run test:faults -- --only hub-kills` runs the long one. */
import { expect, it } from "vitest";
import { compileProgram } from "../../scripts/embedded-sources.mjs";
import { runHubKills } from "./hub-kills.js";

it("P1, P3, P4, P5, P15: hubs are killed under their clients, who lose nothing and go on with the next", async () => {
  const program = await compileProgram(new URL("../support/hub-process.ts", import.meta.url));
  const { anomalies, checked } = await runHubKills({ program, count: 2, seed: 1 });
  expect(anomalies).toEqual([]);
  expect(checked["publishes acknowledged"]).toBeGreaterThan(100);
});
