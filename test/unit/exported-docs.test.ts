/** Whoever meets a name of the package in an editor is told what it is: every export has a sentence. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { beforeAll, describe, expect, it } from "vitest";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  exports: Record<string, string | { types: string }>;
};
const ENTRIES = Object.values(exports).flatMap((target) =>
  typeof target === "string" ? [] : [target.types.replace(/^\.\/dist\//, "src/").replace(/\.d\.ts$/, ".ts")],
);
describe("the names that the package exports", () => {
  const found = new Map<string, string>();

  beforeAll(() => {
    const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile) as { config: unknown };
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
    const program = ts.createProgram(
      ENTRIES.map((entry) => join(ROOT, entry)),
      { ...options, noEmit: true },
    );
    const checker = program.getTypeChecker();
    for (const entry of ENTRIES) {
      const source = program.getSourceFile(join(ROOT, entry)) as ts.SourceFile;
      const module = checker.getSymbolAtLocation(source) as ts.Symbol;
      for (const symbol of checker.getExportsOfModule(module)) {
        const meant = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
        found.set(symbol.name, ts.displayPartsToString(meant.getDocumentationComment(checker)));
      }
    }
  }, 120_000);

  it("are found", () => {
    expect(found.size).toBeGreaterThan(250);
    expect(found.get("createBus")).toMatch(/\w+ \w+/);
  });

  it("have a sentence each", () => {
    const silent = [...found].filter(([, text]) => text === "").map(([name]) => name);
    expect(silent).toEqual([]);
  });
});
