/**
 * Hooks for Node's module loader, so that a project's TypeScript modules can be imported as they are: each is turned into
 * JavaScript on its way in, and what only the compiler can find (`./a.js` that is `./a.ts`, `paths`) it finds. They run in
 * a thread of Node's own.
 */
import { readFile } from "node:fs/promises";
import type { InitializeHook, LoadHook, ResolveHook } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type ts from "typescript";
import type { TypeScript } from "./typescript.js";

export interface HookData {
  readonly typescript: string;
  readonly options: ts.CompilerOptions;
}

const SOURCE = /\.[cm]?tsx?$/;

let compiler: TypeScript;
let settings: ts.CompilerOptions = {};

export const initialize: InitializeHook<HookData> = async ({ typescript, options }) => {
  const loaded = (await import(typescript)) as { readonly default: TypeScript };
  compiler = loaded.default;
  settings = options;
};

export const resolve: ResolveHook = async (specifier, context, next) => {
  try {
    return await next(specifier, context);
  } catch (error) {
    const found = context.parentURL?.startsWith("file:") ? find(specifier, context.parentURL) : undefined;
    if (found === undefined) throw error;
    return next(found, context);
  }
};

function find(specifier: string, parent: string): string | undefined {
  const { resolvedModule } = compiler.resolveModuleName(
    specifier,
    fileURLToPath(parent),
    settings,
    compiler.sys,
    undefined,
    undefined,
    compiler.ModuleKind.ESNext,
  );
  if (resolvedModule === undefined || resolvedModule.resolvedFileName.endsWith(".d.ts")) return undefined;
  return pathToFileURL(resolvedModule.resolvedFileName).href;
}

export const load: LoadHook = async (url, context, next) => {
  if (!url.startsWith("file:") || !SOURCE.test(new URL(url).pathname)) return next(url, context);
  const fileName = fileURLToPath(url);
  const { outputText } = compiler.transpileModule(await readFile(fileName, "utf8"), {
    fileName,
    compilerOptions: {
      ...settings,
      module: compiler.ModuleKind.ESNext,
      target: compiler.ScriptTarget.ES2022,
      isolatedModules: true,
      inlineSourceMap: true,
      sourceMap: false,
      noEmit: false,
      declaration: false,
    },
  });
  return { format: "module", source: outputText, shortCircuit: true };
};
