import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { compileModule } from "../../../scripts/embedded-sources.mjs";
import { simulate } from "./simulate.js";

let program = "";
beforeAll(async () => {
  program = fileURLToPath(await compileModule(new URL("./cli.ts", import.meta.url)));
}, 60_000);

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [program, ...args], { encoding: "utf8" });
}

describe("npm run sim", { timeout: 60_000 }, () => {
  it("runs seeds, sums up on stdout, and shows no progress where there is no terminal", () => {
    const { status, stdout, stderr } = run("--seeds", "2", "--from", "7");
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^2 seeds from 7: 0 failed, \d+ events recorded, [\d.]+ s\n$/);
  });

  it("gives in another process the very run that this one gives", async () => {
    const { hash } = await simulate({ seed: 7 });
    expect(run("--seed", "7").stdout).toContain(`hash ${hash}`);
  });

  it("ends with 1 if a seed is not clean, with the anomalies and the one command that replays it", () => {
    const { status, stdout } = run("--seeds", "1", "--mutant", "floor-over-gap");
    expect(status).toBe(1);
    expect(stdout).toMatch(/^seed 1: \d+ anomalies\n {2}\S+: \S/);
    expect(stdout).toContain("replay: npm run sim -- --seed 1 --mutant floor-over-gap --trace\n");
  });

  it("prints the history of one seed, one event a line", () => {
    const { status, stdout } = run("--seed", "7", "--trace");
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ *0 began +member=bus-1\.1$/m);
    expect(stdout).toMatch(
      /^ *\d+ committed +group=\S+ topic=orders partition=\d+ epoch=\d+ cursor=\{\d+\+\[/m,
    );
  });

  it.each([
    ["--seed", "x"],
    ["--mutant", "none-of-them"],
    ["--throws", "6"],
  ])("refuses %s %s with 2 and one line", (...args) => {
    const { status, stdout, stderr } = run(...args);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });
});
