/** The folder of the project, above what was compiled from it. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export function projectRoot(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "scripts", "bench.mjs"))) return folder;
    if (folder === dirname(folder)) throw new Error("scripts/bench.mjs is missing");
  }
}
