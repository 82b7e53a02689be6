/** promethean/client in browsers: their own WebSocket. */
import { PromClient as AnyClient } from "./client.js";
import type { ClientOptions } from "./client-options.js";
import type { SocketLike } from "./socket.js";
import { troubleListener } from "./trouble-listener.js";

declare const WebSocket: new (url: string) => SocketLike;
type Listening = (type: string, listener: () => void) => void;
interface Listened {
  readonly addEventListener?: Listening;
  readonly removeEventListener?: Listening;
}
interface Page extends Listened {
  readonly document?: Listened & { readonly hidden: boolean };
}
declare const console: { warn(message: string): void };

/** The client of a hub, for browsers: on their own WebSocket. For its verbs see the client of Node, which has the same. */
export class PromClient extends AnyClient {
  constructor(url: string, options: ClientOptions = {}) {
    super(url, {
      makeSocket: (to) => new WebSocket(to),
      onWake,
      ...options,
      onTrouble: troubleListener(options.onTrouble, warn),
    });
  }
}

/** The network is back, or the page is shown again, after the machine slept perhaps. Workers have the first alone. */
function onWake(callback: () => void): () => void {
  const page = globalThis as Page;
  const { document } = page;
  const shown = (): void => {
    if (!document?.hidden) callback();
  };
  page.addEventListener?.("online", callback);
  document?.addEventListener?.("visibilitychange", shown);
  return () => {
    page.removeEventListener?.("online", callback);
    document?.removeEventListener?.("visibilitychange", shown);
  };
}

function warn(text: string, code: string): void {
  console.warn(`promethean: ${text} (${code})`);
}

export type { ClientOptions, ClientSubscribeOptions, ClientTrouble } from "./client-options.js";
export type { Status } from "./connection.js";
export type { ClientContext, ClientHandler } from "./deliveries.js";
export type { Published } from "./requests.js";
export type { SocketLike, SocketMaker } from "./socket.js";
export type { StatusListener } from "./status-listeners.js";
