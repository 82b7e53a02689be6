/** Packs the package as it would be published, into .cache/package/promethean.tgz, for publint and attw to judge. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { setup } from "./setup.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, ".cache", "package");

process.exitCode = setup() && pack() ? 0 : 1;

function pack() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const packed = spawnSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], {
    cwd: root,
    stdio: ["ignore", "ignore", 2],
  });
  const [name] = readdirSync(folder);
  if (packed.status !== 0 || name === undefined) return false;
  renameSync(join(folder, name), join(folder, "promethean.tgz"));
  return true;
}
