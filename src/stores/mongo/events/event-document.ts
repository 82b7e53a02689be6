/**
 * Events as documents and back.
 *
 * The payload is kept as JSON text: it comes back exactly as it was published (`__proto__`, `$where`, `a.b`, member order
 * and long numbers included), one string costs less to write and far less to read than a tree, and nobody parses it
 * before somebody looks. A store with `queryablePayloads` adds the payload as a document, for queries by hand.
 */

import type { Binary, Document, Timestamp } from "mongodb";
import { type EventDraft, type EventMeta, type Seq, StoredEvent } from "../../../model/event.js";
import { freezeJson, JsonBody, type JsonValue } from "../../../model/json.js";
import type { Mutable } from "../../../model/mutable.js";
import { bsonText, fromBson, plainText, toBson } from "../bson-json.js";
import type { EventDocument } from "../collections.js";

/** Where a partition ends, as far as its next writer must know. */
export interface Tail {
  readonly seq: Seq;
  readonly maxTs: number;
  readonly sumBytes: number;
  /** Id of the event at `seq`; null if it was removed, or if there never was one. */
  readonly id: string | null;
  /** By the server's logical time, it was not there before this. */
  readonly since?: Timestamp | undefined;
}

export const EMPTY_TAIL: Tail = { seq: 0, maxTs: 0, sumBytes: 0, id: null };

/** What an event counts for beside its payload. */
const OVERHEAD_BYTES = 120;

/** What documents have beside what every event has. */
export interface DocumentExtras {
  /** The payload once more, as a document. */
  readonly queryable: boolean;
  /** An entry in the index by key. */
  readonly keyed: boolean;
}

/** What counts on from one event to the next. */
export type Before = Pick<Tail, "seq" | "maxTs" | "sumBytes">;

/** The document of the event that follows another, or the end of its partition. */
export function documentAfter(
  before: Before,
  place: { readonly topic: string; readonly partition: number },
  draft: EventDraft,
  { queryable, keyed }: DocumentExtras,
): EventDocument {
  const payload = draft.body.text;
  const document: Mutable<EventDocument> = {
    _id: bsonText(draft.id),
    topic: place.topic,
    partition: place.partition,
    seq: before.seq + 1,
    ts: draft.ts,
    maxTs: Math.max(before.maxTs, draft.ts),
    sumBytes: before.sumBytes + payload.length + (draft.key?.length ?? 0) + OVERHEAD_BYTES,
    payload,
  };
  if (draft.key !== undefined) {
    document.key = bsonText(draft.key);
    if (keyed) document.keyed = true;
  }
  if (draft.meta !== undefined) Object.assign(document, metaDocument(draft.meta));
  if (queryable) document.body = toBson(draft.body.value as JsonValue);
  return document;
}

export function tailOf(document: EventDocument): Tail {
  const { seq, to, maxTs, sumBytes, at } = document;
  if (to !== undefined) return { seq: to, maxTs, sumBytes, id: null };
  return { seq, maxTs, sumBytes, id: plainText(document._id), since: at };
}

export function storedEvent(document: EventDocument): StoredEvent {
  return new StoredEvent(document.topic, document.partition, document.seq, {
    id: plainText(document._id),
    ts: document.ts,
    key: document.key === undefined ? undefined : plainText(document.key),
    meta: metaOf(document),
    body: JsonBody.ofText(document.payload ?? "null"),
  });
}

type MetaFields = Pick<EventDocument, "headers" | "caused_by" | "tags" | "sid">;

export function metaDocument(meta: EventMeta): MetaFields {
  const { headers, caused_by, tags, sid } = meta;
  return {
    ...(headers === undefined ? undefined : { headers: toBson(headers) as Document }),
    ...(caused_by === undefined ? undefined : { caused_by: caused_by.map(bsonText) }),
    ...(tags === undefined ? undefined : { tags: tags.map(bsonText) }),
    ...(sid === undefined ? undefined : { sid: bsonText(sid) }),
  };
}

export function metaOf(document: MetaFields): EventMeta | undefined {
  const { headers, caused_by, tags, sid } = document;
  if (headers === undefined && caused_by === undefined && tags === undefined && sid === undefined) {
    return undefined;
  }
  return Object.freeze({
    ...(headers === undefined ? undefined : { headers: fromBson(headers) as Record<string, string> }),
    ...(caused_by === undefined ? undefined : { caused_by: texts(caused_by) }),
    ...(tags === undefined ? undefined : { tags: texts(tags) }),
    ...(sid === undefined ? undefined : { sid: plainText(sid) }),
  });
}

/** In characters of a payload, which take up to three bytes: at least what a meta takes, also in a batch, where causes stand twice. */
export function metaSize({ headers, caused_by = [], tags = [], sid = "" }: EventMeta): number {
  let size = sid.length + 8;
  for (const name in headers) size += name.length + (headers[name] as string).length + 8;
  for (const text of caused_by) size += text.length + 8;
  for (const text of tags) size += text.length + 8;
  return 3 * size;
}

function texts(stored: readonly (string | Binary)[]): readonly string[] {
  return freezeJson(stored.map(plainText));
}
