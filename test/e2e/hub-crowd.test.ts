import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { compileProgram } from "../../scripts/embedded-sources.mjs";
import { runHubCrowd } from "../support/hub-crowd.js";

it("P13: of 100 WebSocket consumers 5 stop reading; these are cut off, the others get everything, memory is bounded", async () => {
  const program = fileURLToPath(compileProgram(new URL("../support/hub-process.ts", import.meta.url)));
  const run = await runHubCrowd({ program, consumers: 100, stalled: 5, events: 30 });
  expect(run.delivered).toBe(run.expected);
  // Whoever reads on too late to hear why finds the line dead.
  expect((run.cutOff[4430] ?? 0) + (run.cutOff[1006] ?? 0)).toBe(5);
  expect(run.peakMiB - run.connectedMiB).toBeLessThan(300);
});
