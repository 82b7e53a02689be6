/** promethean/client in Node: WebSockets by `ws`. */
import { WebSocket } from "ws";
import { PromClient as AnyClient, type ClientOptions } from "./client.js";
import type { SocketLike } from "./socket.js";

export class PromClient extends AnyClient {
  constructor(url: string, options: ClientOptions = {}) {
    super(url, {
      makeSocket: (to) => new WebSocket(to, { perMessageDeflate: false }) as unknown as SocketLike,
      ...options,
    });
  }
}

export type { ClientOptions, ClientSubscribeOptions, Published } from "./client.js";
export type { Status } from "./connection.js";
export type { ClientContext, ClientHandler } from "./deliveries.js";
