/**
 * What goes out on a WebSocket: frames of one turn travel in one write (and in one message, for clients that take
 * arrays), and a reader that does not keep up is noticed: `onFull` when too much waits, `onRoom` when it has gone.
 */
import type { WebSocket } from "ws";
import { sendFrames } from "./message-bytes.js";

const MAX_MESSAGE_CHARS = 65_536;

export interface OutgoingOptions {
  readonly maxBufferBytes: number;
  readonly onFull: () => void;
  readonly onRoom: () => void;
}

export class Outgoing {
  readonly #socket: WebSocket;
  readonly #options: OutgoingOptions;
  #frames: string[] = [];
  #chars = 0;
  #scheduled = false;
  #full = false;
  /** The client takes several frames in one message. */
  batches = false;

  constructor(socket: WebSocket, options: OutgoingOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  get full(): boolean {
    return this.#full;
  }

  send(frame: string): void {
    this.#frames.push(frame);
    this.#chars += frame.length;
    if (this.#chars > MAX_MESSAGE_CHARS) this.flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(this.flush);
    }
  }

  readonly flush = (): void => {
    this.#scheduled = false;
    const frames = this.#frames;
    const chars = this.#chars;
    this.#frames = [];
    this.#chars = 0;
    if (frames.length === 0 || this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.batches && frames.length > 1) sendFrames(this.#socket, frames, chars, this.#written);
    else this.#write(frames);
    if (!this.#full && this.#socket.bufferedAmount > this.#options.maxBufferBytes) {
      this.#full = true;
      this.#options.onFull();
    }
  };

  #write(messages: readonly string[]): void {
    const raw = (this.#socket as unknown as { _socket?: { cork(): void; uncork(): void } })._socket;
    raw?.cork();
    for (let i = 0; i < messages.length - 1; i++) this.#socket.send(messages[i] as string, ignore);
    this.#socket.send(messages.at(-1) as string, this.#written);
    raw?.uncork();
  }

  readonly #written = (): void => {
    if (!this.#full || this.#socket.bufferedAmount * 4 > this.#options.maxBufferBytes) return;
    this.#full = false;
    this.#options.onRoom();
  };
}

/** A failed write shows as the socket's end. */
function ignore(): void {}
