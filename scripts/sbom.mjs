/**
 * Writes a CycloneDX 1.5 list of what the published package needs at run time, from the lock file alone:
 *
 *   node scripts/sbom.mjs [--dev] [--out sbom.json]
 *
 * `--dev` adds what only development needs. Without `--out` it goes to stdout. Nothing but the lock file decides what it says.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The list as an object; `lock` is a package-lock of version 3. */
export function sbomOf(lock, { dev = false } = {}) {
  const { "": own, ...packages } = lock.packages;
  const wanted = Object.entries(packages).filter(
    ([, entry]) => !entry.link && (dev || !(entry.dev || entry.devOptional)),
  );
  const components = wanted.map(([path, entry]) => componentOf(path, entry));
  components.sort((a, b) => (a["bom-ref"] < b["bom-ref"] ? -1 : 1));
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(components))}`,
    version: 1,
    metadata: {
      component: {
        type: "library",
        "bom-ref": purl(own.name, own.version),
        name: own.name,
        version: own.version,
      },
    },
    components,
    dependencies: dependenciesOf(own, packages, wanted),
  };
}

function componentOf(path, { version, integrity, license, optional }) {
  const name = nameOf(path);
  return {
    type: "library",
    "bom-ref": refOf(path, version),
    name,
    version,
    purl: purl(name, version),
    scope: optional ? "optional" : "required",
    ...(license && { licenses: [{ license: { id: license } }] }),
    ...(integrity && { hashes: [hashOf(integrity)] }),
  };
}

/** Where a package looks for another one: beside its own dependencies first, then further up. */
function resolve(from, name, packages) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    const path = `${at === "" ? "" : `${at}/`}node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (at === "") return undefined;
  }
}

function dependenciesOf(own, packages, wanted) {
  const listed = new Set(wanted.map(([path]) => path));
  const needs = (path, entry) => {
    const names = Object.keys({ ...entry.dependencies, ...entry.optionalDependencies });
    const found = names.map((name) => resolve(path, name, packages)).filter((one) => listed.has(one));
    return found.map((one) => refOf(one, packages[one].version)).sort();
  };
  return [
    { ref: purl(own.name, own.version), dependsOn: needs("", own) },
    ...wanted.map(([path, entry]) => ({ ref: refOf(path, entry.version), dependsOn: needs(path, entry) })),
  ].sort((a, b) => (a.ref < b.ref ? -1 : 1));
}

function nameOf(path) {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** One package may be there in several places: the place makes the reference unique. */
function refOf(path, version) {
  const nested = path.indexOf("/node_modules/") > 0;
  return nested ? `${purl(nameOf(path), version)}#${path}` : purl(nameOf(path), version);
}

function purl(name, version) {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function hashOf(integrity) {
  const [alg, content] = integrity.split(" ")[0].split(/-(.*)/s);
  return {
    alg: alg.toUpperCase().replace("SHA", "SHA-"),
    content: Buffer.from(content, "base64").toString("hex"),
  };
}

/** The same list has the same number. */
function uuidOf(text) {
  const hex = createHash("sha256").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { values } = parseArgs({
    options: { dev: { type: "boolean", default: false }, out: { type: "string" } },
  });
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const text = `${JSON.stringify(sbomOf(lock, values), null, 2)}\n`;
  if (values.out === undefined) process.stdout.write(text);
  else writeFileSync(values.out, text);
}
