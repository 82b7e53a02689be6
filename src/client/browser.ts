/** promethean/client in browsers: their own WebSocket. */
import { PromClient as AnyClient } from "./client.js";
import type { ClientOptions, ClientTrouble } from "./client-options.js";
import type { SocketLike } from "./socket.js";

declare const WebSocket: new (url: string) => SocketLike;
declare const console: { warn(message: string): void };

export class PromClient extends AnyClient {
  constructor(url: string, options: ClientOptions = {}) {
    super(url, {
      makeSocket: (to) => new WebSocket(to),
      ...options,
      onTrouble: options.onTrouble ?? warn,
    });
  }
}

function warn({ error }: ClientTrouble): void {
  console.warn(`promethean: ${error.message} (${error.code})`);
}

export type { Published } from "./client.js";
export type { ClientOptions, ClientSubscribeOptions, ClientTrouble } from "./client-options.js";
export type { Status } from "./connection.js";
export type { ClientContext, ClientHandler } from "./deliveries.js";
