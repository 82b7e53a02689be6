import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { compileProgram } from "../../scripts/embedded-sources.mjs";
import { runHubCrowd } from "../support/hub-crowd.js";

it("P13: of 100 WebSocket consumers 6 stop reading; these are cut off, the others get everything, memory is bounded", async () => {
  const program = fileURLToPath(await compileProgram(new URL("../support/hub-process.ts", import.meta.url)));
  const run = await runHubCrowd({ program, consumers: 100, stalled: 6, events: 30, paceMs: 20 });
  expect(run.delivered).toBe(run.expected);
  // Who reads on learns why; to who does not nothing can be said.
  expect(run.readOn).toEqual({ 4430: 3 });
  expect(run.readNever).toEqual({ 1006: 3 });
  expect(run.peakMiB - run.connectedMiB).toBeLessThan(300);
});
