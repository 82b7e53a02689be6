/** promethean/client in Node: WebSockets by `ws`. */
import { soon } from "../model/soon.js";
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
 * Whoever publishes again as each answer comes does so in as many reactions, and all of it goes in one message, acks included.
 * From a reaction Node comes to its ticks when no reaction is left; from the callback of a socket it would come to them first,
 * and an answer would wait until the acks of the events that came with it are written.
 */
function afterReactions(callback: () => void): void {
  soon(() => process.nextTick(callback));
}

function warn({ error }: ClientTrouble): void {
  process.emitWarning(error.message, { type: "PrometheanWarning", code: error.code });
}

export type { Published } from "./client.js";
export type { ClientOptions, ClientSubscribeOptions, ClientTrouble } from "./client-options.js";
export type { Status } from "./connection.js";
export type { ClientContext, ClientHandler } from "./deliveries.js";
