/** The user's sources as the compiler sees them: the files of a folder, with the types of all they import. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import type ts from "typescript";
import { BusError } from "../../model/errors.js";
import type { Compiler, TypeScript } from "./typescript.js";

/** A place in a source, for people: lines and columns begin at 1. */
export interface Place {
  /** Relative to the project, with "/". */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface Project {
  readonly ts: TypeScript;
  readonly root: string;
  readonly options: ts.CompilerOptions;
  readonly checker: ts.TypeChecker;
  /** The project's own files: no declarations, no dependencies. */
  readonly sources: readonly ts.SourceFile[];
}

const EXTENSIONS = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];
const FOREIGN = ["**/node_modules", "**/dist", "**/.*"];

/** `tsconfig`: the one that is found from the folder upwards, unless one is named. NOT_FOUND if there is nothing to read. */
export function openProject({ ts }: Compiler, root: string, tsconfig?: string): Project {
  const folder = resolve(root);
  if (!existsSync(folder)) throw new BusError("NOT_FOUND", `there is no folder ${root}`);
  const config = tsconfig === undefined ? ts.findConfigFile(folder, ts.sys.fileExists) : resolve(tsconfig);
  const { options, fileNames } = config === undefined ? withoutConfig(ts) : readConfig(ts, config);
  const own = fileNames.filter((name) => isInside(folder, name));
  // A folder that its configuration leaves out, or that has none, is read whole.
  const rootNames = own.length > 0 ? own : ts.sys.readDirectory(folder, EXTENSIONS, FOREIGN);
  if (rootNames.length === 0) throw new BusError("NOT_FOUND", `${root} holds no TypeScript or JavaScript`);
  const program = ts.createProgram({ rootNames, options });
  return {
    ts,
    root: folder,
    options,
    checker: program.getTypeChecker(),
    sources: program
      .getSourceFiles()
      .filter((source) => !source.isDeclarationFile && isInside(folder, source.fileName)),
  };
}

function isInside(folder: string, file: string): boolean {
  const path = relative(folder, resolve(file));
  return !path.startsWith("..") && !path.split(sep).includes("node_modules");
}

function withoutConfig(ts: TypeScript): { options: ts.CompilerOptions; fileNames: readonly string[] } {
  const options: ts.CompilerOptions = {
    allowJs: true,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    // Types are looked up, not checked: what a browser has can be left out.
    lib: ["lib.es2023.d.ts"],
    types: [],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  };
  return { options, fileNames: [] };
}

function readConfig(
  ts: TypeScript,
  path: string,
): { options: ts.CompilerOptions; fileNames: readonly string[] } {
  const { config, error } = ts.readConfigFile(path, ts.sys.readFile) as {
    config?: unknown;
    error?: ts.Diagnostic;
  };
  if (error !== undefined) {
    const why = ts.flattenDiagnosticMessageText(error.messageText, " ");
    throw new BusError("INVALID_OPTION", `${path} cannot be read: ${why}`);
  }
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, dirname(path));
  const { tsBuildInfoFile: _, ...rest } = options;
  return {
    options: { ...rest, noEmit: true, incremental: false, composite: false, skipLibCheck: true },
    fileNames,
  };
}

export function placeOf({ root }: Project, node: ts.Node): Place {
  const source = node.getSourceFile();
  const { line, character } = source.getLineAndCharacterOfPosition(node.getStart(source));
  return { file: relativePath(root, source.fileName), line: line + 1, column: character + 1 };
}

export function relativePath(root: string, file: string): string {
  return relative(root, file).split(sep).join("/");
}

const names = new Map<string, string | undefined>();

/** The name of the package that a file belongs to. */
export function packageOf(file: string): string | undefined {
  return packageAt(dirname(file));
}

function packageAt(folder: string): string | undefined {
  if (names.has(folder)) return names.get(folder);
  const name = nameIn(join(folder, "package.json"));
  const parent = dirname(folder);
  const found = name ?? (parent === folder ? undefined : packageAt(parent));
  names.set(folder, found);
  return found;
}

/** A package.json without a name, such as those that only say "type", is no package. */
function nameIn(path: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(path, "utf8")) as { name?: unknown };
    return typeof name === "string" ? name : undefined;
  } catch {
    return undefined;
  }
}
