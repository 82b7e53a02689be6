import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { compileProgram } from "../../../scripts/embedded-sources.mjs";
import { runCrashes } from "./crash-run.js";

describe("embedded store, killed over and over", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "promethean-crash-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("P1, P2, P3, P5, P9: 15 times kill -9 in full work lose nothing, double nothing, and the next goes on at once", async () => {
    const program = compileProgram(new URL("./crash-child.ts", import.meta.url));
    const run = await runCrashes({ program, path: join(folder, "bus.db"), cycles: 15, seed: 7 });
    expect(run.anomalies).toEqual([]);
    expect(run.acked).toBeGreaterThan(100);
    // The lease of a killed process lasts 10 s: it is not waited for.
    expect(run.slowestTakeoverMs).toBeLessThan(5_000);
  }, 120_000);
});
