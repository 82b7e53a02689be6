/**
 * Packs the package as it would be published and lets publint and attw judge the tarball.
 * "CJS resolves to ESM" is ignored: the package is ESM, and every supported Node can `require` it.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { setup } from "./setup.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, ".cache", "package");

if (!setup()) process.exit(1);
const tarball = pack();
const clean = [
  run("publint", ["node_modules/publint/src/cli.js", "run", "--strict", "--pack=false", tarball]),
  run("attw", ["node_modules/@arethetypeswrong/cli/dist/index.js", tarball, "--profile", "esm-only"]),
];
process.exitCode = clean.every(Boolean) ? 0 : 1;

function pack() {
  rmSync(cache, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  const packed = spawnSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", cache], {
    cwd: root,
    stdio: ["ignore", "ignore", 2],
  });
  const [name] = packed.status === 0 ? readdirSync(cache) : [];
  if (name === undefined) throw new Error("npm pack made no tarball");
  return join(cache, name);
}

function run(name, args) {
  const done = spawnSync(process.execPath, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  if (done.status !== 0) console.error(`${name}: the package is not fit to publish`);
  return done.status === 0;
}
