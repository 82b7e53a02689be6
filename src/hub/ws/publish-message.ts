/**
 * Messages that hold nothing but publishes, each with its payload as the last member, as our client writes them. The payloads are
 * looked over, not parsed: most are stored in the text they came in, and nobody here wants to know more of them.
 */
import type { PublishOptions } from "../../model/event-bus.js";
import { hasAt, numberEnd, numberIn } from "../../model/plain-bytes.js";
import type { PublishFrame } from "../protocol.js";
import { NOT_GOOD, valueEnd } from "./compact-json.js";
import { publishOptions } from "./publish-frame.js";

const BEGINNING = Buffer.from('{"type":"PUBLISH",');
const PAYLOAD = Buffer.from(',"payload":');
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;
const DELETE = 0x7f;

export interface ReadPublish {
  /** Its payload is undefined, and nothing else of it was looked at. */
  readonly frame: PublishFrame;
  /** What of it is for the bus. */
  readonly options: PublishOptions;
  /** Of the payload. */
  readonly text: string;
}

export interface PublishMessage {
  readonly isArray: boolean;
  readonly all: readonly ReadPublish[];
}

/** Null if it is not such a message, or has something rare in it: then it is to be parsed. */
export function readPublishes(bytes: Buffer): PublishMessage | null {
  const isArray = bytes[0] === OPEN_BRACKET;
  const all: ReadPublish[] = [];
  let at = isArray ? 1 : 0;
  for (;;) {
    if (!hasAt(bytes, at, BEGINNING)) return null;
    const plain = plainHead(bytes, at + BEGINNING.length);
    const frame = plain ?? parsedHead(bytes, at);
    if (frame === null) return null;
    const options = plain === null ? publishOptions(frame) : plainOptions(plain);
    const from = payloadFrom;
    const to = valueEnd(bytes, from);
    if (to === NOT_GOOD || bytes[to] !== CLOSE_BRACE) return null;
    all.push({ frame, options, text: bytes.toString("utf8", from, to) });
    at = to + 1;
    const isMore = isArray && bytes[at] === COMMA;
    if (isMore) at++;
    else return isEnd(bytes, at, isArray) ? { isArray, all } : null;
  }
}

function isEnd(bytes: Buffer, at: number, isArray: boolean): boolean {
  return isArray ? bytes[at] === CLOSE_BRACKET && at + 1 === bytes.length : at === bytes.length;
}

/** Where the payload begins whose head was read last. */
let payloadFrom = 0;

/**
 * The members before the payload. If they are JSON with a brace behind them they were not cut off inside of something else, so that
 * the payload is a member of this very frame.
 */
function parsedHead(bytes: Buffer, from: number): PublishFrame | null {
  const nameAt = bytes.indexOf(PAYLOAD, from);
  if (nameAt < 0) return null;
  payloadFrom = nameAt + PAYLOAD.length;
  try {
    const frame = JSON.parse(`${bytes.toString("utf8", from, nameAt)}}`) as Record<string, unknown>;
    if ("payload" in frame || frame["type"] !== "PUBLISH") return null;
    frame["payload"] = undefined;
    return frame as unknown as PublishFrame;
  } catch {
    return null;
  }
}

const CORR = Buffer.from('"corr":');
const ID = Buffer.from(',"id":"');
const TOPIC = Buffer.from(',"topic":"');
const KEY = Buffer.from(',"key":"');

/**
 * What our client says before a payload: a number and a few texts, of ASCII and without escapes. Taken out here, for a parser
 * makes more of it than there is. Null if there is anything else.
 */
function plainHead(bytes: Buffer, from: number): PublishFrame | null {
  if (!hasAt(bytes, from, CORR)) return null;
  let at = numberEnd(bytes, from + CORR.length);
  if (at < 0 || !hasAt(bytes, at, ID)) return null;
  const corr = numberIn(bytes, from + CORR.length, at);
  const idAt = at + ID.length;
  at = textEnd(bytes, idAt);
  if (at === NOT_GOOD || !hasAt(bytes, at, TOPIC)) return null;
  const id = bytes.toString("latin1", idAt, at - 1);
  const topicAt = at + TOPIC.length;
  at = textEnd(bytes, topicAt);
  if (at === NOT_GOOD) return null;
  const topic = topicIn(bytes, topicAt, at - 1);
  let key: string | undefined;
  if (hasAt(bytes, at, KEY)) {
    const keyAt = at + KEY.length;
    at = textEnd(bytes, keyAt);
    if (at === NOT_GOOD) return null;
    key = bytes.toString("latin1", keyAt, at - 1);
  }
  if (!hasAt(bytes, at, PAYLOAD)) return null;
  payloadFrom = at + PAYLOAD.length;
  return { type: "PUBLISH", corr, id, topic, key, payload: undefined } as PublishFrame;
}

/** As `publishOptions`, which does not know what there may be. */
function plainOptions({ id, key }: PublishFrame): PublishOptions {
  return { id, key } as PublishOptions;
}

/** Behind the quote that closes a text, or NOT_GOOD. */
function textEnd(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH || byte < SPACE || byte > DELETE) return NOT_GOOD;
  }
  return NOT_GOOD;
}

let lastTopic = "";

/** Whoever publishes does so to the same topic again and again: one text, whose hash is known, is found sooner in many maps. */
function topicIn(bytes: Buffer, from: number, to: number): string {
  let isSame = to - from === lastTopic.length;
  for (let i = 0; isSame && i < lastTopic.length; i++) isSame = bytes[from + i] === lastTopic.charCodeAt(i);
  if (!isSame) lastTopic = bytes.toString("latin1", from, to);
  return lastTopic;
}
