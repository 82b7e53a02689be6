/**
 * Whoever meets a name of the package in an editor is told what it is: every export has a sentence. And whoever implements one of
 * its interfaces can name what these speak of.
 */
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
/** What others implement, and hand to the bus. */
const IMPLEMENTED = ["Store", "Clock", "Meter", "EventStore", "CursorStore"];

describe("the names that the package exports", () => {
  const found = new Map<string, string>();
  const unnamed = new Set<string>();

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
        if (entry === "src/index.ts" && IMPLEMENTED.includes(symbol.name)) note(checker, meant);
      }
    }
    for (const name of found.keys()) unnamed.delete(name);
  }, 120_000);

  /** The exported types that a declaration speaks of, and what these speak of. */
  function note(checker: ts.TypeChecker, symbol: ts.Symbol): void {
    const visit = (node: ts.Node): void => {
      if (ts.isTypeReferenceNode(node)) {
        const named = checker.getSymbolAtLocation(node.typeName) as ts.Symbol;
        const meant = named.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(named) : named;
        if (isOurs(meant) && !unnamed.has(meant.name)) {
          unnamed.add(meant.name);
          note(checker, meant);
        }
      }
      // The insides of a class are nobody's to name, and it is the class that is handed on.
      if (!ts.isClassDeclaration(node)) ts.forEachChild(node, visit);
    };
    symbol.declarations?.forEach(visit);
  }

  it("are found", () => {
    expect(found.size).toBeGreaterThan(250);
    expect(found.get("createBus")).toMatch(/\w+ \w+/);
  });

  it("have a sentence each", () => {
    const silent = [...found].filter(([, text]) => text === "").map(([name]) => name);
    expect(silent).toEqual([]);
  });

  it("hold all that whoever implements a store, a clock or a meter has to name", () => {
    expect([...unnamed]).toEqual([]);
    expect([...found.keys()]).toEqual(
      expect.arrayContaining(["Log", "EventDraft", "StoredEvent", "JsonBody"]),
    );
  });
});

function isOurs(symbol: ts.Symbol): boolean {
  const [declaration] = symbol.declarations ?? [];
  if (declaration === undefined || ts.isTypeParameterDeclaration(declaration)) return false;
  const isExported = (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export) !== 0;
  return isExported && declaration.getSourceFile().fileName.startsWith(join(ROOT, "src"));
}
