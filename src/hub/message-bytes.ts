/**
 * Frames as the bytes of one message, for sockets of Node's. Left to itself, Node joins texts, measures them, and takes
 * fresh memory of three bytes a character for each write; here they are written once, into buffers that go round.
 */
import type { WebSocket } from "ws";

/** What has more characters goes as a text. */
const MOST_CHARS = 98_304;
const WIDEST_CHAR = 3;
/** Kept for the next messages; more are made while more are under way. */
const MOST_KEPT = 4;

const OPEN_BRACKET = 0x5b;
const COMMA = 0x2c;
const CLOSE_BRACKET = 0x5d;

const kept: Buffer[] = [];

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
  const buffer = kept.pop() ?? Buffer.allocUnsafeSlow(MOST_CHARS * WIDEST_CHAR);
  const size = writeFrames(buffer, frames);
  socket.send(buffer.subarray(0, size), { binary: false }, () => {
    if (kept.length < MOST_KEPT) kept.push(buffer);
    whenSent?.();
  });
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
