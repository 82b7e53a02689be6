/**
 * The long form of the crash test: kills processes that publish, consume and project on one store, 200 times unless told
 * otherwise, and judges what is left. With --points they die at named points instead of moments of chance, and so do
 * drainers, compactors, change feeds and those who remove topics.
 *
 *   node scripts/crash.mjs [--store embedded|mongo|batches] [--cycles 200] [--seed 1] [--points] [--json]
 */
import { parseArgs } from "node:util";
import { compileProgram } from "./embedded-sources.mjs";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "embedded" },
    cycles: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    points: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const { store } = values;
if (!["embedded", "mongo", "batches"].includes(store)) {
  console.error("--store is embedded, mongo, or batches (MongoDB with that layout of topics)");
  process.exit(2);
}
const compiled = (name) => compileProgram(new URL(`../test/stores/${name}.ts`, import.meta.url));
const { runCrashes } = await import((await compiled("crash/run")).href);
const { POINTS_OF } = await import((await compiled("crash/points")).href);
const { runKills } = await import((await compiled("project/kills/kill-run")).href);
const { inPlace } = await import((await compiled("project/kills/servers")).href);
const amount = { cycles: Number(values.cycles), seed: Number(values.seed) };
const startMs = performance.now();
const run = await crashes();
if (values.points) for (const role of ["drainer", "compactor", "changefeed", "remover"]) await kills(role);
const seconds = Math.round((performance.now() - startMs) / 1_000);
console.log(values.json ? JSON.stringify({ ...run, store, seconds }) : textOf(run));
process.exitCode = run.anomalies.length === 0 ? 0 : 1;

async function crashes() {
  const points = values.points ? POINTS_OF.bus : [];
  const program = await compiled("crash/child");
  return inPlace(store, (place) => runCrashes({ program, place, ...amount, points }));
}

async function kills(role) {
  const points = POINTS_OF[role];
  const program = await compiled("project/kills/worker-process");
  const { kills, anomalies } = await inPlace(
    store,
    (place) => runKills({ role, place, program, ...amount, points }),
    role,
  );
  run.kills += kills;
  run.anomalies.push(...anomalies.map((says) => `${role}: ${says}`));
}

function textOf({ kills, acked, logged, redelivered, deadLettered, slowestTakeoverMs, anomalies }) {
  return [
    `${kills} kills in ${seconds} s: ${acked} publishes acknowledged, ${logged} events in the log`,
    `${redelivered} redeliveries, all marked; ${deadLettered} dead letters, each once`,
    `slowest takeover ${Math.round(slowestTakeoverMs)} ms`,
    anomalies.length === 0 ? "no anomaly" : anomalies.join("\n"),
  ].join("\n");
}
