/**
 * The long form of the group test on MongoDB: members of one group, each a process, come, leave, are killed and are
 * frozen for two minutes, or for as many seconds as are given: `node scripts/mongo-groups.mjs 600`.
 */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
const { status } = spawnSync(
  process.execPath,
  [vitest, "run", "--project", "stores", "test/stores/mongo/groups.test.ts"],
  {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, PROMETHEAN_GROUP_SECONDS: process.argv[2] ?? "120" },
  },
);
process.exitCode = status ?? 1;
