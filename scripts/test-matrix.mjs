/**
 * `npm run test:matrix`: the unit and store suites on the other supported Node releases.
 *
 * The binaries come from npm packages at a pinned version and integrity and are kept in .cache/node. Extra arguments go
 * to vitest; the last line on stdout is `N passed, N failed` over all releases.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { setup } from "./setup.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, ".cache", "node");

const RELEASES = {
  "linux-arm64": {
    "22.23.3":
      "sha512-l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==",
    "24.21.0":
      "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
  },
  "linux-x64": {
    "22.23.3":
      "sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==",
    "24.21.0":
      "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  },
};

const totals = { passed: 0, failed: 0 };
try {
  if (!setup()) throw new Error("the set-up failed");
  for (const [version, integrity] of Object.entries(releases())) {
    const node = nodeBinary(version, integrity);
    console.error(`\nNode ${version}`);
    const { passed, failed } = runSuites(node, process.argv.slice(2));
    console.log(`Node ${version}: ${passed} passed, ${failed} failed`);
    totals.passed += passed;
    totals.failed += failed;
  }
} catch (error) {
  console.error(`test:matrix: ${error.message}`);
  totals.failed += 1;
}
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exitCode = totals.failed > 0 ? 1 : 0;

function releases() {
  const platform = `${process.platform}-${process.arch}`;
  const found = RELEASES[platform];
  if (found === undefined) throw new Error(`there are no pinned Node binaries for ${platform}`);
  return found;
}

/** The path of that release's `node`, fetched and verified on first use. */
function nodeBinary(version, integrity) {
  const home = join(cache, `${version}-${process.platform}-${process.arch}`);
  const binary = join(home, "package", "bin", "node");
  if (!existsSync(binary)) fetchRelease(version, integrity, home);
  const answer = spawnSync(binary, ["--version"], { encoding: "utf8" });
  if (answer.stdout?.trim() !== `v${version}`) throw new Error(`${binary} does not run as Node ${version}`);
  return binary;
}

/** Unpacks beside its final place and moves it there in one step: an interrupted fetch leaves nothing half done. */
function fetchRelease(version, integrity, home) {
  console.error(`Fetching Node ${version}…`);
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "fetch-"));
  try {
    const spec = `node-${process.platform}-${process.arch}@${version}`;
    run("npm", ["pack", spec, "--silent", "--pack-destination", folder]);
    const [name] = readdirSync(folder);
    if (name === undefined) throw new Error(`npm pack ${spec} brought nothing`);
    const tarball = join(folder, name);
    verify(tarball, integrity);
    run("tar", ["-xzf", tarball, "-C", folder, "package/bin/node"]);
    rmSync(tarball);
    rmSync(home, { recursive: true, force: true });
    renameSync(folder, home);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function verify(tarball, integrity) {
  const found = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`;
  if (found !== integrity) throw new Error(`${tarball} is not the pinned package: ${found}`);
}

function run(command, args) {
  const done = spawnSync(command, args, { cwd: root, stdio: ["ignore", "ignore", 2] });
  if (done.error || done.status !== 0) throw new Error(`\`${command} ${args.join(" ")}\` failed`);
}

/** `npm test` under another binary; its last line tells the numbers. */
function runSuites(node, args) {
  const test = join(root, "scripts", "test.mjs");
  const done = spawnSync(node, [test, "--project", "unit", "--project", "stores*", ...args], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", 2],
    maxBuffer: 1 << 28,
  });
  process.stderr.write(done.stdout ?? "");
  const [, passed, failed] = /(\d+) passed, (\d+) failed\s*$/.exec(done.stdout ?? "") ?? [];
  if (passed === undefined) return { passed: 0, failed: 1 };
  return { passed: Number(passed), failed: Number(failed) };
}
