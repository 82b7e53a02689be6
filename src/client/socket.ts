/** What the client needs of a WebSocket: the browser's, or one that looks like it. */
export interface SocketLike {
  readonly readyState: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: ((event: unknown) => void) | null;
}

export type SocketMaker = (url: string) => SocketLike;

export const OPEN = 1;

/** ws:// for http://, and the hub's path unless one is given. */
export function socketUrl(url: string): string {
  const parsed = new URL(url);
  parsed.protocol = parsed.protocol === "https:" || parsed.protocol === "wss:" ? "wss:" : "ws:";
  if (parsed.pathname === "/") parsed.pathname = "/ws";
  return parsed.toString();
}
