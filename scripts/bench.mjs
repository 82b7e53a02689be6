/**
 * `npm run bench -- <suite> [--json]`: set-up, then the benchmarks of bench/, compiled with the very sources they
 * measure. The garbage collector is at hand, so that heap figures mean something.
 *
 * `… compare <rev> [suite]` also compiles the sources of another revision, with the benchmarks of this tree, so that
 * both are asked the same.
 */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileRevision } from "./bench-revision.mjs";
import { setup } from "./setup.mjs";
import { TSC } from "./tsc.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

process.exitCode = setup() && compile() ? run(process.argv.slice(2)) : 1;

function compile() {
  const args = [TSC, "-p", join(root, "bench"), "--pretty"];
  return spawnSync(process.execPath, args, { cwd: root, stdio: ["ignore", 2, 2] }).status === 0;
}

function run(args) {
  const tree = treeFor(args);
  if (tree === null) return 1;
  const program = join(root, ".cache", "bench", "bench", "main.js");
  const done = spawnSync(process.execPath, ["--expose-gc", program, ...args, ...tree], {
    cwd: root,
    stdio: "inherit",
  });
  return done.status ?? 1;
}

/** What a comparison needs besides: the other tree. Null if there is none, which has been said. */
function treeFor([command, rev, name = "core"]) {
  if (command !== "compare" || rev === undefined || rev.startsWith("-")) return [];
  try {
    return ["--tree", compileRevision(root, rev, name.startsWith("-") ? "core" : name)];
  } catch (error) {
    process.stderr.write(`compare: ${error.message}\n`);
    return null;
  }
}
