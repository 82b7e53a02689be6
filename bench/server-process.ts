/**
 * A server for a benchmark, on loopback, with a folder of its own. A small shell keeps it: when this process ends,
 * however it ends, the pipe to the shell closes, and the server and its folder go.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../test/support/mongo/node-process.js";

const KEEPER = `
dir=$1; shift
"$@" </dev/null >/dev/null 2>&1 &
pid=$!
read -r word
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
rm -rf "$dir"
`;
const START_DEADLINE_MS = 20_000;
const POLL_MS = 20;

export class ServerProcess {
  readonly port: number;
  readonly #keeper: ChildProcess;

  private constructor(port: number, keeper: ChildProcess) {
    this.port = port;
    this.#keeper = keeper;
  }

  /** Resolves when it listens. */
  static async start(command: string, args: (port: number, dir: string) => string[]): Promise<ServerProcess> {
    const [port, dir] = [await freePort(), await mkdtemp(join(tmpdir(), "promethean-bench-"))];
    const keeper = spawn("/bin/sh", ["-c", KEEPER, "keeper", dir, command, ...args(port, dir)], {
      stdio: ["pipe", "ignore", "ignore"],
    });
    const server = new ServerProcess(port, keeper);
    try {
      await listening(port);
      return server;
    } catch (error) {
      await server.stop();
      throw new Error(`${command} does not listen`, { cause: error });
    }
  }

  async stop(): Promise<void> {
    if (this.#keeper.exitCode !== null) return;
    const ended = once(this.#keeper, "exit");
    this.#keeper.stdin?.end();
    await ended;
  }
}

/** Debian puts servers where the PATH of an ordinary user does not look. */
export function findProgram(name: string): string | undefined {
  const places = [name, `/usr/sbin/${name}`, `/usr/local/bin/${name}`];
  return places.find((path) => spawnSync(path, ["--version"], { stdio: "ignore" }).status === 0);
}

/** What `--version` says. */
export function versionOf(program: string): string {
  const said = spawnSync(program, ["--version"], { encoding: "utf8" }).stdout;
  return /\d+\.\d+\.\d+/.exec(said)?.[0] ?? "unknown";
}

async function listening(port: number): Promise<void> {
  const untilMs = performance.now() + START_DEADLINE_MS;
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      return;
    } catch (error) {
      if (performance.now() > untilMs) throw error;
      await sleep(POLL_MS);
    } finally {
      socket.destroy();
    }
  }
}
