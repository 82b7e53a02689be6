/** A WebSocket on a server that only takes note of what comes. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { WebSocket, WebSocketServer } from "ws";

export class SocketPair {
  readonly #server: WebSocketServer;
  readonly socket: WebSocket;

  private constructor(server: WebSocketServer, socket: WebSocket) {
    this.#server = server;
    this.socket = socket;
  }

  /** `onMessage` is told each message, or "binary". */
  static async open(onMessage: (text: string) => void): Promise<SocketPair> {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
    server.on("connection", (socket) =>
      socket.on("message", (data, isBinary) => onMessage(isBinary ? "binary" : String(data))),
    );
    await once(server, "listening");
    return new SocketPair(server, await connectTo(server));
  }

  /** One more to the same server. */
  another(): Promise<WebSocket> {
    return connectTo(this.#server);
  }

  close(): void {
    this.socket.terminate();
    this.#server.close();
  }
}

async function connectTo(server: WebSocketServer): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await once(socket, "open");
  return socket;
}
