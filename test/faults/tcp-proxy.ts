/**
 * A wire that can be bad, between a client and a server on loopback:
 *
 *   whole      bytes pass
 *   cut        connections are closed, new ones too
 *   reset      as cut, by RST, once: new connections pass
 *   silent     half open: connections stay, new ones are taken, no byte passes in either direction
 *   mute       requests arrive and are carried out, answers do not come back
 *   slow       every piece waits before it passes
 *
 * What a wire has swallowed never comes: connections that were silent or mute are broken when the wire is mended.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export type WireState = "whole" | "cut" | "silent" | "mute" | "slow";

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  swallowed: boolean;
  /** Pieces that still wait, by direction: what comes after them waits, too. */
  readonly waiting: { request: number; answer: number };
}

export class TcpProxy {
  readonly #server: Server;
  readonly #targetPort: number;
  readonly #pairs = new Set<Pair>();
  #state: WireState = "whole";
  #delayMs = 0;

  private constructor(server: Server, targetPort: number) {
    this.#server = server;
    this.#targetPort = targetPort;
    server.on("connection", (client) => this.#take(client));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    // Half-open connections must stay so until we say otherwise.
    const server = createServer({ allowHalfOpen: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new TcpProxy(server, targetPort);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#pairs.size;
  }

  cut(): void {
    this.#state = "cut";
    for (const pair of this.#pairs) this.#end(pair);
  }

  reset(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
    this.#pairs.clear();
  }

  silence(): void {
    this.#state = "silent";
  }

  mute(): void {
    this.#state = "mute";
  }

  slow(delayMs: number): void {
    this.#state = "slow";
    this.#delayMs = delayMs;
  }

  mend(): void {
    this.#state = "whole";
    for (const pair of this.#pairs) if (pair.swallowed) this.#end(pair);
  }

  async close(): Promise<void> {
    for (const pair of this.#pairs) this.#end(pair);
    this.#server.close();
    await once(this.#server, "close");
  }

  #take(client: Socket): void {
    if (this.#state === "cut") {
      client.destroy();
      return;
    }
    const server = connect({ port: this.#targetPort, host: "127.0.0.1", allowHalfOpen: true });
    const pair: Pair = { client, server, swallowed: false, waiting: { request: 0, answer: 0 } };
    this.#pairs.add(pair);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on("error", () => this.#end(pair));
      socket.on("close", () => this.#end(pair));
      socket.on("end", () => this.#end(pair));
    }
    client.on("data", (bytes) => this.#pass(pair, server, bytes, "request"));
    server.on("data", (bytes) => this.#pass(pair, client, bytes, "answer"));
  }

  #pass(pair: Pair, to: Socket, bytes: Buffer, kind: "request" | "answer"): void {
    const isSwallowed = this.#state === "silent" || (this.#state === "mute" && kind === "answer");
    if (isSwallowed || pair.swallowed) {
      pair.swallowed = true;
      // Requests of a muted wire still arrive.
      if (this.#state !== "mute" || kind === "answer") return;
    }
    if (this.#state !== "slow" && pair.waiting[kind] === 0) {
      to.write(bytes);
      return;
    }
    // Timers of equal length fire in the order in which they were set, so pieces stay in order.
    pair.waiting[kind]++;
    setTimeout(() => {
      pair.waiting[kind]--;
      if (!to.destroyed) to.write(bytes);
    }, this.#delayMs);
  }

  #end(pair: Pair): void {
    this.#pairs.delete(pair);
    pair.client.destroy();
    pair.server.destroy();
  }
}
