import { BusError } from "../model/errors.js";

/** What the client needs of a WebSocket: the browser's, or one that looks like it. */
export interface SocketLike {
  readonly readyState: number;
  send(data: string): void;
  /** Sends frames as one array, `chars` long together, if it knows a better way than their joined text. */
  sendFrames?(frames: readonly string[], chars: number): void;
  close(code?: number, reason?: string): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  /** Called instead of `onmessage` with a PLACED frame of one publish, by a socket that reads it itself. */
  onplaced?: ((corr: number, partition: number, seq: number) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: ((event: unknown) => void) | null;
}

/** Opens a WebSocket. */
export type SocketMaker = (url: string) => SocketLike;

export const OPEN = 1;

const PROTOCOLS: Readonly<Record<string, string>> = {
  "http:": "ws:",
  "https:": "wss:",
  "ws:": "ws:",
  "wss:": "wss:",
};

/**
 * Where a hub's WebSocket is: below the path of an http:// address, which a proxy may have put the hub at; a path behind ws:// is
 * the socket's own. INVALID_OPTION for what is no address of a hub.
 */
export function socketUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const protocol = PROTOCOLS[parsed?.protocol ?? ""];
  if (parsed === undefined || protocol === undefined)
    throw new BusError(
      "INVALID_OPTION",
      `"${url}" is no address of a hub: write http://, https://, ws:// or wss://`,
    );
  const isOfHub = protocol !== parsed.protocol || parsed.pathname === "/";
  parsed.protocol = protocol;
  if (isOfHub) parsed.pathname = parsed.pathname.replace(/(\/ws)?\/*$/, "/ws");
  return parsed.toString();
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Whether nobody on the way can read what is sent. WebSocket clients mask their messages so that a proxy that does not know the
 * protocol cannot be made to take them for its own; where there can be none, masking only costs.
 */
export function isUnseen(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "wss:" || LOOPBACK.test(hostname);
}
