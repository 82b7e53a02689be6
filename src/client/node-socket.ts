/** A WebSocket of Node's, by `ws`, as the client wants it. */
import { WebSocket } from "ws";
import { onMessage, sendFrames } from "../hub/message-bytes.js";
import { readPlaced } from "./placed-bytes.js";
import { isUnseen, type SocketLike } from "./socket.js";

/** How long a hub has to say goodbye: until then the line keeps the process alive. */
const GOODBYE_MS = 2_000;

export class NodeSocket implements SocketLike {
  onopen: SocketLike["onopen"] = null;
  onmessage: SocketLike["onmessage"] = null;
  onplaced: (corr: number, partition: number, seq: number) => void = () => undefined;
  onclose: SocketLike["onclose"] = null;
  onerror: SocketLike["onerror"] = null;
  readonly #socket: WebSocket;
  readonly #way: { readonly keyless: boolean };

  constructor(url: string) {
    const keyless = isUnseen(url);
    const mask = keyless ? { generateMask: noMask } : {};
    // The types do not know of `closeTimeout`.
    const socket = new WebSocket(url, { perMessageDeflate: false, ...mask, ...{ closeTimeout: GOODBYE_MS } });
    this.#socket = socket;
    this.#way = { keyless };
    socket.on("open", () => {
      onMessage(socket, (data) => {
        if (!readPlaced(data, this.onplaced)) this.onmessage?.({ data: data.toString() });
      });
      this.onopen?.();
    });
    socket.on("close", (code, reason) => this.onclose?.({ code, reason: reason.toString() }));
    socket.on("error", (error) => this.onerror?.(error));
  }

  get readyState(): number {
    return this.#socket.readyState;
  }

  send(data: string): void {
    this.#socket.send(data);
  }

  sendFrames(frames: readonly string[], chars: number): void {
    sendFrames(this.#socket, frames, chars, this.#way);
  }

  close(code?: number, reason?: string): void {
    this.#socket.close(code, reason);
  }
}

/** A key of zeros leaves every byte as it is, and both ends know that they need not look. */
function noMask(key: Buffer): void {
  key.fill(0);
}
