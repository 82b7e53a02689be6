/**
 * Frames as the bytes of one message, for sockets of Node's, and messages as they come off them. Left to itself, Node joins texts, measures them, and takes
 * fresh memory of three bytes a character for each write; here they are written once, into buffers that go round.
 *
 * Where no byte has to be masked, what WebSocket puts before a message is written here too: message and all of that are one
 * piece for the system, and a lone answer is on its way sooner than `ws` has put its two together.
 */
import { isUtf8 } from "node:buffer";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** What has more characters gets memory of its own. */
const MOST_CHARS = 98_304;
const WIDEST_CHAR = 3;
/** Before a message: what WebSocket says of it, at most. */
const HEAD_ROOM = 14;
const BUFFER_BYTES = HEAD_ROOM + MOST_CHARS * WIDEST_CHAR;
/** What has no more is written where Node keeps its small buffers: one that is slow to leave keeps no large one busy. */
const SMALL_BYTES = 2_048;
/** Kept for the next messages; more are made while more are under way. */
const MOST_KEPT = 4;

const OPEN_BRACKET = 0x5b;
const COMMA = 0x2c;
const CLOSE_BRACKET = 0x5d;
const BRACKETS = 2;

/** RFC 6455: all of a text; a key follows; a length in two bytes, or in eight. */
const WHOLE_TEXT = 0x81;
const MASKED = 0x80;
const KEY_BYTES = 4;
const TWO_BYTES = 126;
const EIGHT_BYTES = 127;

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

  /** The message as bytes, with what stands before it, is no longer than this. */
  get mostBytes(): number {
    return HEAD_ROOM + this.#chars * WIDEST_CHAR + this.#bytes + BRACKETS;
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
  const buffer = takeBuffer(message.mostBytes);
  const end = frames === 1 ? writePieces(buffer, pieces, HEAD_ROOM) : writeArray(buffer, pieces);
  sendBuffer(socket, buffer, end, false, whenSent);
}

/** Sends a frame that is of ASCII alone, as a server: a text, for which Node needs no buffer. For sockets that are open. */
export function sendAscii(socket: WebSocket, frame: string, whenSent: () => void): void {
  const { _socket: line } = socket as unknown as Insides;
  const size = frame.length;
  const head =
    size < TWO_BYTES
      ? String.fromCharCode(WHOLE_TEXT, size)
      : String.fromCharCode(WHOLE_TEXT, TWO_BYTES, size >> 8, size & 255);
  (line as Duplex).write(head + frame, "latin1", whenSent);
}

/**
 * Sends `[frame,frame,…]`; `chars` is how long the frames are together. `keyless`: the line takes messages under a key of
 * zeros, which changes nothing. `whenSent` is called once, whatever comes of it.
 */
export function sendFrames(
  socket: WebSocket,
  frames: readonly string[],
  chars: number,
  { keyless = false, whenSent = ignore }: { readonly keyless?: boolean; readonly whenSent?: () => void } = {},
): void {
  if (chars + frames.length + 1 > MOST_CHARS) {
    socket.send(`[${frames.join(",")}]`, whenSent);
    return;
  }
  const buffer = takeBuffer(HEAD_ROOM + (chars + frames.length + 1) * WIDEST_CHAR);
  sendBuffer(socket, buffer, writeFrames(buffer, frames), keyless, whenSent);
}

function takeBuffer(mostBytes: number): Buffer {
  if (mostBytes <= SMALL_BYTES) return Buffer.allocUnsafe(mostBytes);
  if (mostBytes > BUFFER_BYTES) return Buffer.allocUnsafeSlow(mostBytes);
  return kept.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);
}

/** What `ws` does not say in its types: the line under it, at which end of it this is, and what puts messages together. */
interface Insides {
  readonly _socket: Duplex | null;
  readonly _isServer: boolean;
  readonly _receiver: Receiver;
}

interface Receiver {
  readonly _state: number;
  readonly _bufferedBytes: number;
  readonly _fragmented: number;
  readonly _maxPayload: number;
  write(chunk: Buffer): boolean;
}

