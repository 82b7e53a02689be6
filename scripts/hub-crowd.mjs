/**
 * The long form of the crowd test: 1,000 WebSocket consumers on one hub, 50 of which stop reading.
 *
 *   node scripts/hub-crowd.mjs [--consumers 1000] [--stalled 50] [--events 100] [--json]
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compileModule, compileProgram } from "./embedded-sources.mjs";

const { values } = parseArgs({
  options: {
    consumers: { type: "string", default: "1000" },
    stalled: { type: "string", default: "50" },
    events: { type: "string", default: "100" },
    json: { type: "boolean", default: false },
  },
});
const support = (name) => new URL(`../test/support/${name}.ts`, import.meta.url);
const { runHubCrowd } = await import(compileModule(support("hub-crowd")).href);
const run = await runHubCrowd({
  program: fileURLToPath(compileProgram(support("hub-process"))),
  consumers: Number(values.consumers),
  stalled: Number(values.stalled),
  events: Number(values.events),
});
if (values.json) console.log(JSON.stringify(run));
else {
  const { delivered, expected, p50Ms, p99Ms, connectedMiB, peakMiB, cutOff } = run;
  console.log(`${delivered} of ${expected} deliveries; published to received ${p50Ms} ms, p99 ${p99Ms} ms`);
  console.log(`hub: ${connectedMiB} MiB with everybody there, ${peakMiB} MiB at most`);
  console.log("those who did not read were closed with", cutOff);
}
process.exitCode = run.delivered === run.expected ? 0 : 1;
