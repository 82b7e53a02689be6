/** promethean/client in Node: WebSockets by `ws`. */
import { WebSocket } from "ws";
import { sendFrames } from "../hub/message-bytes.js";
import { PromClient as AnyClient, type ClientOptions } from "./client.js";
import { isUnseen, type SocketLike } from "./socket.js";

export class PromClient extends AnyClient {
  constructor(url: string, options: ClientOptions = {}) {
    super(url, { makeSocket, defer: afterReactions, ...options });
  }
}

function makeSocket(to: string): SocketLike {
  const keyless = isUnseen(to);
  const mask = keyless ? { generateMask: noMask } : {};
  const socket = new WebSocket(to, { perMessageDeflate: false, ...mask });
  const way = {
    sendFrames: (frames: readonly string[], chars: number) => sendFrames(socket, frames, chars, { keyless }),
  };
  return Object.assign(socket, way) as unknown as SocketLike;
}

/**
 * Node comes to its ticks when no reaction of a promise is left. Whoever publishes again as each answer comes does so in as
 * many reactions, and all of it goes in one message; one that goes after the first reaction would hold a single frame.
 */
function afterReactions(callback: () => void): void {
  process.nextTick(callback);
}

/** A key of zeros leaves every byte as it is, and both ends know that they need not look. */
function noMask(key: Buffer): void {
  key.fill(0);
}

export type { ClientOptions, ClientSubscribeOptions, Published } from "./client.js";
export type { Status } from "./connection.js";
export type { ClientContext, ClientHandler } from "./deliveries.js";
