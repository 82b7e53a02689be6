/**
 * One mongod (or mongos, the router of a sharded cluster), kept by a small shell that holds the other end of a pipe to us. When this process ends, however it ends,
 * the pipe closes and the shell kills its mongod: no server outlives the run that started it.
 *
 * The shell also keeps a dead mongod's pid from being given to somebody else until we have let go of it, so that a
 * signal never hits a stranger.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** $1: what to remove when nobody is left to say anything, $2: the node's own folder; the rest: the command. */
const KEEPER = `
all=$1 dir=$2; shift 2
"$@" </dev/null >/dev/null 2>&1 &
pid=$!
echo $pid
read -r word
kill -9 $pid 2>/dev/null
wait $pid
case "$word" in keep) ;; remove) rm -rf "$dir" ;; *) rm -rf "$all" ;; esac
`;

type Program = "mongod" | "mongos";
const paths = new Map<Program, Promise<string>>();

/** Path of one that runs here; rejects with what to install if there is none. */
function find(program: Program): Promise<string> {
  const known = paths.get(program);
  if (known !== undefined) return known;
  const path = run(process.execPath, [finder(), "path", program], { timeout: 600_000 }).then(
    ({ stdout }) => stdout.trim(),
    (error: { stderr?: string; message: string }) => {
      throw new Error(error.stderr?.trim() || error.message);
    },
  );
  paths.set(program, path);
  return path;
}

/** The script that knows, above this file or what was compiled from it. */
function finder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "scripts", "mongod.mjs"))) {
    if (folder === dirname(folder)) throw new Error("scripts/mongod.mjs is missing");
    folder = dirname(folder);
  }
  return join(folder, "scripts", "mongod.mjs");
}

/** Ports that no system gives to those who ask for any: nobody comes by them by chance before a server has them, or while it is down. */
const FIRST_PORT = 10_000;
const PORTS_OF_A_PROCESS = 20;
const PROCESSES = 1_000;

/** Processes that run at the same time have numbers near each other, so that each begins at a place of its own. */
let nextPort = FIRST_PORT + (process.pid % PROCESSES) * PORTS_OF_A_PROCESS;

/** A port that nobody listens on, and that no other call gives out. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = nextPort;
    nextPort = port + 1 < FIRST_PORT + PROCESSES * PORTS_OF_A_PROCESS ? port + 1 : FIRST_PORT;
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

export interface NodeOptions {
  readonly dir: string;
  readonly port: number;
  /** Name of the replica set; absent: a standalone server. */
  readonly replSet?: string;
  /** What it is to a sharded cluster. */
  readonly role?: "configsvr" | "shardsvr";
  /** Address of a cluster's configuration: this is its router, and keeps nothing itself. */
  readonly routes?: string;
  readonly cacheGb?: number;
  /** Size of the log that change streams read. A server that is given one also trims it every second. */
  readonly oplogMb?: number;
  /** What members know each other by; a server that has one asks for users. */
  readonly keyFile?: string;
}

export class NodeProcess {
  readonly port: number;
  readonly #options: NodeOptions;
  #keeper: ChildProcess | undefined;
  #pid: number | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.port = options.port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  get running(): boolean {
    return this.#pid !== undefined;
  }

  /** Starts mongod; it may need a moment until it answers. */
  async start(): Promise<void> {
    const { dir } = this.#options;
    await mkdir(join(dir, "data"), { recursive: true });
    const isRouter = this.#options.routes !== undefined;
    const command = [await find(isRouter ? "mongos" : "mongod"), ...this.#arguments()];
    const keeper = spawn("sh", ["-c", KEEPER, "mongod-keeper", dirname(dir), dir, ...command], {
      stdio: ["pipe", "pipe", "ignore"],
      // A group of its own: Ctrl-C in the terminal must not stop servers under tests that are still cleaning up.
      detached: true,
    });
    keeper.unref();
    const [line] = (await once(keeper.stdout, "data")) as [Buffer];
    this.#pid = Number(line.toString().trim());
    this.#keeper = keeper;
    for (const stream of [keeper.stdin, keeper.stdout]) (stream as { unref?: () => void }).unref?.();
  }

  /** Sends a signal to mongod: SIGSTOP and SIGCONT for pauses. */
  signal(signal: NodeJS.Signals): void {
    if (this.#pid === undefined) throw new Error(`mongod on port ${this.port} does not run`);
    process.kill(this.#pid, signal);
  }

  /** kill -9; the data stay, as after a power cut. */
  async kill(): Promise<void> {
    await this.#end("keep");
  }

  /** Ends it and removes its data. */
  async dispose(): Promise<void> {
    await this.#end("remove");
  }

  async #end(word: "keep" | "remove"): Promise<void> {
    const keeper = this.#keeper;
    if (keeper === undefined) return;
    this.#keeper = undefined;
    this.#pid = undefined;
    keeper.ref();
    const ended = once(keeper, "exit");
    keeper.stdin?.end(`${word}\n`);
    await ended;
  }

  #arguments(): string[] {
    const { dir, port, routes, keyFile } = this.#options;
    const own = routes === undefined ? this.#ofServer() : ["--configdb", routes];
    return [
      ...["--logpath", join(dir, "mongod.log"), "--logappend"],
      ...["--port", String(port), "--bind_ip", "127.0.0.1", "--nounixsocket"],
      ...own,
      ...(keyFile === undefined ? [] : ["--auth", "--keyFile", keyFile]),
      ...["--setParameter", "enableTestCommands=1"],
    ];
  }

  #ofServer(): string[] {
    const { dir, replSet, role, cacheGb = 0.25, oplogMb } = this.#options;
    // The last one: how soon a node stops waiting for a frozen one that it copies from.
    const parameters = ["diagnosticDataCollectionEnabled=false", "oplogNetworkTimeoutBufferSeconds=1"];
    return [
      ...["--dbpath", join(dir, "data")],
      // A database is only dropped once the journal has the end of its collections, which nothing but time leads to.
      ...["--journalCommitInterval", "10"],
      ...["--wiredTigerCacheSizeGB", String(cacheGb)],
      ...(replSet === undefined ? [] : ["--replSet", replSet, "--oplogSize", String(oplogMb ?? 512)]),
      ...(role === undefined ? [] : [`--${role}`]),
      ...(oplogMb === undefined ? [] : ["--syncdelay", "1"]),
      ...parameters.flatMap((parameter) => ["--setParameter", parameter]),
    ];
  }
}
