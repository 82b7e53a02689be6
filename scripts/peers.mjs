#!/usr/bin/env node
/**
 * Installs what `npm run bench -- peers` measures beside this project: the servers nats-server and redis-server from
 * Debian's packages (as root, on Debian and its kin), and the Node clients of both into .cache/peers, by a lock file and
 * without running any script of them. None of them is a dependency of this package. What cannot be installed is named; the
 * benchmarks report it as absent.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const clients = join(root, ".cache", "peers");
const SERVERS = ["nats-server", "redis-server"];
const CLIENTS = ["@nats-io/jetstream", "@redis/client"];

const missing = SERVERS.filter((name) => !runs(name));
if (missing.length > 0) installServers(missing);
installClients();
const absent = SERVERS.filter((name) => !runs(name));
for (const name of SERVERS) console.log(`${name}: ${absent.includes(name) ? "absent" : "here"}`);
const without = CLIENTS.filter((name) => !existsSync(join(clients, "node_modules", name)));
for (const name of CLIENTS) console.log(`${name}: ${without.includes(name) ? "absent" : "here"}`);
process.exitCode = absent.length + without.length === 0 ? 0 : 1;

function runs(name) {
  return [name, `/usr/sbin/${name}`].some((path) => spawnSync(path, ["--version"]).status === 0);
}

function installServers(names) {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    console.error(`Not here: ${names.join(", ")}. As root on Debian: apt-get install -y ${names.join(" ")}`);
    return;
  }
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args) => spawnSync("apt-get", args, { env, stdio: ["ignore", 2, 2] }).status === 0;
  const install = () => apt("install", "-y", "--no-install-recommends", ...names);
  if (!install()) apt("update") && install();
}

function installClients() {
  mkdirSync(clients, { recursive: true });
  cpSync(join(root, "scripts", "peers-clients"), clients, { recursive: true });
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
  const done = spawnSync("npm", args, { cwd: clients, stdio: ["ignore", 2, 2] });
  if (done.status !== 0) console.error("The clients could not be installed (see above)");
}
