/** promethean/client in Node: WebSockets by `ws`. */
import { WebSocket } from "ws";
import { PromClient as AnyClient, type ClientOptions } from "./client.js";
import { isUnseen, type SocketLike } from "./socket.js";

export class PromClient extends AnyClient {
  constructor(url: string, options: ClientOptions = {}) {
    super(url, { makeSocket, ...options });
  }
}

function makeSocket(to: string): SocketLike {
  const mask = isUnseen(to) ? { generateMask: noMask } : {};
  return new WebSocket(to, { perMessageDeflate: false, ...mask }) as unknown as SocketLike;
}

/** A key of zeros leaves every byte as it is, and both ends know that they need not look. */
function noMask(key: Buffer): void {
  key.fill(0);
}

export type { ClientOptions, ClientSubscribeOptions, Published } from "./client.js";
export type { Status } from "./connection.js";
export type { ClientContext, ClientHandler } from "./deliveries.js";
