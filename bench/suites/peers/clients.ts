/** The Node clients of others, as scripts/peers.mjs installs them. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { projectRoot } from "../../project-root.js";

/** Undefined if one of them is not there. */
export function loadClients<T extends Readonly<Record<string, unknown>>>(
  names: Readonly<Record<keyof T, string>>,
): T | undefined {
  const folder = join(projectRoot(), ".cache", "peers");
  const all = Object.entries<string>(names);
  if (all.some(([, name]) => !existsSync(join(folder, "node_modules", name)))) return undefined;
  const require = createRequire(join(folder, "package.json"));
  return Object.fromEntries(all.map(([as, name]) => [as, require(name)])) as T;
}
