/**
 * Guards the exports map: every public entry point of src/ is exported, every export has its source, types come
 * first. `--write` brings package.json in line. With a built dist/ the files named must be there as well.
 *
 * Entry points are index.ts of src/, src/testing, src/testing/conformance, src/hub, src/client and src/stores/<name>; any other index.ts is a
 * folder's own affair. A folder with a browser.ts offers that to browsers, one with a require.ts offers that to `require`.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const manifestPath = join(root, "package.json");
const manifest = JSON.parse(readFileSync(manifestPath, "utf8"));

const wanted = exportsOf(entryFolders());
if (process.argv.includes("--write")) {
  manifest.exports = wanted;
  writeFileSync(manifestPath, `${JSON.stringify(manifest, null, 2)}\n`);
}
const faults = [...drift(), ...missingBins(), ...missingOutputs()];
for (const fault of faults) console.error(`package.json: ${fault}`);
process.exitCode = faults.length > 0 ? 1 : 0;

function entryFolders() {
  const stores = join(root, "src", "stores");
  const names = existsSync(stores) ? readdirSync(stores).sort() : [];
  return [
    "",
    "testing",
    "testing/conformance",
    "hub",
    "client",
    ...names.map((name) => `stores/${name}`),
  ].filter((folder) => existsSync(join(root, "src", folder, "index.ts")));
}

function exportsOf(folders) {
  const entries = folders.map((folder) => {
    const output = composedOf(folder) ?? ["./dist", folder, "index"].filter(Boolean).join("/");
    const others = ["browser", "require"]
      .filter((condition) => existsSync(join(root, "src", folder, `${condition}.ts`)))
      .map((condition) => {
        const file = `./dist/${folder}/${condition}`;
        return [condition, { types: `${file}.d.ts`, default: `${file}.js` }];
      });
    return [
      folder === "" ? "." : `./${folder}`,
      { types: `${output}.d.ts`, ...Object.fromEntries(others), default: `${output}.js` },
    ];
  });
  return { ...Object.fromEntries(entries), "./package.json": "./package.json" };
}

/** A store that comes with more than a driver is composed in src/<name>.ts. */
function composedOf(folder) {
  const name = folder.startsWith("stores/") ? folder.slice("stores/".length) : undefined;
  return name !== undefined && existsSync(join(root, "src", `${name}.ts`)) ? `./dist/${name}` : undefined;
}

/** Compared as text, since the order of conditions matters: the first match wins. */
function drift() {
  const subpaths = new Set([...Object.keys(wanted), ...Object.keys(manifest.exports)]);
  return [...subpaths]
    .filter((subpath) => JSON.stringify(wanted[subpath]) !== JSON.stringify(manifest.exports[subpath]))
    .map((subpath) => {
      if (!(subpath in manifest.exports)) return `"${subpath}" has a source but is not exported`;
      if (!(subpath in wanted)) return `"${subpath}" is exported but has no source`;
      return `"${subpath}" should be ${JSON.stringify(wanted[subpath])}`;
    });
}

function missingBins() {
  return Object.entries(manifest.bin ?? {})
    .filter(
      ([, path]) => !existsSync(join(root, path.replace(/^(\.\/)?dist\//, "src/").replace(/\.js$/, ".ts"))),
    )
    .map(([name, path]) => `the command "${name}" points to ${path}, which has no source`);
}

function missingOutputs() {
  if (!existsSync(join(root, "dist", ".promethean-build"))) return [];
  return Object.values(manifest.exports)
    .flatMap(pathsOf)
    .filter((path) => !existsSync(join(root, path)))
    .map((path) => `${path} is exported but was not built`);
}

/** Conditions may hold conditions. */
function pathsOf(target) {
  return typeof target === "string" ? [target] : Object.values(target).flatMap(pathsOf);
}
