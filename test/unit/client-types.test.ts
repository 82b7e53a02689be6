/** What the compiler is shown of `promethean/client` names nothing of Node: pages are checked without its types. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { beforeAll, expect, it } from "vitest";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

const ENTRIES = ["src/client/browser.ts", "src/client/index.ts"];

/** The declarations of all that the entries import, by path. */
const all = new Map<string, string>();

beforeAll(() => {
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile) as { config: unknown };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const emitting = { declaration: true, emitDeclarationOnly: true, noEmit: false, incremental: false };
  const places = { outDir: join(ROOT, "dist"), rootDir: ROOT };
  const program = ts.createProgram(
    ENTRIES.map((entry) => join(ROOT, entry)),
    { ...options, ...emitting, ...places },
  );
  program.emit(undefined, (path, text) => void all.set(path, text));
}, 120_000);

/** The declarations of a module and of all that they refer to, by path. */
function declarationsOf(entry: string): Map<string, string> {
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

it.each(ENTRIES)("%s names nothing of Node", (entry) => {
  const declarations = declarationsOf(entry);
  expect(declarations.size).toBeGreaterThan(5);
  const ofNode = [...declarations]
    .filter(([, text]) => /: Buffer\b|\bNodeJS\.|"node:/.test(text))
    .map(([path]) => path);
  expect(ofNode).toEqual([]);
});
