/** What is loaded with a module, before it does anything. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** What a module of ours loads, itself included: files of ours, and packages by name. */
export function loadedBy(file: URL, seen = new Set<string>()): Set<string> {
  if (seen.has(file.href)) return seen;
  seen.add(file.href);
  const source = readFileSync(fileURLToPath(file), "utf8");
  for (const [, kind = "", from = ""] of source.matchAll(
    /^(?:import|export) (type )?[^;]*?from "([^"]+)";/gms,
  )) {
    if (kind !== "") continue;
    if (from.startsWith(".")) loadedBy(new URL(from.replace(/\.js$/, ".ts"), file), seen);
    else seen.add(from);
  }
  return seen;
}
