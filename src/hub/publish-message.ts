/**
 * Messages that hold nothing but publishes, each with its payload as the last member, as our client writes them. The payloads are
 * looked over, not parsed: most are stored in the text they came in, and nobody here wants to know more of them.
 */
import { NOT_GOOD, valueEnd } from "./compact-json.js";

const BEGINNING = '{"type":"PUBLISH",';
const PAYLOAD = Buffer.from(',"payload":');
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;

export interface PublishMessage {
  readonly isArray: boolean;
  /** Each frame with a payload of undefined, and the payload's text. */
  readonly all: readonly { readonly frame: object; readonly text: string }[];
}

/** Null if it is not such a message, or has something rare in it: then it is to be parsed. */
export function readPublishes(bytes: Buffer): PublishMessage | null {
  const isArray = bytes[0] === OPEN_BRACKET;
  const all: { frame: object; text: string }[] = [];
  let at = isArray ? 1 : 0;
  if (bytes.toString("latin1", at, at + BEGINNING.length) !== BEGINNING) return null;
  for (;;) {
    const nameAt = bytes.indexOf(PAYLOAD, at);
    if (nameAt < 0) return null;
    const from = nameAt + PAYLOAD.length;
    const to = valueEnd(bytes, from);
    if (to === NOT_GOOD || bytes[to] !== CLOSE_BRACE) return null;
    const frame = headOf(bytes, at, nameAt);
    if (frame === null) return null;
    all.push({ frame, text: bytes.toString("utf8", from, to) });
    at = to + 1;
    const isMore = isArray && bytes[at] === COMMA;
    if (isMore) at++;
    else return isEnd(bytes, at, isArray) ? { isArray, all } : null;
  }
}

function isEnd(bytes: Buffer, at: number, isArray: boolean): boolean {
  return isArray ? bytes[at] === CLOSE_BRACKET && at + 1 === bytes.length : at === bytes.length;
}

/**
 * The members before the payload. If they are JSON with a brace behind them they were not cut off inside of something else, so that
 * the payload is a member of this very frame.
 */
function headOf(bytes: Buffer, from: number, to: number): object | null {
  const head = bytes.toString("utf8", from, to);
  if (!head.startsWith(BEGINNING)) return null;
  try {
    const frame = JSON.parse(`${head}}`) as Record<string, unknown>;
    if ("payload" in frame) return null;
    frame.payload = undefined;
    return frame;
  } catch {
    return null;
  }
}
