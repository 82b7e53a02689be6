/**
 * Messages that hold nothing but publishes, each with its payload as the last member, as our client writes them. The payloads are
 * looked over, not parsed: most are stored in the text they came in, and nobody here wants to know more of them.
 */
import { NOT_GOOD, valueEnd } from "./compact-json.js";

const BEGINNING = '{"type":"PUBLISH",';
const BEGINNING_BYTES = Buffer.from(BEGINNING);
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
  if (!begins(bytes, at)) return null;
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

function begins(bytes: Buffer, at: number): boolean {
  for (let i = 0; i < BEGINNING_BYTES.length; i++) if (bytes[at + i] !== BEGINNING_BYTES[i]) return false;
  return true;
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
  return plainHead(head, BEGINNING.length) ?? parsedHead(head);
}

function parsedHead(head: string): object | null {
  try {
    const frame = JSON.parse(`${head}}`) as Record<string, unknown>;
    if ("payload" in frame) return null;
    frame.payload = undefined;
    return frame;
  } catch {
    return null;
  }
}

const CORR = '"corr":';
const ID = '"id":"';
const TOPIC = '"topic":"';
const KEY = '"key":"';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;
/** So few that a number keeps all of them. */
const MOST_DIGITS = 15;

/**
 * What most publishes say before their payload: a number and a few texts without escapes, each once. Taken out here, for a parser
 * makes more of it than there is. Null if there is anything else.
 */
function plainHead(head: string, from: number): object | null {
  let corr: number | undefined;
  let id: string | undefined;
  let topic: string | undefined;
  let key: string | undefined;
  for (let at = from; ; at++) {
    let begin = 0;
    let end = 0;
    if (corr === undefined && head.startsWith(CORR, at)) {
      begin = at + CORR.length;
      end = digitsEnd(head, begin);
      corr = Number(head.slice(begin, end));
    } else if (id === undefined && head.startsWith(ID, at)) {
      begin = at + ID.length;
      end = textEnd(head, begin);
      id = head.slice(begin, end - 1);
    } else if (topic === undefined && head.startsWith(TOPIC, at)) {
      begin = at + TOPIC.length;
      end = textEnd(head, begin);
      topic = head.slice(begin, end - 1);
    } else if (key === undefined && head.startsWith(KEY, at)) {
      begin = at + KEY.length;
      end = textEnd(head, begin);
      key = head.slice(begin, end - 1);
    } else return null;
    if (end === NOT_GOOD) return null;
    at = end;
    if (at === head.length) return { type: "PUBLISH", corr, id, topic, key, payload: undefined };
    if (head.charCodeAt(at) !== COMMA) return null;
  }
}

/** Behind the quote that closes a text, or NOT_GOOD. */
function textEnd(head: string, from: number): number {
  for (let at = from; at < head.length; at++) {
    const char = head.charCodeAt(at);
    if (char === QUOTE) return at + 1;
    if (char === BACKSLASH || char < SPACE) return NOT_GOOD;
  }
  return NOT_GOOD;
}

/** Behind a whole number, or NOT_GOOD. */
function digitsEnd(head: string, from: number): number {
  let at = from;
  while (at < head.length && head.charCodeAt(at) >= ZERO && head.charCodeAt(at) <= NINE) at++;
  const isGood = at > from && at - from <= MOST_DIGITS && (head.charCodeAt(from) !== ZERO || at === from + 1);
  return isGood ? at : NOT_GOOD;
}
