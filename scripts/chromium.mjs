#!/usr/bin/env node
/**
 * Finds a Chromium for the tests of the console, or installs one. Prints its path; says what to do and exits 1 if there
 * is none.
 *
 *   node scripts/chromium.mjs path     the path of a Chromium that is here (installed if need be)
 *   node scripts/chromium.mjs fetch    the same, without printing
 *
 * Looked for in this order: CHROMIUM_PATH, the usual places, and, as root on Debian and its kin, the package "chromium".
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";

const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** What a browser needs to run in a container, and to leave the network alone. */
export const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const ADVICE = [
  "The tests of the console need a Chromium. Any of these will do:",
  "  - CHROMIUM_PATH=/path/to/chromium",
  "  - apt-get install -y chromium",
].join("\n");

/** The path of a Chromium. Throws with advice if there is none and none can be installed. */
export function findChromium() {
  const given = process.env.CHROMIUM_PATH;
  if (given) {
    if (existsSync(given)) return given;
    throw new Error(`CHROMIUM_PATH names ${given}, which is not there.\n${ADVICE}`);
  }
  const found = PLACES.find((path) => existsSync(path)) ?? installed();
  if (found === undefined) throw new Error(ADVICE);
  return found;
}

function installed() {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return undefined;
  process.stderr.write("Installing chromium…\n");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const args of [["update"], ["install", "-y", "--no-install-recommends", "chromium"]]) {
    if (spawnSync("apt-get", args, { env, stdio: ["ignore", "ignore", 2] }).status !== 0) return undefined;
  }
  return PLACES.find((path) => existsSync(path));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    const path = findChromium();
    if (process.argv[2] !== "fetch") console.log(path);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
