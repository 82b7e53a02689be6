/** Short forms; `npm run test:faults -- --only clock-jumps,freezes` runs the long ones. */
import { describe, expect, it } from "vitest";
import { compileProgram } from "../../scripts/embedded-sources.mjs";
import { runClockJumps } from "./clock-jumps.js";
import { runFreezes } from "./freezes.js";

describe("time that goes wrong", () => {
  it("P4, P5, P9, P15: clocks that jump by an hour, forward and back, stop nothing and double nothing", async () => {
    const { anomalies, faults } = await runClockJumps({ count: 6, seed: 1 });
    expect(anomalies).toEqual([]);
    expect(Object.values(faults).reduce((sum, times) => sum + times)).toBe(6);
  });

  it("P1, P4, P5, P7: a process frozen beyond its lease changes nothing when it wakes", async () => {
    const program = await compileProgram(new URL("./freeze-child.ts", import.meta.url));
    const { anomalies, checked } = await runFreezes({ program, count: 2, seed: 1 });
    expect(anomalies).toEqual([]);
    expect(checked["events delivered"]).toBeGreaterThan(50);
  });
});
