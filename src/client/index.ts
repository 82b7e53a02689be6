/** promethean/client in Node: WebSockets by `ws`. */
import { afterReactions } from "../model/soon.js";
import { PromClient as AnyClient } from "./client.js";
import type { ClientOptions } from "./client-options.js";
import { NodeSocket } from "./node-socket.js";
import { troubleListener } from "./trouble-listener.js";

/**
 * A line to a hub that mends itself, for Node: publishes without an answer are sent again under the same ids, subscriptions
 * asked for again.
 *
 * @example
 * const client = new PromClient("http://localhost:8420", { token });
 * await client.connect();
 * await client.subscribe("orders.placed", "mailer", async (event) => sendMail(event.payload));
 * await client.publish("orders.placed", { order: 7 });
 */
export class PromClient extends AnyClient {
  constructor(url: string, options: ClientOptions = {}) {
    super(url, {
      makeSocket: (to) => new NodeSocket(to),
      // Whoever publishes again as each answer comes does so in as many reactions, and all of it goes in one message, acks included:
      // no answer waits until the acks of the events that came with it are written.
      defer: afterReactions,
      ...options,
      onTrouble: troubleListener(options.onTrouble, warn),
    });
  }
}

function warn(text: string, code: string): void {
  process.emitWarning(text, { type: "PrometheanWarning", code });
}

export type { ClientOptions, ClientSubscribeOptions, ClientTrouble } from "./client-options.js";
export type { Status } from "./connection.js";
export type { ClientContext, ClientHandler } from "./deliveries.js";
export type { Published } from "./requests.js";
export type { SocketLike, SocketMaker } from "./socket.js";
export type { StatusListener } from "./status-listeners.js";
