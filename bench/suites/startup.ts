/** How soon it is there, from a tree that is built: `npm start`, the command's help, the console's first load. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { projectRoot } from "../project-root.js";
import type { Suite } from "../suite.js";
import { firstLoad } from "./startup/first-load.js";
import { startToData } from "./startup/start-to-data.js";

const root = projectRoot();
const program = join(root, "dist", "cli", "main.js");

const HELP = "command: promethean --help";
const EMPTY = "command: an empty Node program";

/** Milliseconds until a Node program has ended, well. */
async function runOf(...args: readonly string[]): Promise<number> {
  const startMs = performance.now();
  const child = spawn(process.execPath, args, { stdio: "ignore" });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}`);
  return performance.now() - startMs;
}

export const suite: Suite = {
  name: "startup",
  cases: [
    { name: "npm start: to a page with data", unit: "ms", atMost: 3_000, measure: () => startToData(root) },
    { name: HELP, unit: "ms", atMost: 150, measure: () => runOf(program, "--help") },
    { name: "command: promethean --version", unit: "ms", measure: () => runOf(program, "--version") },
    { name: EMPTY, unit: "ms", measure: () => runOf("--eval", "0") },
    {
      name: "console: first load, gzip",
      unit: "kB",
      atMost: 150,
      also: [{ name: "console: first load, files", unit: "files" }],
      measure: async () => firstLoad(join(root, "dist", "console")),
    },
  ],
  ratios: [{ name: "command: --help / an empty Node program", of: HELP, to: EMPTY }],
};
