/** Short forms; `npm run test:faults -- --only mongo-endurance,embedded-endurance --minutes 60` runs the long ones. */
import { describe, expect, it } from "vitest";
import { compileProgram } from "../../scripts/embedded-sources.mjs";
import { runEmbeddedEndurance, runMongoEndurance } from "./endurance.js";

const program = await compileProgram(new URL("./projecting-child.ts", import.meta.url));

describe("steady load with faults", () => {
  it.each([
    ["the embedded store", runEmbeddedEndurance],
    ["MongoDB", runMongoEndurance],
  ])("P1, P4, P5, P9, P15: on %s nothing is lost or doubled, nothing grows", async (_, run) => {
    const { anomalies, checked } = await run({ program, count: 5, seed: 1 });
    expect(anomalies).toEqual([]);
    expect(checked["events delivered"]).toBe(checked["publishes acknowledged"]);
    expect(checked["effects counted exactly once"]).toBe(checked["events delivered"]);
  });
});
