/**
 * The long form of the crowd test: 1,000 WebSocket consumers on one hub, 50 of which stop reading. Every event goes to
 * everybody, first while all of them read, then while some do not: what the others notice of it is the difference.
 *
 *   node scripts/hub-crowd.mjs [--consumers 1000] [--stalled 50] [--events 100] [--pace-ms 100] [--json]
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compileModule, compileProgram } from "./embedded-sources.mjs";

const { values } = parseArgs({
  options: {
    consumers: { type: "string", default: "1000" },
    stalled: { type: "string", default: "50" },
    events: { type: "string", default: "100" },
    "pace-ms": { type: "string", default: "100" },
    json: { type: "boolean", default: false },
  },
});
const support = (name) => new URL(`../test/support/${name}.ts`, import.meta.url);
const { runHubCrowd } = await import((await compileModule(support("hub-crowd"))).href);
const run = await runHubCrowd({
  program: fileURLToPath(await compileProgram(support("hub-process"))),
  consumers: Number(values.consumers),
  stalled: Number(values.stalled),
  events: Number(values.events),
  paceMs: Number(values["pace-ms"]),
});
const told = ({ p50Ms, p90Ms, p99Ms, maxMs }) =>
  `median ${p50Ms} ms, p90 ${p90Ms} ms, p99 ${p99Ms} ms, at most ${maxMs} ms`;
if (values.json) console.log(JSON.stringify(run));
else {
  console.log(`${run.delivered} of ${run.expected} deliveries to those who read`);
  console.log(`published to received, everybody reads:   ${told(run.whileAllRead)}`);
  console.log(`published to received, some do not:       ${told(run.whileSomeStall)}`);
  console.log(`hub: ${run.connectedMiB} MiB with everybody there, ${run.peakMiB} MiB at most`);
  console.log("closed, of those who read on when they were cut off:", run.readOn);
  console.log("closed, of those who did not:", run.readNever);
}
process.exitCode = run.delivered === run.expected ? 0 : 1;
