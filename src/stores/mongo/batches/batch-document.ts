/**
 * Batches as documents and back: the events of one append to a partition in one document.
 *
 * Their bytes stand in two binaries (batch-codec.ts), which is all that a reader is sent. Correlation ids and causes stand
 * beside them once more, in arrays that are there for their indexes; so do keys, if the topic asks for that
 * (../topic-traits.ts), and ids that a publisher chose. Of ids that a bus made only the lowest and the highest do: they
 * tell their time, so that few batches can hold one (ids.ts).
 */
import { Binary, type ObjectId, type Timestamp } from "mongodb";
import type { EventDraft, Seq, StoredEvent } from "../../../model/event.js";
import { BatchAhead } from "../../batch-ahead.js";
import { type Batch, BatchCursor, MAX_SPAN, type Packed } from "../../batch-codec.js";
import { batchesIn, Leaf, type NewBatch } from "../../batch-encoder.js";
import { ID_BYTES } from "../../id-key.js";
import { bsonText } from "../bson-json.js";
import type { RangePart, Text } from "../collections.js";
import { metaSize } from "../events/event-document.js";
import type { Target } from "../events/fenced-append.js";
import { STAMP } from "../events/trust.js";
import { idFields, idFieldsLeft } from "./ids.js";

/**
 * The seqs from `first` to `last`, and the events that are left of them. Above the floor every seq lies in exactly one
 * batch; a batch that begins at the floor or below does not count, whatever it says.
 */
export interface BatchDocument {
  readonly _id: ObjectId;
  readonly topic: string;
  readonly partition: number;
  readonly first: Seq;
  readonly last: Seq;
  /** Highest ts, and bytes, up to `last`, removed events included. */
  readonly maxTs: number;
  readonly sumBytes: number;
  /** The server's logical time when it took the batch in hand. */
  readonly at: Timestamp;
  /** How often its events were changed; 0 as it was appended. */
  readonly revision: number;
  /** Highest ts of its own events; absent if none is left. */
  readonly topTs?: number;
  /** How many of its events were removed. */
  readonly holes?: number;
  readonly ids?: readonly Text[];
  readonly idFrom?: string;
  readonly idTo?: string;
  readonly keys?: readonly Text[];
  readonly correlations?: readonly Text[];
  readonly causes?: readonly Text[];
  readonly uuids?: Binary;
  readonly data?: Binary;
  /** The seq that places in the data count from, if it is not `first`: what is left of a batch that was cut. */
  readonly base?: Seq;
  /** It lies below the floor, and what it said is forgotten. */
  readonly gone?: true;
  /**
   * On the batch at seq 1, which never goes: everything up to the floor was removed, when which part was, the sums
   * there, how many events were removed above it, and how often something was.
   */
  readonly floor?: Seq;
  readonly parts?: readonly RangePart[];
  readonly floorTs?: number;
  readonly floorBytes?: number;
  readonly missing?: number;
  readonly removals?: number;
}

export type NewBatchDocument = Omit<BatchDocument, "_id">;

/** Fields that tell of events, and go with them. */
export const SAID = [
  ...["ids", "idFrom", "idTo", "keys", "correlations", "causes"],
  ...["uuids", "data", "base", "topTs", "holes"],
];
/** What a reader needs of a batch: all but the arrays. */
export const BYTES = {
  ...{ topic: 1, partition: 1, first: 1, last: 1, revision: 1, at: 1 },
  ...{ uuids: 1, data: 1, base: 1 },
} as const;

/** Where a partition ends, as far as its next writer must know. */
export interface BatchTail {
  readonly seq: Seq;
  readonly maxTs: number;
  readonly sumBytes: number;
  /** By the server's logical time, the batch that ends there was not there before this. */
  readonly since?: Timestamp | undefined;
}

export const EMPTY_TAIL: BatchTail = { seq: 0, maxTs: 0, sumBytes: 0 };

/** A document has 16 MiB at most; a character takes up to three bytes. */
const MAX_CHARACTERS = 4 * 1_048_576;
/** What an event counts for beside its payload and key. */
const OVERHEAD_BYTES = 120;

/** Documents are cut before they are encoded: each of them is one batch. */
const leaf = new Leaf(Number.POSITIVE_INFINITY);

/** The documents of the events that follow `tail`: one, unless that would be too large. */
export function documentsAfter(
  tail: BatchTail,
  target: Target,
  drafts: readonly EventDraft[],
): NewBatchDocument[] {
  let last = tail;
  return cut(drafts).map((some) => {
    const batch = BatchAhead.of(some) ?? (batchesIn(leaf.encode(some))[0] as NewBatch);
    const document = documentAfter(last, target, some, batch);
    last = { seq: document.last, maxTs: document.maxTs, sumBytes: document.sumBytes };
    return document;
  });
}

