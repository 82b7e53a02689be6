/**
 * One HTTP request, by Node's own module: loading `fetch` takes longer than most commands do, and it gives up after five
 * minutes without a word, which a rebuild may well take.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

export interface HttpCall {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  /** Pieces are sent as they come. */
  readonly body?: string | AsyncIterable<string | Uint8Array>;
  readonly signal?: AbortSignal | undefined;
}

/** There was a connection, and it ended before an answer: what came of the request is not known. */
export class AnswerLost extends Error {
  constructor(cause: unknown) {
    super("the connection ended before an answer", { cause });
  }
}

/** The answer, as soon as its head is there. */
export async function httpCall(address: string, call: HttpCall = {}): Promise<IncomingMessage> {
  const url = new URL(address);
  const { request } = url.protocol === "https:" ? await import("node:https") : await import("node:http");
  const { method = "GET", headers = {}, signal } = call;
  const options: RequestOptions = { method, headers, ...(signal && { signal }) };
  return new Promise((resolve, reject) => {
    const asked = request(url, options, resolve);
    let isConnected = false;
    asked.on("socket", (socket) => {
      if (!socket.connecting) isConnected = true;
      else socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => (isConnected = true));
    });
    asked.on("error", (error: NodeJS.ErrnoException) => {
      // The other end had closed a connection that was kept for the next request: it has not seen this one.
      const again = method === "GET" && asked.reusedSocket && error.code === "ECONNRESET";
      if (again) resolve(httpCall(address, call));
      else reject(isConnected ? new AnswerLost(error) : error);
    });
    send(asked, call.body).catch(reject);
  });
}

async function send(asked: ClientRequest, body: HttpCall["body"]): Promise<void> {
  if (body === undefined || typeof body === "string") asked.end(body);
  else await pipeline(Readable.from(body, { objectMode: false }), asked);
}
