/** promethean/client in browsers: their own WebSocket. */
import { PromClient as AnyClient, type ClientOptions } from "./client.js";
import type { SocketLike } from "./socket.js";

declare const WebSocket: new (url: string) => SocketLike;

export class PromClient extends AnyClient {
  constructor(url: string, options: ClientOptions = {}) {
    super(url, { makeSocket: (to) => new WebSocket(to), ...options });
  }
}

export type { ClientOptions, ClientSubscribeOptions, Published } from "./client.js";
export type { Status } from "./connection.js";
export type { ClientContext, ClientHandler } from "./deliveries.js";