function sendBuffer(
  socket: WebSocket,
  buffer: Buffer,
  end: number,
  keyless: boolean,
  whenSent: () => void,
): void {
  const { _socket: line, _isServer: isServer } = socket as unknown as Insides;
  const sent = (): void => {
    if (kept.length < MOST_KEPT && buffer.length === BUFFER_BYTES) kept.push(buffer);
    whenSent();
  };
  if (line !== null && socket.readyState === socket.OPEN && (isServer || keyless))
    line.write(buffer.subarray(writeHead(buffer, end, !isServer), end), sent);
  else socket.send(buffer.subarray(HEAD_ROOM, end), { binary: false }, sent);
}

/** Before a message that ends at `end`; returns where it begins. A client says that its bytes are masked: by zeros. */
function writeHead(buffer: Buffer, end: number, isClient: boolean): number {
  const size = end - HEAD_ROOM;
  const masked = isClient ? MASKED : 0;
  let at = HEAD_ROOM;
  if (isClient) {
    at -= KEY_BYTES;
    buffer.writeUInt32BE(0, at);
  }
  if (size < TWO_BYTES) buffer[--at] = masked | size;
  else if (size < 65_536) {
    at -= 2;
    buffer.writeUInt16BE(size, at);
    buffer[--at] = masked | TWO_BYTES;
  } else {
    at -= 8;
    buffer.writeUInt32BE(0, at);
    buffer.writeUInt32BE(size, at + 4);
    buffer[--at] = masked | EIGHT_BYTES;
  }
  buffer[--at] = WHOLE_TEXT;
  return at;
}

function writeArray(buffer: Buffer, pieces: readonly Piece[]): number {
  buffer[HEAD_ROOM] = OPEN_BRACKET;
  const end = writePieces(buffer, pieces, HEAD_ROOM + 1);
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
  let at = HEAD_ROOM;
  for (const frame of frames) {
    buffer[at] = at === HEAD_ROOM ? OPEN_BRACKET : COMMA;
    at += 1 + buffer.write(frame, at + 1);
  }
  buffer[at] = CLOSE_BRACKET;
  return at + 1;
}

/**
 * Calls back with each message of a socket, once it is open. Most come in one piece, as a text that is not masked, and nothing else
 * with them: these need not go through the stream in which `ws` puts messages together. Everything else does.
 */
export function onMessage(socket: WebSocket, take: (data: Buffer, isBinary: boolean) => void): void {
  const { _receiver: receiver, _isServer: isServer } = socket as unknown as Insides;
  const write = receiver.write;
  receiver.write = (chunk) => {
    const from = isIdle(receiver) ? textFrom(chunk, isServer) : 0;
    const isTooLong = receiver._maxPayload > 0 && chunk.length - from > receiver._maxPayload;
    if (from === 0 || isTooLong) return write.call(receiver, chunk);
    const text = chunk.subarray(from);
    if (!isUtf8(text)) return write.call(receiver, chunk);
    take(text, false);
    return true;
  };
  socket.on("message", take);
}

/** It holds no part of a message: the next byte begins one. */
function isIdle({ _state, _bufferedBytes, _fragmented }: Receiver): boolean {
  return _state === 0 && _bufferedBytes === 0 && _fragmented === 0;
}

/** Where the text begins in a chunk that is one whole message, and not masked or by zeros; 0 if it is anything else. */
function textFrom(chunk: Buffer, isServer: boolean): number {
  const length = (chunk[1] as number) & ~MASKED;
  if (chunk[0] !== WHOLE_TEXT || length === EIGHT_BYTES || isServer !== (chunk[1] as number) >= MASKED)
    return 0;
  const isLong = length === TWO_BYTES;
  const keyAt = isLong ? 4 : 2;
  const from = isServer ? keyAt + KEY_BYTES : keyAt;
  const size = isLong ? ((chunk[2] as number) << 8) | (chunk[3] as number) : length;
  if (from + size !== chunk.length) return 0;
  for (let at = keyAt; at < from; at++) if (chunk[at] !== 0) return 0;
  return from;
}

function ignore(): void {}
