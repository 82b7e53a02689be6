/**
 * How many connections a hub takes over HTTP (P13), whatever they do: ask, stream, wait for their next request, or say nothing.
 * Those that became WebSockets are counted elsewhere. Time-outs see to it that none stays for nothing.
 */
import { type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { HubError } from "../problem.js";
import { answerOf } from "./answers.js";
import { openAnswer } from "./open-answer.js";

export interface RoomOptions {
  readonly max: number;
  /** How many of those that are open have become WebSockets. */
  readonly webSockets: () => number;
}

/** A peer that is gone without a word, as one is that lost its network, is noticed by the system after so long, and some tries. */
const KEEP_ALIVE_MS = 60_000;

/** Stands before all who listen for connections by now: to be called after them. */
export function boundConnections(server: Server, { max, webSockets }: RoomOptions): void {
  const listeners = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  let open = 0;
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    open++;
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on("close", () => open--).on("error", () => socket.destroy());
    if (open - webSockets() > max) refuseForNow(socket);
    else for (const listener of listeners) listener.call(server, socket);
  });
}

/** Answers, and closes: a client that does not is not waited for. */
export function refuse(socket: Socket, error: HubError): void {
  const { status, headers, text } = answerOf(error);
  const lines = Object.entries({
    ...headers,
    "Content-Length": Buffer.byteLength(text),
    Connection: "close",
  });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${text}`);
  socket.destroySoon();
}

/** There may be room, or another hub, in a moment. */
export function refuseForNow(socket: Socket): void {
  refuse(socket, new HubError("CLOSED", "the hub has no room for now, or is going down; come again"));
}

export function tooSlow(): HubError {
  return new HubError("REQUEST_TIMEOUT", "the request did not come in time");
}

/** What is no HTTP, or too much of it, is told as any other fault, unless an answer is on its way already. */
export function refuseUnreadable(server: Server): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable || error.code === "ECONNRESET" || openAnswer(socket)?.headersSent) socket.destroy();
    else refuse(socket, faultOf(error.code));
  });
}

function faultOf(code: string | undefined): HubError {
  if (code === "HPE_HEADER_OVERFLOW")
    return new HubError("HEADERS_TOO_LARGE", "the head of the request is too long");
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW")
    return new HubError("BODY_TOO_LARGE", "the chunks of the body say too much beside it");
  return code === "ERR_HTTP_REQUEST_TIMEOUT"
    ? tooSlow()
    : new HubError("BAD_REQUEST", "this is no HTTP request");
}
