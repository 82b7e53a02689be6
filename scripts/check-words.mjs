/**
 * The repository stands on its own: no tracked file points to a place outside it or to a registry.
 * The patterns are put together from parts, so that this file passes its own check.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const FORBIDDEN = [
  { words: ["..", "/", "shared"], why: "a folder beside the repository" },
  { words: ["/work", "/"], why: "a path of one machine" },
  { words: ["registry", ".", "npmjs", ".", "org"], why: "a registry" },
  { words: ["registry", ".", "yarnpkg", ".", "com"], why: "a registry" },
  { words: ["npm", ".", "pkg", ".", "github", ".", "com"], why: "a registry" },
].map(({ words, why }) => ({ text: words.join(""), why }));

const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" })
  .split("\0")
  .filter(Boolean);
const faults = tracked.filter((path) => existsSync(join(root, path))).flatMap((path) => faultsIn(path));
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;

function faultsIn(path) {
  return readFileSync(join(root, path), "utf8")
    .split("\n")
    .flatMap((line, i) =>
      FORBIDDEN.filter(({ text }) => line.includes(text)).map(
        ({ why }) => `${path}:${i + 1} mentions ${why}`,
      ),
    );
}