function documentAfter(
  tail: BatchTail,
  { place: { topic, partition }, keyed }: Target,
  drafts: readonly EventDraft[],
  { ids, data, maxTs }: NewBatch,
): NewBatchDocument {
  return {
    topic,
    partition,
    first: tail.seq + 1,
    last: tail.seq + drafts.length,
    maxTs: Math.max(tail.maxTs, maxTs),
    sumBytes: tail.sumBytes + sizeOf(drafts),
    at: STAMP,
    revision: 0,
    topTs: maxTs,
    ...idFields(drafts, ids.length === drafts.length * ID_BYTES),
    ...indexed(drafts, keyed),
    uuids: new Binary(ids),
    data: new Binary(data),
  };
}

/** Pieces that fit into one document each; an event that is too large for any stands alone, and the server says so. */
function cut(drafts: readonly EventDraft[]): (readonly EventDraft[])[] {
  const pieces: (readonly EventDraft[])[] = [];
  let from = 0;
  let characters = 0;
  for (const [i, draft] of drafts.entries()) {
    const size = draft.body.size + (draft.meta === undefined ? 0 : metaSize(draft.meta));
    if (i > from && (i - from === MAX_SPAN || characters + size > MAX_CHARACTERS)) {
      pieces.push(drafts.slice(from, i));
      from = i;
      characters = 0;
    }
    characters += size;
  }
  pieces.push(from === 0 ? drafts : drafts.slice(from));
  return pieces;
}

function sizeOf(events: readonly Pick<EventDraft, "body" | "key">[]): number {
  let size = 0;
  for (const { body, key } of events) size += body.size + (key?.length ?? 0) + OVERHEAD_BYTES;
  return size;
}

/** What events are found by; what none of them has is left out, so that it takes no place in an index. */
function indexed(
  events: readonly Pick<StoredEvent, "key" | "meta">[],
  keyed: boolean,
): Pick<BatchDocument, "keys" | "correlations" | "causes"> {
  const keys = new Set<string>();
  const correlations = new Set<string>();
  const causes = new Set<string>();
  for (const { key, meta } of events) {
    if (keyed && key !== undefined) keys.add(key);
    if (meta === undefined) continue;
    const correlation = meta.headers?.correlationId;
    if (correlation !== undefined) correlations.add(correlation);
    for (const cause of meta.caused_by ?? []) causes.add(cause);
  }
  return {
    ...(keys.size > 0 && { keys: texts(keys) }),
    ...(correlations.size > 0 && { correlations: texts(correlations) }),
    ...(causes.size > 0 && { causes: texts(causes) }),
  };
}

function texts(strings: Iterable<string>): Text[] {
  return Array.from(strings, bsonText);
}

export interface Remaining {
  readonly fields: Partial<BatchDocument>;
  readonly count: number;
  readonly bytes: number;
}

/** What the batch [first, last] says if these events of `document` are left in it, and how many they are. */
export function remaining(
  document: BatchDocument,
  { first, last }: { readonly first: Seq; readonly last: Seq },
  packed: Packed | null,
): Remaining {
  const span = last - first + 1;
  if (packed === null) return { fields: { holes: span }, count: 0, bytes: 0 };
  const events = eventsIn(packed, document.topic, document.partition);
  const holes = span - events.length;
  return {
    fields: {
      ...(holes > 0 && { holes }),
      topTs: packed.maxTs,
      ...idFieldsLeft(document, events),
      ...indexed(events, document.keys !== undefined),
      uuids: new Binary(packed.ids),
      data: new Binary(packed.data),
      ...(packed.firstSeq !== first && { base: packed.firstSeq }),
    },
    count: events.length,
    bytes: sizeOf(events),
  };
}

/** Its bytes, or null if no event is left. */
export function batchOf({ first, base = first, uuids, data }: BatchDocument): Batch | null {
  if (data === undefined) return null;
  return { firstSeq: base, ids: bytesOf(uuids), data: bytesOf(data) };
}

export function bytesOf(binary: Binary | undefined): Buffer {
  if (binary === undefined) return Buffer.alloc(0);
  const { buffer, byteOffset } = binary.buffer;
  return Buffer.from(buffer, byteOffset, binary.length());
}

/** Its events that `wanted` asks for, in order. */
export function storedEvents(
  document: BatchDocument,
  wanted: (event: BatchCursor) => boolean = () => true,
): StoredEvent[] {
  const batch = batchOf(document);
  return batch === null ? [] : eventsIn(batch, document.topic, document.partition, wanted);
}

function eventsIn(
  batch: Batch,
  topic: string,
  partition: number,
  wanted: (event: BatchCursor) => boolean = () => true,
): StoredEvent[] {
  const events: StoredEvent[] = [];
  for (const cursor = new BatchCursor(batch); cursor.next(); ) {
    if (wanted(cursor)) events.push(cursor.event(topic, partition));
  }
  return events;
}
