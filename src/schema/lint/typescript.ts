/** The TypeScript compiler, loaded when it is needed: the project's own, else one beside this package. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { BusError } from "../../model/errors.js";

export type TypeScript = typeof import("typescript");

export interface Compiler {
  readonly ts: TypeScript;
  /** Where it was found, for others to load it from. */
  readonly url: string;
}

/** UNSUPPORTED, with the command that helps, if there is none or it has no compiler API. */
export async function loadTypeScript(root: string): Promise<Compiler> {
  const url = find(root);
  if (url === undefined) {
    throw new BusError(
      "UNSUPPORTED",
      "reading your sources takes the TypeScript compiler, which is not installed here: npm install --save-dev typescript",
    );
  }
  const loaded = (await import(/* @vite-ignore */ url)) as { readonly default?: TypeScript } & TypeScript;
  const ts = loaded.default ?? loaded;
  if (typeof ts.createProgram === "function") return { ts, url };
  throw new BusError(
    "UNSUPPORTED",
    `typescript ${String(ts.version)} has no compiler API for JavaScript; install one that has: npm install --save-dev typescript@6`,
  );
}

function find(root: string): string | undefined {
  for (const from of [pathToFileURL(join(root, "package.json")).href, import.meta.url]) {
    try {
      return pathToFileURL(createRequire(from).resolve("typescript")).href;
    } catch {
      // Not there; the next place may have it.
    }
  }
  return undefined;
}
