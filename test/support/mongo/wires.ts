/**
 * The wires between the nodes of a replica set, and from clients to them, all on loopback. Each node is known to the
 * others by the address of a proxy before it. Who is calling is found by the port it calls from, so that a node can be
 * cut off from the others while clients still reach it: the old primary then goes on in its own little world until it
 * notices (Linux only, for that).
 */
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { NodeProcess } from "./node-process.js";

/** Connections end and cannot be made; or they stay, and no byte passes. */
export type Break = "cut" | "silent";

interface Call {
  /** Null: a client. */
  readonly from: NodeProcess | null;
  readonly to: NodeProcess;
  readonly ends: readonly [Socket, Socket];
  swallowed: boolean;
}

export class Wires {
  readonly #proxies = new Map<NodeProcess, Server>();
  readonly #calls = new Set<Call>();
  #isolated: NodeProcess | null = null;
  #break: Break = "cut";

  static async before(nodes: readonly NodeProcess[]): Promise<Wires> {
    const wires = new Wires();
    for (const node of nodes) {
      const server = createServer({ allowHalfOpen: true });
      server.on("connection", (caller) => wires.#take(caller, node));
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      wires.#proxies.set(node, server);
    }
    return wires;
  }

  addressOf(node: NodeProcess): string {
    return `127.0.0.1:${this.#portOf(node)}`;
  }

  /** No other node hears of this one, nor it of them; clients hear of all. */
  isolate(node: NodeProcess, how: Break): void {
    this.#isolated = node;
    this.#break = how;
    if (how === "cut") for (const call of this.#calls) if (this.#isBroken(call)) this.#end(call);
  }

  /** What was swallowed never comes: those connections end. */
  mend(): void {
    this.#isolated = null;
    for (const call of this.#calls) if (call.swallowed) this.#end(call);
  }

  async close(): Promise<void> {
    for (const call of this.#calls) this.#end(call);
    await Promise.all(
      [...this.#proxies.values()].map((server) => {
        server.close();
        return once(server, "close");
      }),
    );
  }

  #take(caller: Socket, to: NodeProcess): void {
    const from = this.#whoCalls(caller, to);
    const node = connect({ port: to.port, host: "127.0.0.1", allowHalfOpen: true });
    const call: Call = { from, to, ends: [caller, node], swallowed: false };
    this.#calls.add(call);
    for (const socket of call.ends) {
      socket.setNoDelay(true);
      for (const event of ["error", "close", "end"]) socket.on(event, () => this.#end(call));
    }
    caller.on("data", (bytes) => this.#pass(call, node, bytes));
    node.on("data", (bytes) => this.#pass(call, caller, bytes));
    if (this.#isBroken(call) && this.#break === "cut") this.#end(call);
  }

  #pass(call: Call, to: Socket, bytes: Buffer): void {
    call.swallowed ||= this.#isBroken(call);
    if (!call.swallowed) to.write(bytes);
  }

  #isBroken({ from, to }: Call): boolean {
    if (this.#isolated === null || from === null) return false;
    return from === this.#isolated || to === this.#isolated;
  }

  #end(call: Call): void {
    this.#calls.delete(call);
    for (const socket of call.ends) socket.destroy();
  }

  #portOf(node: NodeProcess): number {
    const proxy = this.#proxies.get(node) as Server;
    return (proxy.address() as AddressInfo).port;
  }

  #whoCalls({ remotePort = 0 }: Socket, to: NodeProcess): NodeProcess | null {
    const socket = socketOf(remotePort, this.#portOf(to));
    if (socket === null) return null;
    return [...this.#proxies.keys()].find((node) => holds(node, socket)) ?? null;
  }
}

/** The kernel's number of the socket that is bound to one port and connected to another. */
function socketOf(localPort: number, remotePort: number): string | null {
  const hex = (port: number): string => `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  for (const line of readFileSync("/proc/net/tcp", "latin1").split("\n")) {
    const fields = line.trim().split(/\s+/);
    const [, local = "", remote = "", , , , , , , inode] = fields;
    if (local.endsWith(hex(localPort)) && remote.endsWith(hex(remotePort))) return inode ?? null;
  }
  return null;
}

function holds(node: NodeProcess, socket: string): boolean {
  const folder = `/proc/${node.pid}/fd`;
  try {
    return readdirSync(folder).some((name) => linkOf(`${folder}/${name}`) === `socket:[${socket}]`);
  } catch {
    // It does not run.
    return false;
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    // Closed since it was listed.
    return null;
  }
}
