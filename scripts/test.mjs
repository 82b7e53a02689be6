/**
 * `npm test`: set-up, what the tests need, then every vitest project.
 *
 * Extra arguments go to vitest (`npm test -- src/model`). The last line on stdout is `N passed, N failed`; a
 * file that cannot be loaded, an unhandled error and a crashed run each count as failed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { setup } from "./setup.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const report = join(root, ".cache", "test-report.json");

finish(setup() && fetchFixtures() ? runVitest(process.argv.slice(2)) : { passed: 0, failed: 1 });

/** Programs that tests start: each script knows where to look and what to say when nothing is found. */
function fetchFixtures() {
  return ["mongod.mjs", "chromium.mjs"]
    .map((name) => join(root, "scripts", name))
    .filter((path) => existsSync(path))
    .every(
      (path) =>
        spawnSync(process.execPath, [path, "fetch"], { cwd: root, stdio: ["ignore", 2, 2] }).status === 0,
    );
}

function runVitest(args) {
  mkdirSync(dirname(report), { recursive: true });
  rmSync(report, { force: true });
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const done = spawnSync(process.execPath, [vitest, "run", ...reporters, ...args], {
    cwd: root,
    stdio: "inherit",
  });
  if (done.signal === "SIGINT") process.exit(130);
  return count(done.status === 0);
}

function count(clean) {
  if (!existsSync(report)) return { passed: 0, failed: 1 };
  const {
    numPassedTests: passed,
    numFailedTests,
    numPendingTests,
    testResults,
  } = JSON.parse(readFileSync(report, "utf8"));
  const unloaded = testResults.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  ).length;
  if (numPendingTests > 0) console.log(`${numPendingTests} skipped`);
  const failed = numFailedTests + unloaded;
  // An unhandled error, or nothing to run, shows only in vitest's exit code.
  return { passed, failed: failed === 0 && (!clean || passed === 0) ? 1 : failed };
}

function finish({ passed, failed }) {
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}
