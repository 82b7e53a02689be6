/**
 * Frames as the bytes of one message, for sockets of Node's. Left to itself, Node joins texts, measures them, and takes
 * fresh memory of three bytes a character for each write; here they are written once, into buffers that go round.
 */
import type { WebSocket } from "ws";

/** What has more characters gets memory of its own. */
const MOST_CHARS = 98_304;
const WIDEST_CHAR = 3;
const BUFFER_BYTES = MOST_CHARS * WIDEST_CHAR;
/** Kept for the next messages; more are made while more are under way. */
const MOST_KEPT = 4;

const OPEN_BRACKET = 0x5b;
const COMMA = 0x2c;
const CLOSE_BRACKET = 0x5d;
const BRACKETS = 2;

const kept: Buffer[] = [];

/** A part of a message that writes itself. */
export interface Part {
  /** It needs no more bytes than this while it is written. */
  readonly mostBytes: number;
  /** Returns where it ends. */
  writeTo(buffer: Buffer, from: number): number;
}

type Piece = string | Part;

/** One or several frames, in pieces: texts, and payloads in the bytes in which they are stored. */
export class Message {
  readonly pieces: Piece[] = [];
  frames = 0;
  #chars = 0;
  #bytes = 0;

  /** About as many characters as it has. */
  get size(): number {
    return this.#chars + this.#bytes;
  }

  /** The message as bytes is no longer than this. */
  get mostBytes(): number {
    return this.#chars * WIDEST_CHAR + this.#bytes + BRACKETS;
  }

  /** The beginning of a frame, or all of it. */
  begin(text: string): void {
    if (this.frames++ > 0) this.add(",");
    this.add(text);
  }

  /** More of the frame that was begun last. */
  add(piece: Piece): void {
    this.pieces.push(piece);
    if (typeof piece === "string") this.#chars += piece.length;
    else this.#bytes += piece.mostBytes;
  }
}

/** Sends a frame, or an array of them. `whenSent` is called once, whatever comes of it. */
export function sendMessage(socket: WebSocket, message: Message, whenSent: () => void): void {
  const { pieces, frames } = message;
  const [first] = pieces;
  if (pieces.length === 1 && typeof first === "string") {
    socket.send(first, whenSent);
    return;
  }
  const isLong = message.mostBytes > BUFFER_BYTES;
  const buffer = isLong ? Buffer.allocUnsafeSlow(message.mostBytes) : takeBuffer();
  const size = frames === 1 ? writePieces(buffer, pieces, 0) : writeArray(buffer, pieces);
  sendBuffer(socket, buffer, size, whenSent);
}

/** Sends `[frame,frame,…]`; `chars` is how long the frames are together. `whenSent` is called once, whatever comes of it. */
export function sendFrames(
  socket: WebSocket,
  frames: readonly string[],
  chars: number,
  whenSent?: () => void,
): void {
  if (chars + frames.length + 1 > MOST_CHARS) {
    socket.send(`[${frames.join(",")}]`, whenSent);
    return;
  }
  const buffer = takeBuffer();
  sendBuffer(socket, buffer, writeFrames(buffer, frames), whenSent);
}

function takeBuffer(): Buffer {
  return kept.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);
}

function sendBuffer(socket: WebSocket, buffer: Buffer, size: number, whenSent?: () => void): void {
  socket.send(buffer.subarray(0, size), { binary: false }, () => {
    if (kept.length < MOST_KEPT && buffer.length === BUFFER_BYTES) kept.push(buffer);
    whenSent?.();
  });
}

function writeArray(buffer: Buffer, pieces: readonly Piece[]): number {
  buffer[0] = OPEN_BRACKET;
  const end = writePieces(buffer, pieces, 1);
  buffer[end] = CLOSE_BRACKET;
  return end + 1;
}

function writePieces(buffer: Buffer, pieces: readonly Piece[], from: number): number {
  let at = from;
  for (const piece of pieces) {
    if (piece === ",") buffer[at++] = COMMA;
    else if (typeof piece === "string") at += buffer.write(piece, at);
    else at = piece.writeTo(buffer, at);
  }
  return at;
}

function writeFrames(buffer: Buffer, frames: readonly string[]): number {
  let at = 0;
  for (const frame of frames) {
    buffer[at] = at === 0 ? OPEN_BRACKET : COMMA;
    at += 1 + buffer.write(frame, at + 1);
  }
  buffer[at] = CLOSE_BRACKET;
  return at + 1;
}
