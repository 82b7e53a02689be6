/**
 * Bundles a TypeScript module with whatever it imports from src/ and test/ into .cache/, for threads and processes that
 * are started from the sources: to load one file takes a process half of the time that hundreds take. Each folder is named
 * by the content of all that is in it, so nothing stale is ever run, and the bundler is only loaded where it is needed.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folders = join(root, ".cache", "modules");
/** What a module imports when it runs: types are gone by then. */
const IMPORTS = /(?:^(?:import|export)(?! type)[^"';]*|\bimport\(\s*)"(\.[^"]+)"/gm;
/** Packages that are not to be bundled: one is native code, the others are no part of any program. */
const LEFT_OUT = ["libsql", "typescript", "vitest"];
/** In this process: a store that is opened a hundred times starts the same threads a hundred times. */
const compiled = new Map();

/** The bundled form of `source`, a file: URL of a .ts module; `others` are modules it starts by their URL. */
export function compileModule(source, others = []) {
  const entries = [source, ...others].map((one) => fileURLToPath(one));
  const key = entries.join();
  let made = compiled.get(key);
  if (made === undefined) {
    made = compile(entries);
    compiled.set(key, made);
  }
  return made;
}

/** As `compileModule`, for a program that uses the embedded store. */
export function compileProgram(source) {
  const store = new URL("../src/stores/embedded/threads/", import.meta.url);
  return compileModule(
    source,
    ["writer-worker.ts", "reader-worker.ts"].map((name) => new URL(name, store)),
  );
}

async function compile(entries) {
  const texts = new Map();
  for (const entry of entries) gather(entry, texts);
  const folder = join(folders, nameOf([...texts].sort(([a], [b]) => (a < b ? -1 : 1))));
  if (!existsSync(folder)) {
    await aside(folder, (made) => bundle(entries, made));
    forgetOld(folders);
  }
  return pathToFileURL(join(folder, `${nameOfEntry(entries[0])}.js`));
}

function gather(path, texts) {
  if (texts.has(path)) return;
  const text = readFileSync(path, "utf8");
  texts.set(path, text);
  for (const [, name] of text.matchAll(IMPORTS)) {
    const imported = join(dirname(path), name.replace(/\.js$/, ".ts"));
    if (imported.endsWith(".ts") && existsSync(imported)) gather(imported, texts);
  }
}

/** All in one folder, so that a module finds those it starts beside itself, as it does in the package. */
async function bundle(entries, dir) {
  const { build } = await import("rolldown");
  await build({
    input: Object.fromEntries(entries.map((entry) => [nameOfEntry(entry), entry])),
    platform: "node",
    tsconfig: false,
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
    transform: { target: "node20.19", typescript: { onlyRemoveTypeImports: true } },
    external: LEFT_OUT,
    treeshake: { moduleSideEffects: true },
    // Packages ask for others that they can do without, and that are not installed.
    logLevel: "silent",
    output: { dir, entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js", keepNames: true },
  });
}

function nameOfEntry(path) {
  return basename(path, ".ts");
}

/** Made beside its place and renamed, since several test processes may want it at once. */
async function aside(place, make) {
  const made = `${place}.${process.pid}.${Date.now()}`;
  await make(made);
  try {
    renameSync(made, place);
  } catch (error) {
    if (!existsSync(place)) throw error;
    rmSync(made, { recursive: true, force: true });
  }
}

/** What was compiled days ago is of sources that have changed since. */
function forgetOld(cache) {
  for (const name of readdirSync(cache)) {
    const made = join(cache, name);
    const { mtimeMs } = statSync(made, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (Date.now() - mtimeMs > 2 * 86_400_000) rmSync(made, { recursive: true, force: true });
  }
}

/** Of what the bundler makes of these texts; the bundler and the driver are as the lock file says. */
function nameOf(texts) {
  const hash = createHash("sha256").update(readFileSync(join(root, "package-lock.json")));
  for (const [path, text] of texts) hash.update(path).update(text);
  return hash.digest("hex").slice(0, 16);
}
