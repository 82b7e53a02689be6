import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { compileModule } from "../../scripts/embedded-sources.mjs";

it("a process tells whole lines, also if its pipe does not take them at once", async () => {
  const { href } = await compileModule(new URL("../support/tell-line.ts", import.meta.url));
  const program = `
    void process.stdout; // Whoever has it writes without waiting.
    const { tellLine } = await import(${JSON.stringify(href)});
    for (let n = 0; n < 3; n++) tellLine({ n, text: "x".repeat(8_000_000) });`;
  const args = ["--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 30_000_000 });
  const told = stdout.trim().split("\n");
  expect(told.map((line) => (JSON.parse(line) as { n: number }).n)).toEqual([0, 1, 2]);
});
