/**
 * Keeps package-lock.json fit for everyone: no addresses of the registry it was made with, nothing that runs
 * at install time, and an entry for every optional dependency.
 *
 * `npm ci` refuses a lock file in which optional packages are missing, and npm leaves out those that the registry
 * in use does not carry (bindings for other platforms, on a partial mirror). `--write` adds them: the version comes
 * from the package that asks for it, the platform from its name. They carry no integrity until npm fetches them.
 */
import { readFileSync, writeFileSync } from "node:fs";

const path = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(path, "utf8"));
const OPERATING_SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "openharmony", "sunos", "win32"];
const PROCESSORS = ["arm64", "arm", "ia32", "loong64", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

if (process.argv.includes("--write")) complete();
const faults = [...addresses(), ...installScripts(), ...missing().map(({ name }) => `no entry for ${name}`)];
for (const fault of faults) console.error(`package-lock.json: ${fault}`);
if (faults.length > 0) console.error("`node scripts/check-lock.mjs --write` adds missing entries.");
process.exitCode = faults.length > 0 ? 1 : 0;

function addresses() {
  return Object.entries(lock.packages)
    .filter(([, entry]) => /^[a-z+]+:\/\//.test(entry.resolved ?? ""))
    .map(([name]) => `${name} names the address it came from`);
}

function installScripts() {
  return Object.entries(lock.packages)
    .filter(([, entry]) => entry.hasInstallScript)
    .map(([name]) => `${name} wants to run a script when installed`);
}

function missing() {
  return Object.entries(lock.packages).flatMap(([parent, { optionalDependencies = {}, dev, peer }]) =>
    Object.entries(optionalDependencies)
      .filter(
        ([name]) => !foldersAbove(parent).some((folder) => `${folder}node_modules/${name}` in lock.packages),
      )
      .map(([name, version]) => ({ name, version, dev, peer })),
  );
}

/** Where Node would look for a dependency of the package at `parent`, nearest first. */
function foldersAbove(parent) {
  const parts = parent === "" ? [] : parent.split(/\/?node_modules\//).slice(1);
  return parts
    .map(
      (_, i) =>
        `${parts
          .slice(0, parts.length - i)
          .map((part) => `node_modules/${part}`)
          .join("/")}/`,
    )
    .concat("");
}

function complete() {
  for (const { name, version, dev, peer } of missing()) {
    if (!/^\d+\.\d+\.\d+$/.test(version))
      throw new Error(`${name}: only exact versions can be added, not ${version}`);
    const { cpu, libc, os } = platform(name);
    // In npm's own order of fields, so that npm's next write changes nothing.
    lock.packages[`node_modules/${name}`] = {
      version,
      cpu,
      ...(dev && { dev }),
      ...(libc && { libc }),
      optional: true,
      ...(os && { os }),
      ...(peer && { peer }),
    };
  }
  const [root, ...rest] = Object.entries(lock.packages);
  lock.packages = Object.fromEntries([root, ...rest.sort(([a], [b]) => a.localeCompare(b, "en"))]);
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
}

function platform(name) {
  const words = name.split("/").at(-1).split("-");
  const os = OPERATING_SYSTEMS.find((word) => words.includes(word));
  const cpu = PROCESSORS.find((word) => words.includes(word));
  // WebAssembly runs under any system.
  if (cpu === "wasm32") return { cpu: [cpu] };
  if (os === undefined || cpu === undefined) throw new Error(`${name}: its name does not tell the platform`);
  const libc = words.some((word) => word.startsWith("musl")) ? "musl" : "glibc";
  return { cpu: [cpu], ...(os === "linux" && { libc: [libc] }), os: [os] };
}
