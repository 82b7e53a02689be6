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

/** Stands before all who listen for connections by now: to be called after them. */
export function boundConnections(server: Server, { max, webSockets }: RoomOptions): void {
  const listeners = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  let open = 0;
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    open++;
    socket.on("close", () => open--).on("error", () => socket.destroy());
    if (open - webSockets() > max) refuse(socket, 503, "Service Unavailable", "Retry-After: 1\r\n");
    else for (const listener of listeners) listener.call(server, socket);
  });
}

/** Answers, and closes: a client that does not is not waited for. */
export function refuse(socket: Socket, status: number, text: string, headers = ""): void {
  socket.write(`HTTP/1.1 ${status} ${text}\r\n${headers}Connection: close\r\nContent-Length: 0\r\n\r\n`);
  socket.destroySoon();
}
