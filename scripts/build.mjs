/**
 * Builds dist/ from src/ with `tsc -b`, and dist/console from src/console with vite, and decides when either can be
 * left out.
 *
 * dist/ is up to date when its stamp equals the fingerprint of every source and compiler option, and every
 * source has its output. Outputs whose source is gone are removed, so that a deleted module cannot be imported.
 * Plain JavaScript: the set-up runs it before anything is installed.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { TSC } from "./tsc.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sourceDir = join(root, "src");
const outputDir = join(root, "dist");
const stamp = join(outputDir, ".promethean-build");

/** The console has a build of its own. */
const FOREIGN = `console${sep}`;
const consoleDir = join(sourceDir, "console");
const consolePage = join(outputDir, "console", "index.html");
const consoleStamp = join(outputDir, ".promethean-console");

/** Brings dist/ up to date; false when there was nothing to do. Throws when the sources do not compile. */
export function buildIfChanged(say) {
  const fingerprint = fingerprintOf(sources());
  const isBuilt = readOr(stamp, "") === fingerprint && missingOutputs().length === 0;
  if (!isBuilt) {
    say("Building dist/…");
    build(fingerprint);
  }
  return buildConsoleIfChanged(say) || !isBuilt;
}

/** The console alone; false when there was nothing to do. */
export function buildConsoleIfChanged(say) {
  const fingerprint = fingerprintOf(consoleSources());
  if (readOr(consoleStamp, "") === fingerprint && existsSync(consolePage)) return false;
  say("Building the console…");
  buildConsole(fingerprint);
  return true;
}

function buildConsole(fingerprint = fingerprintOf(consoleSources())) {
  rmSync(consoleStamp, { force: true });
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  const args = [vite, "build", "--config", join(consoleDir, "vite.config.ts"), "--logLevel", "warn"];
  // Whatever the environment says (tests are one of those who build): else vite leaves in what is for developers.
  run(args, "the console does not build (see above)", { ...process.env, NODE_ENV: "production" });
  writeFileSync(consoleStamp, fingerprint);
}

function consoleSources() {
  return files(sourceDir).filter((path) => isForeign(path) && !path.endsWith(".test.ts"));
}

function build(fingerprint = fingerprintOf(sources())) {
  rmSync(stamp, { force: true });
  removeOrphans();
  // tsc trusts its own notes about what it wrote; they are wrong once a file was deleted by hand.
  if (missingOutputs().length > 0) rmSync(join(outputDir, ".tsbuildinfo"), { force: true });
  run([TSC, "-b", "tsconfig.build.json", "--pretty"], "the sources do not compile (see above)");
  if (existsSync(outputDir)) writeFileSync(stamp, fingerprint);
}

function run(args, otherwise, env = process.env) {
  const done = spawnSync(process.execPath, args, { cwd: root, env, stdio: ["ignore", 2, 2] });
  if (done.error) throw done.error;
  if (done.status !== 0) throw new Error(otherwise);
}

function sources() {
  return files(sourceDir).filter(
    (path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && !isForeign(path),
  );
}

function isForeign(path) {
  return path.startsWith(FOREIGN);
}

function fingerprintOf(paths) {
  const hash = createHash("sha256");
  for (const name of ["tsconfig.json", "tsconfig.build.json", "package-lock.json"]) {
    hash.update(readOr(join(root, name), ""));
  }
  for (const path of paths) hash.update(`\n${path}\n`).update(readFileSync(join(sourceDir, path)));
  return hash.digest("hex");
}

function missingOutputs() {
  return sources()
    .filter((path) => !path.endsWith(".d.ts"))
    .map((path) => path.replace(/\.ts$/, ".js"))
    .filter((path) => !existsSync(join(outputDir, path)));
}

function removeOrphans() {
  const known = new Set(sources().map((path) => path.replace(/\.ts$/, "")));
  for (const path of files(outputDir)) {
    const stem = path.replace(/(\.d\.ts|\.js)(\.map)?$/, "");
    if (stem !== path && !isForeign(path) && !known.has(stem)) rmSync(join(outputDir, path));
  }
}

function files(dir) {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)))
    .sort();
}

function readOr(path, fallback) {
  return existsSync(path) ? readFileSync(path, "utf8") : fallback;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    build();
    buildConsole();
  } catch (error) {
    console.error(`build: ${error.message}`);
    process.exitCode = 1;
  }
}
