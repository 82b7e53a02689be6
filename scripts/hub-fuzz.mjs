/**
 * The long form of the hub's fuzz test: frames and requests that no client would send.
 *
 *   node --expose-gc scripts/hub-fuzz.mjs [--count 100000] [--seed 1] [--json]
 */
import { parseArgs } from "node:util";
import { compileModule } from "./embedded-sources.mjs";

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});
const program = await compileModule(new URL("../test/support/hub-fuzz.ts", import.meta.url));
const { runHubFuzz } = await import(program.href);
const startMs = performance.now();
const run = await runHubFuzz({ count: Number(values.count), seed: Number(values.seed) });
const seconds = Math.round((performance.now() - startMs) / 1_000);
if (values.json) console.log(JSON.stringify({ ...run, seconds }));
else {
  const { frames, requests, failures, statuses, codes, heapGrowthMiB } = run;
  console.log(
    `${frames} messages and ${requests} requests in ${seconds} s; heap grew by ${heapGrowthMiB} MiB`,
  );
  console.log("statuses", statuses);
  console.log("frames", codes);
  console.log(failures.length === 0 ? "no failure" : failures.slice(0, 20).join("\n"));
}
process.exitCode = run.failures.length === 0 ? 0 : 1;
