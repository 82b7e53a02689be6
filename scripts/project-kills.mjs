/**
 * Kills drainers, projectors, compactors, change feeds or removers of topics at work, with kill -9, 50 times unless told otherwise, and
 * judges what is left.
 *
 *   node scripts/project-kills.mjs [--role drainer|changelog|transactional|compactor|changefeed|remover|all]
 *                                  [--store embedded|mongo|batches|all] [--cycles 50] [--seed 1] [--json]
 */
import { parseArgs } from "node:util";
import { compileProgram } from "./embedded-sources.mjs";

const { values } = parseArgs({
  options: {
    role: { type: "string", default: "all" },
    store: { type: "string", default: "all" },
    cycles: { type: "string", default: "50" },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});
const compiled = (name) =>
  compileProgram(new URL(`../test/stores/project/kills/${name}.ts`, import.meta.url));
const { runKills } = await import((await compiled("kill-run")).href);
const { inPlace } = await import((await compiled("servers")).href);
const roles = ["drainer", "changelog", "transactional", "compactor", "changefeed", "remover"];
const stores = ["embedded", "mongo", "batches"];
const chosen = (all, one, option) => {
  if (one === "all") return all;
  if (all.includes(one)) return [one];
  console.error(`--${option} is one of ${all.join(", ")}, all`);
  process.exit(2);
};
const program = await compiled("worker-process");
const cycles = Number(values.cycles);
const seed = Number(values.seed);
for (const role of chosen(roles, values.role, "role")) {
  for (const store of chosen(stores, values.store, "store")) {
    const startMs = performance.now();
    const run = await inPlace(store, (place) => runKills({ role, place, program, cycles, seed }), role);
    const seconds = Math.round((performance.now() - startMs) / 1_000);
    if (run.anomalies.length > 0) process.exitCode = 1;
    if (values.json) console.log(JSON.stringify({ role, store, seed, ...run, seconds }));
    else
      console.log(
        `${role} on ${store}: ${run.kills} kills in ${seconds} s, ${run.anomalies.join("\n") || "no anomaly"}`,
      );
  }
}
