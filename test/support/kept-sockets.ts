/** Sockets for a client, each of them kept, so that a test can cut its line or speak on it. */
import { WebSocket } from "ws";
import type { SocketLike, SocketMaker } from "../../src/client/socket.js";

export function keptSockets(): { readonly sockets: WebSocket[]; readonly makeSocket: SocketMaker } {
  const sockets: WebSocket[] = [];
  const makeSocket = (url: string): SocketLike => {
    const socket = new WebSocket(url);
    sockets.push(socket);
    return socket as unknown as SocketLike;
  };
  return { sockets, makeSocket };
}
