/** promethean/client in Node: WebSockets by `ws`. */
import { PromClient as AnyClient } from "./client.js";
import type { ClientOptions, ClientTrouble } from "./client-options.js";
import { NodeSocket } from "./node-socket.js";

export class PromClient extends AnyClient {
  constructor(url: string, options: ClientOptions = {}) {
    super(url, {
      makeSocket: (to) => new NodeSocket(to),
      defer: afterReactions,
      ...options,
      onTrouble: options.onTrouble ?? warn,
    });
  }
}

/**
 * Node comes to its ticks when no reaction of a promise is left. Whoever publishes again as each answer comes does so in as
 * many reactions, and all of it goes in one message; one that goes after the first reaction would hold a single frame.
 */
function afterReactions(callback: () => void): void {
  process.nextTick(callback);
}

function warn({ error }: ClientTrouble): void {
  process.emitWarning(error.message, { type: "PrometheanWarning", code: error.code });
}

export type { Published } from "./client.js";
export type { ClientOptions, ClientSubscribeOptions, ClientTrouble } from "./client-options.js";
export type { Status } from "./connection.js";
export type { ClientContext, ClientHandler } from "./deliveries.js";
