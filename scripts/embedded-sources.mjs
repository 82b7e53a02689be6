/**
 * Compiles a TypeScript module and whatever it imports from src/ and test/ into .cache/, for threads and processes that
 * are started from the sources. Each file is named by its content and that of all it imports, so nothing stale is
 * ever run and nothing is compiled twice.
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
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, ".cache", "modules");

/** The compiled form of `source`, a file: URL of a .ts module; `others` are modules it starts by their URL. */
export function compileModule(source, others = []) {
  const texts = new Map();
  for (const one of [source, ...others]) gather(fileURLToPath(one), texts);
  const hash = createHash("sha256").update(ts.version);
  for (const [path, text] of [...texts].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(path).update(text);
  const folder = join(cache, hash.digest("hex").slice(0, 16));
  if (!existsSync(folder)) {
    emit(folder, texts);
    forgetOld();
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
  for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
    if (!fileName.startsWith(".")) continue;
    const imported = join(dirname(path), fileName.replace(/\.js$/, ".ts"));
    if (imported.endsWith(".ts") && existsSync(imported)) gather(imported, texts);
  }
}

/** Made aside and renamed, since several test processes may want it at once. */
function emit(folder, texts) {
  const aside = `${folder}.${process.pid}.${Date.now()}`;
  for (const [path, text] of texts) {
    const target = placeOf(aside, path);
    const { outputText } = ts.transpileModule(text, {
      fileName: path,
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
        inlineSourceMap: true,
      },
    });
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, outputText);
  }
  try {
    renameSync(aside, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

/** What was compiled days ago is of sources that have changed since. */
function forgetOld() {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name);
    const { mtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (Date.now() - mtimeMs > 2 * 86_400_000) rmSync(folder, { recursive: true, force: true });
  }
}

function placeOf(folder, path) {
  return join(folder, relative(root, path).replace(/\.ts$/, ".js"));
}
