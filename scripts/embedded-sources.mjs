/**
 * Compiles a TypeScript module and whatever it imports from src/ and test/ into .cache/, for threads and processes that
 * are started from the sources. Each folder is named by the content of all that is in it, so nothing stale is ever run;
 * a file that several folders have is compiled once, and the compiler is only loaded where something is left to compile.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folders = join(root, ".cache", "modules");
const files = join(root, ".cache", "module-files");
const require = createRequire(import.meta.url);
/** What a module imports when it runs: types are gone by then. */
const IMPORTS = /(?:^(?:import|export)(?! type)[^"';]*|\bimport\(\s*)"(\.[^"]+)"/gm;

/** The compiled form of `source`, a file: URL of a .ts module; `others` are modules it starts by their URL. */
export function compileModule(source, others = []) {
  const texts = new Map();
  for (const one of [source, ...others]) gather(fileURLToPath(one), texts);
  const folder = join(folders, nameOf([...texts].sort(([a], [b]) => (a < b ? -1 : 1))));
  if (!existsSync(folder)) {
    emit(folder, texts);
    forgetOld(folders);
    forgetOld(files);
  }
  return pathToFileURL(placeOf(folder, fileURLToPath(source)));
}

/** As `compileModule`, for a program that uses the embedded store. */
export function compileProgram(source) {
  const store = new URL("../src/stores/embedded/", import.meta.url);
  return compileModule(
    source,
    ["writer-worker.ts", "reader-worker.ts"].map((name) => new URL(name, store)),
  );
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

function emit(folder, texts) {
  aside(folder, (made) => {
    for (const [path, text] of texts) {
      const target = placeOf(made, path);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, compiledText(path, text));
    }
  });
}

function compiledText(path, text) {
  const file = join(files, nameOf([[path, text]]));
  if (!existsSync(file)) {
    mkdirSync(files, { recursive: true });
    aside(file, (made) => writeFileSync(made, transpile(path, text)));
  }
  return readFileSync(file, "utf8");
}

function transpile(path, text) {
  const ts = require("typescript");
  const { outputText } = ts.transpileModule(text, {
    fileName: path,
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      inlineSourceMap: true,
    },
  });
  return outputText;
}

/** Made beside its place and renamed, since several test processes may want it at once. */
function aside(place, make) {
  const made = `${place}.${process.pid}.${Date.now()}`;
  make(made);
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

/** Of what the compiler makes of these texts. */
function nameOf(texts) {
  const hash = createHash("sha256").update(require("typescript/package.json").version);
  for (const [path, text] of texts) hash.update(path).update(text);
  return hash.digest("hex").slice(0, 16);
}

function placeOf(folder, path) {
  return join(folder, relative(root, path).replace(/\.ts$/, ".js"));
}
