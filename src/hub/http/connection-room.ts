/**
 * How many connections a hub takes over HTTP (P13), whatever they do: ask, stream, wait for their next request, or say nothing.
 * Those that became WebSockets are counted elsewhere. Time-outs see to it that none stays for nothing.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";

export interface RoomOptions {
  readonly max: number;
  /** How many of those that are open have become WebSockets. */
  readonly webSockets: () => number;
}

/** A peer that is gone without a word, as one is that lost its network, is noticed by the system after so long, and some tries. */
const KEEP_ALIVE_MS = 60_000;

/** Stands before all who listen for connections by now: to be called after them. */
export function boundConnections(server: Server, { max, webSockets }: RoomOptions): void {
  const listeners = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  let open = 0;
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    open++;
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on("close", () => open--).on("error", () => socket.destroy());
    if (open - webSockets() > max) refuseForNow(socket);
    else for (const listener of listeners) listener.call(server, socket);
  });
}

/** Answers, and closes: a client that does not is not waited for. */
export function refuse(socket: Socket, status: number, text: string, headers = ""): void {
  socket.write(`HTTP/1.1 ${status} ${text}\r\n${headers}Connection: close\r\nContent-Length: 0\r\n\r\n`);
  socket.destroySoon();
}

/** There may be room, or another hub, in a moment. */
export function refuseForNow(socket: Socket): void {
  refuse(socket, 503, "Service Unavailable", "Retry-After: 1\r\n");
}
