/**
 * The long form of the failover test: 20 kills of the primary, 10 freezes, 10 step-downs, 5 restarts of the whole set.
 * Takes some minutes. Another plan: `node scripts/mongo-faults.mjs "kill*3 stop step restart"`.
 */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const round = "kill*2 stop kill step kill*2 stop step";
const plan = process.argv[2] ?? `${`${round} restart `.repeat(4)}kill*4 stop*2 step*2 restart`;
const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
const { status } = spawnSync(
  process.execPath,
  [vitest, "run", "--project", "e2e", "test/e2e/mongo-failover.test.ts"],
  { cwd: root, stdio: "inherit", env: { ...process.env, PROMETHEAN_FAULT_PLAN: plan } },
);
process.exitCode = status ?? 1;
