/**
 * Another revision's sources, compiled with the benchmarks of this tree: a git worktree in .cache/compare, one for each
 * commit, removed again once it is compiled. Dependencies are those installed here.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TSC } from "./tsc.mjs";

/** Returns the folder with the compiled tree. Throws with what to do. */
export function compileRevision(root, rev, suite) {
  const commit = git(root, ["rev-parse", "--verify", "--quiet", `${rev}^{commit}`]).trim();
  if (commit === "") throw new Error(`git knows no revision "${rev}"`);
  const place = join(root, ".cache", "compare", commit.slice(0, 12));
  const sources = join(place, "tree");
  const output = join(place, "compiled");
  mkdirSync(place, { recursive: true });
  removeTree(root, sources);
  try {
    git(root, ["worktree", "add", "--force", "--detach", sources, commit], "cannot check it out");
    useOurBenchmarks(root, sources);
    compile(sources, output, suite);
  } finally {
    removeTree(root, sources);
  }
  return output;
}

function useOurBenchmarks(root, sources) {
  for (const folder of ["bench", join("test", "support")]) {
    rmSync(join(sources, folder), { recursive: true, force: true });
    cpSync(join(root, folder), join(sources, folder), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(sources, "node_modules"));
}

/** Only the suite that is asked for, so that another one which needs newer sources is not in the way. */
function compile(sources, output, suite) {
  const suites = readdirSync(join(sources, "bench", "suites"))
    .filter((name) => name.startsWith(suite))
    .map((name) => (name.endsWith(".ts") ? `suites/${name}` : `suites/${name}/**/*.ts`));
  if (!suites.includes(`suites/${suite}.ts`)) throw new Error(`there is no suite "${suite}"`);
  const config = {
    extends: "./tsconfig.json",
    compilerOptions: { outDir: output, incremental: false, tsBuildInfoFile: null },
    include: ["*.ts", ...suites],
  };
  const path = join(sources, "bench", "tsconfig.compare.json");
  writeFileSync(path, JSON.stringify(config));
  rmSync(output, { recursive: true, force: true });
  const done = spawnSync(process.execPath, [TSC, "-p", path, "--pretty"], {
    cwd: sources,
    stdio: ["ignore", 2, 2],
  });
  if (done.status !== 0) throw new Error("its sources do not compile with this suite (see above)");
}

function removeTree(root, sources) {
  if (!existsSync(sources)) return;
  rmSync(sources, { recursive: true, force: true });
  git(root, ["worktree", "prune"]);
}

function git(root, args, otherwise) {
  const done = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  if (done.status !== 0 && otherwise !== undefined) throw new Error(`${otherwise}: ${done.stderr.trim()}`);
  return done.stdout ?? "";
}
