/** What the compiler is shown of `promethean/client` names nothing of Node: pages are checked without its types. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** The declarations of a module and of all that they refer to, by path. */
function declarationsOf(entry: string): Map<string, string> {
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile) as { config: unknown };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const emitting = { declaration: true, emitDeclarationOnly: true, noEmit: false, incremental: false };
  const program = ts.createProgram([join(ROOT, entry)], {
    ...options,
    ...emitting,
    outDir: join(ROOT, "dist"),
    rootDir: ROOT,
  });
  const all = new Map<string, string>();
  program.emit(undefined, (path, text) => void all.set(path, text));
  const reached = new Map<string, string>();
  const follow = (path: string): void => {
    const text = all.get(path);
    if (text === undefined || reached.has(path)) return;
    reached.set(path, text);
    for (const [, from = ""] of text.matchAll(/(?:from |import\()"(\.[^"]+)"/g))
      follow(join(dirname(path), from.replace(/\.js$/, ".d.ts")));
  };
  follow(join(ROOT, "dist", entry.replace(/\.ts$/, ".d.ts")));
  return reached;
}

it.each(["src/client/browser.ts", "src/client/index.ts"])(
  "%s names nothing of Node",
  (entry) => {
    const declarations = declarationsOf(entry);
    expect(declarations.size).toBeGreaterThan(5);
    const ofNode = [...declarations]
      .filter(([, text]) => /: Buffer\b|\bNodeJS\.|"node:/.test(text))
      .map(([path]) => path);
    expect(ofNode).toEqual([]);
  },
  120_000,
);
