/**
 * Requests that offer another protocol than WebSocket: HTTP/2, as Java's client and `curl --http2` do with every request. A server may
 * pass such an offer over (RFC 9110, 7.8), but once somebody listens for upgrades Node hands all of them over, unanswered. So their
 * bytes are put together anew, less the offer, for a server to read as those of any request.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { openAnswer } from "./open-answer.js";

/** Only these are for `ws`. */
export function offersWebSocket({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

/** What belongs to an offer, and names the headers that do. */
const OF_OFFERS: ReadonlySet<string> = new Set(["upgrade", "http2-settings"]);

/** The head of the request, without what it offers. */
export function withoutOffer({
  method,
  url,
  httpVersion,
  rawHeaders,
}: Pick<IncomingMessage, "method" | "url" | "httpVersion" | "rawHeaders">): Buffer {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const value = rawHeaders[i + 1] as string;
    const lower = name.toLowerCase();
    if (OF_OFFERS.has(lower)) continue;
    text += `${name}: ${lower === "connection" ? withoutNames(value) : value}\r\n`;
  }
  return Buffer.from(`${text}\r\n`, "latin1");
}

/** An empty list of connection options says nothing. */
function withoutNames(connection: string): string {
  const options = connection.split(",").map((option) => option.trim());
  return options.filter((option) => !OF_OFFERS.has(option.toLowerCase())).join(", ");
}

/** When what came before on this connection is answered; false if it is gone by then. */
export async function allAnswered(socket: Socket): Promise<boolean> {
  for (;;) {
    if (socket.destroyed || !socket.writable) return false;
    const open = openAnswer(socket);
    if (open === undefined) return true;
    await new Promise((resolve) => open.once("close", resolve));
  }
}
