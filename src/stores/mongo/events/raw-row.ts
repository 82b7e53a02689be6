/**
 * Reads what a page needs out of a document's bytes, as they came from the server.
 *
 * Nearly every document of a page is an event without headers, tags or causes. Of such a one the few fields that matter are
 * taken, and its payload stays where it is, in the reply, until somebody looks. Everything else goes the long way.
 */
import { BSON } from "mongodb";
import { type Seq, StoredEvent } from "../../../model/event.js";
import { JsonBody } from "../../../model/json.js";
import type { EventDocument } from "../collections.js";
import { storedEvent } from "./event-document.js";
import type { Place } from "./event-lookup.js";

/** What is left of removed events: a range that begins at `seq`, or (without `to`) a place in one. */
export interface RemovedRow {
  readonly seq: Seq;
  readonly to: Seq | undefined;
}

export type Row = StoredEvent | RemovedRow;

const DOUBLE = 0x01;
const STRING = 0x02;
const BOOLEAN = 0x08;
const INT32 = 0x10;
const TIMESTAMP = 0x11;

/** Two fields of a document never share their length and first three letters. */
function nameCode(name: string): number {
  const [a = 0, b = 0, c = 0] = Buffer.from(name);
  return (name.length << 24) | (c << 16) | (b << 8) | a;
}

const ID = nameCode("_id");
const SEQ = nameCode("seq");
const TS = nameCode("ts");
const KEY = nameCode("key");
const PAYLOAD = nameCode("payload");
const TOPIC = nameCode("topic");
const PARTITION = nameCode("partition");
/** Known, and of no interest to a reader. */
const SKIPPED = new Set(["topic", "partition", "maxTs", "sumBytes", "keyed", "last", "at"].map(nameCode));

/**
 * How to ask for the documents of a reply as bytes. The reply itself must be read as usual: of a refusal that comes as bytes the
 * driver takes something for the server's version that is none, and later trips over it (7.8).
 */
export const DOCUMENTS_AS_BYTES = { fieldsAsRaw: { firstBatch: true } } as const;

/** Of the documents of a reply. */
export function rowsIn(batch: readonly Uint8Array[], place: Place): Row[] {
  return batch.map((document) => {
    const bytes = bufferOf(document);
    return plainEvent(bytes, 0, bytes.length, place) ?? anyRow(bytes);
  });
}

/** Where a document of a reply belongs. */
export function placeIn(document: Uint8Array): Place {
  const bytes = bufferOf(document);
  let topic: string | undefined;
  for (let at = 4; at < bytes.length - 1; ) {
    const type = bytes[at];
    const nameTo = nameEnd(bytes, at + 1);
    const code = codeAt(bytes, at + 1, nameTo - at - 1);
    at = nameTo + 1;
    if (type === STRING) {
      const to = at + 4 + bytes.readInt32LE(at) - 1;
      if (code === TOPIC) topic = bytes.toString("utf8", at + 4, to);
      at = to + 1;
    } else if (type === INT32) {
      if (code === PARTITION && topic !== undefined) return { topic, partition: bytes.readInt32LE(at) };
      at += 4;
    } else {
      break;
    }
  }
  // Of an event with an id of another kind, or that somebody wrote by hand.
  const { topic: name, partition } = BSON.deserialize(bytes, { promoteBuffers: false }) as EventDocument;
  return { topic: name, partition };
}

/** The event, if the document holds nothing but what most events have. */
function plainEvent(bytes: Buffer, begin: number, next: number, place: Place): StoredEvent | undefined {
  let id: string | undefined;
  let key: string | undefined;
  let body: JsonBody | undefined;
  let seq = 0;
  let ts = 0;
  const end = next - 1;
  for (let at = begin + 4; at < end; ) {
    const type = bytes[at];
    const nameTo = nameEnd(bytes, at + 1);
    const code = codeAt(bytes, at + 1, nameTo - at - 1);
    at = nameTo + 1;
    if (type === STRING) {
      const from = at + 4;
      const to = from + bytes.readInt32LE(at) - 1;
      at = to + 1;
      if (code === PAYLOAD) body = JsonBody.ofSlice(bytes, from, to);
      else if (code === ID) id = bytes.toString("utf8", from, to);
      else if (code === KEY) key = bytes.toString("utf8", from, to);
      else if (!SKIPPED.has(code)) return undefined;
    } else if (type === INT32 || type === DOUBLE) {
      if (code === SEQ) seq = type === INT32 ? bytes.readInt32LE(at) : bytes.readDoubleLE(at);
      else if (code === TS) ts = type === INT32 ? bytes.readInt32LE(at) : bytes.readDoubleLE(at);
      else if (!SKIPPED.has(code)) return undefined;
      at += type === INT32 ? 4 : 8;
    } else if ((type === BOOLEAN || type === TIMESTAMP) && SKIPPED.has(code)) {
      at += type === BOOLEAN ? 1 : 8;
    } else {
      return undefined;
    }
  }
  if (id === undefined || body === undefined || seq === 0) return undefined;
  return new StoredEvent(place.topic, place.partition, seq, { id, ts, key, meta: undefined, body });
}

function nameEnd(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] !== 0) at++;
  return at;
}

function codeAt(bytes: Buffer, at: number, length: number): number {
  const third = length > 2 ? (bytes[at + 2] as number) : 0;
  return (length << 24) | (third << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at] as number);
}

function anyRow(bytes: Buffer): Row {
  const document = BSON.deserialize(bytes, { promoteBuffers: false }) as EventDocument;
  if (document.to !== undefined) return { seq: document.seq, to: document.to };
  return document.gone ? { seq: document.seq, to: undefined } : storedEvent(document);
}

function bufferOf(document: Uint8Array): Buffer {
  if (Buffer.isBuffer(document)) return document;
  return Buffer.from(document.buffer, document.byteOffset, document.byteLength);
}
