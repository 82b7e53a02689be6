/**
 * The sources as plain JavaScript, for tests that need a process of their own: whatever an entry reaches is transpiled
 * into a folder of the cache. Always the sources as they are now, never an old build.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Compiled {
  /** Addresses of the entries, for an import. */
  readonly entries: readonly string[];
  remove(): void;
}

/** @param entries files below src/, such as "index.ts" */
export function compileSources(...entries: readonly string[]): Compiled {
  const out = join(root, ".cache", "test", `compiled-${process.pid}-${Math.random().toString(36).slice(2)}`);
  const todo = entries.map((entry) => join(root, "src", entry));
  const seen = new Set(todo);
  for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
    const text = readFileSync(path, "utf8");
    for (const { fileName } of ts.preProcessFile(text).importedFiles) {
      if (!fileName.startsWith(".")) continue;
      const target = join(dirname(path), fileName.replace(/\.js$/, ".ts"));
      if (seen.has(target)) continue;
      seen.add(target);
      todo.push(target);
    }
    const { outputText } = ts.transpileModule(text, {
      fileName: path,
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2022,
        verbatimModuleSyntax: true,
      },
    });
    const target = join(out, relative(join(root, "src"), path)).replace(/\.ts$/, ".mjs");
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, outputText.replaceAll(/(from\s+|import\s*\(?\s*)"(\.[^"]+)\.js"/g, '$1"$2.mjs"'));
  }
  return {
    entries: entries.map((entry) => pathToFileURL(join(out, entry.replace(/\.ts$/, ".mjs"))).href),
    remove: () => rmSync(out, { recursive: true, force: true }),
  };
}
