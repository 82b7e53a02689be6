/**
 * The long form of the crash test: kills a process that publishes, consumes and projects on one store file, 200 times
 * unless told otherwise, and judges what is left.
 *
 *   node scripts/embedded-crash.mjs [--cycles 200] [--seed 1] [--json]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compileProgram } from "./embedded-sources.mjs";

const { values } = parseArgs({
  options: {
    cycles: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});
const compiled = (name) => compileProgram(new URL(`../test/stores/embedded/${name}.ts`, import.meta.url));
const { runCrashes } = await import(compiled("crash-run").href);
const folder = mkdtempSync(join(tmpdir(), "promethean-crash-"));
try {
  const startMs = performance.now();
  const run = await runCrashes({
    program: compiled("crash-child"),
    path: join(folder, "bus.db"),
    cycles: Number(values.cycles),
    seed: Number(values.seed),
  });
  const seconds = Math.round((performance.now() - startMs) / 1_000);
  if (values.json) console.log(JSON.stringify({ ...run, seconds }));
  else {
    const { kills, acked, logged, redelivered, slowestTakeoverMs, anomalies } = run;
    console.log(
      `${kills} kills in ${seconds} s: ${acked} publishes acknowledged, ${logged} events in the log`,
    );
    console.log(
      `${redelivered} redeliveries, all marked; slowest takeover ${Math.round(slowestTakeoverMs)} ms`,
    );
    console.log(anomalies.length === 0 ? "no anomaly" : anomalies.join("\n"));
  }
  process.exitCode = run.anomalies.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
