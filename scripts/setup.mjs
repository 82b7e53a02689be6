/**
 * What `npm start` and `npm test` do first: install the locked dependencies and build, each only when needed.
 *
 * A fresh clone has no node_modules, so this file is plain JavaScript and imports nothing but Node itself.
 * Words go to stderr; stdout belongs to the program that follows.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildIfChanged } from "./build.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, "node_modules");
const stamp = join(modules, ".promethean-setup");

/** Installs and builds. When either fails it says so in one line and answers false. */
export function setup() {
  try {
    requireNode();
    installIfChanged();
    buildIfChanged(say);
    return true;
  } catch (error) {
    say(`Set-up failed: ${error.message}`);
    return false;
  }
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Error(`Node 20.19 or newer is needed, this is ${process.versions.node}`);
  }
}

function installIfChanged() {
  const wanted = fingerprint();
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  if (installedByHand()) {
    writeFileSync(stamp, wanted);
    return;
  }
  say(
    existsSync(modules)
      ? "Installing dependencies (the lock file changed)…"
      : "Installing dependencies (first run)…",
  );
  npmCi();
  writeFileSync(stamp, wanted);
}

/** The lock file, what package.json asks for, and the platform: not its scripts or its description. */
function fingerprint() {
  const manifest = readJson("package.json");
  const asked = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides"];
  return createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .update(JSON.stringify(asked.map((field) => manifest[field] ?? null)))
    .update(`${process.platform} ${process.arch}`)
    .digest("hex");
}

/** True when a plain `npm install` has already brought node_modules to where the lock file points. */
function installedByHand() {
  if (!existsSync(join(modules, ".package-lock.json"))) return false;
  const installed = readJson("node_modules/.package-lock.json").packages;
  const locked = Object.entries(readJson("package-lock.json").packages).filter(([path]) => path !== "");
  return locked.every(([path, entry]) => {
    const there = installed[path];
    if (there === undefined) return entry.optional === true;
    return there.version === entry.version && runsHere(entry) && existsSync(join(root, path));
  });
}

function runsHere({ os = [process.platform], cpu = [process.arch] }) {
  return os.includes(process.platform) && cpu.includes(process.arch);
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}

function npmCi() {
  // Development dependencies hold the compiler: they are needed even where NODE_ENV says production.
  const args = ["ci", "--include=dev", "--no-audit", "--no-fund"];
  const npm = process.env.npm_execpath;
  const [command, commandArgs] = npm?.endsWith(".js") ? [process.execPath, [npm, ...args]] : ["npm", args];
  const done = spawnSync(command, commandArgs, {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: command === "npm" && process.platform === "win32",
  });
  if (done.error) throw new Error(`cannot run npm (${done.error.code}); is it on the PATH?`);
  if (done.status !== 0) throw new Error("`npm ci` did not succeed (see above)");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  process.exitCode = setup() ? 0 : 1;
}
