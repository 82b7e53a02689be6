/**
 * The bytes of a batch: consecutive events of one partition as they came. Pure.
 *
 *   ids   16 bytes for each event whose id is a UUID, in order
 *   data  version (1 byte), then for each event:
 *         length of what follows (4 bytes, little endian) · flags (1) · ts (8, float)
 *         [offset of its seq from the batch's first (2), in sparse batches]
 *         [id: length, text] [key: length, UTF-8] [meta: length, JSON]      lengths as variable-size integers
 *         payload: JSON text as UTF-8, to the end
 *
 * An event's seq is the first seq plus its index, so that bytes can be made before the seq is known; once events
 * were removed in between, each one tells its offset. A batch spans at most MAX_SPAN seqs.
 */
import { crc32 } from "node:zlib";
import { BusError } from "../model/errors.js";
import { type EventMeta, type Seq, StoredEvent } from "../model/event.js";
import { freezeJson, JsonBody } from "../model/json.js";
import { ID_BYTES, readUuid, textIndexKey, uuidIndexKey } from "./id-key.js";

export const VERSION = 1;
/** Flags of an event. */
export const TEXT_ID = 1;
export const KEYED = 2;
export const META = 4;
const SPARSE = 8;

/** Length, flags and ts. */
export const HEAD_BYTES = 13;

/** Seqs that one batch may span: bounds how much is read to find one event. */
export const MAX_SPAN = 1_024;

/** A batch as it stands in a store. */
export interface Batch {
  readonly firstSeq: Seq;
  readonly ids: Buffer;
  readonly data: Buffer;
}

/** Steps through the events of a batch without making objects of those it passes by. */
export class BatchCursor {
  readonly #batch: Batch;
  #index = -1;
  #uuids = 0;
  /** Start of the present event, of its parts after the fixed ones, and of the next event. */
  #start = 1;
  #at = 1;
  #end = 1;
  #flags = 0;
  #seq: Seq;

  constructor(batch: Batch) {
    if (batch.data[0] !== VERSION) {
      throw new BusError(
        "STORE_INCOMPATIBLE",
        `a batch has format ${batch.data[0]}, unknown to this release`,
      );
    }
    this.#batch = batch;
    this.#seq = batch.firstSeq - 1;
  }

  /** Moves to the next event; false at the end. */
  next(): boolean {
    const { data, firstSeq } = this.#batch;
    if (this.#end >= data.length) return false;
    if (this.#index >= 0 && (this.#flags & TEXT_ID) === 0) this.#uuids++;
    this.#index++;
    this.#start = this.#end;
    this.#end = this.#start + 4 + data.readUInt32LE(this.#start);
    this.#flags = data[this.#start + 4] as number;
    this.#at = this.#start + HEAD_BYTES;
    if ((this.#flags & SPARSE) === 0) this.#seq = firstSeq + this.#index;
    else {
      this.#seq = firstSeq + data.readUInt16LE(this.#at);
      this.#at += 2;
    }
    return true;
  }

  get seq(): Seq {
    return this.#seq;
  }

  get ts(): number {
    return this.#batch.data.readDoubleLE(this.#start + 5);
  }

  /** Where its 16 bytes stand among the ids, or -1 if its id is not a UUID. */
  get uuidAt(): number {
    return (this.#flags & TEXT_ID) === 0 ? this.#uuids * ID_BYTES : -1;
  }

  get id(): string {
    return (this.#flags & TEXT_ID) === 0
      ? readUuid(this.#batch.ids, this.#uuids * ID_BYTES)
      : this.#part(TEXT_ID).toString("utf8");
  }

  get indexKey(): Buffer {
    const { uuidAt } = this;
    return uuidAt >= 0 ? uuidIndexKey(this.#batch.ids, uuidAt) : textIndexKey(this.id);
  }

  get keyBytes(): Buffer | undefined {
    return (this.#flags & KEYED) === 0 ? undefined : this.#part(KEYED);
  }

  event(topic: string, partition: number): StoredEvent {
    const { data, ids } = this.#batch;
    const flags = this.#flags;
    let at = this.#at;
    let id: string;
    if ((flags & TEXT_ID) === 0) id = readUuid(ids, this.#uuids * ID_BYTES);
    else {
      id = textAt(data, at);
      at = endOfPart(data, at);
    }
    let key: string | undefined;
    if ((flags & KEYED) !== 0) {
      key = textAt(data, at);
      at = endOfPart(data, at);
    }
    let meta: EventMeta | undefined;
    if ((flags & META) !== 0) {
      meta = metaOf(textAt(data, at));
      at = endOfPart(data, at);
    }
    const body = JsonBody.ofSlice(data, at, this.#end);
    return new StoredEvent(topic, partition, this.#seq, { id, ts: this.ts, key, meta, body });
  }

  /** The present event's bytes in data; sparse: with its seq told by offset, dense: without. */
  entry(form: "dense" | "sparse"): Buffer {
    const { data, firstSeq } = this.#batch;
    const parts = data.subarray(this.#at, this.#end);
    const from = form === "sparse" ? HEAD_BYTES + 2 : HEAD_BYTES;
    const entry = Buffer.allocUnsafe(from + parts.length);
    data.copy(entry, 0, this.#start, this.#start + HEAD_BYTES);
    entry.writeUInt32LE(entry.length - 4, 0);
    entry[4] = form === "sparse" ? this.#flags | SPARSE : this.#flags & ~SPARSE;
    if (form === "sparse") entry.writeUInt16LE(this.#seq - firstSeq, HEAD_BYTES);
    parts.copy(entry, from);
    return entry;
  }

  #part(wanted: number): Buffer {
    const { data } = this.#batch;
    let at = this.#at;
    for (const part of [TEXT_ID, KEYED, META]) {
      if (part === wanted) break;
      if ((this.#flags & part) !== 0) at = endOfPart(data, at);
    }
    const { length, from } = sizeAt(data, at);
    return data.subarray(from, from + length);
  }
}

function sizeAt(data: Buffer, at: number): { length: number; from: number } {
  let length = 0;
  let shift = 0;
  let from = at;
  for (;;) {
    const byte = data[from++] as number;
    length |= (byte & 127) << shift;
    if (byte < 128) return { length, from };
    shift += 7;
  }
}

function endOfPart(data: Buffer, at: number): number {
  const { length, from } = sizeAt(data, at);
  return from + length;
}

function textAt(data: Buffer, at: number): string {
  const { length, from } = sizeAt(data, at);
  return data.toString("utf8", from, from + length);
}

/** Some events of a batch. */
export interface Packed extends Batch {
  readonly count: number;
  readonly lastSeq: Seq;
  readonly maxTs: number;
}

/** The events that `keep` wants, with their seqs (sparse) or renumbered (dense); null if it wants none. */
export function pack(
  batch: Batch,
  keep: (event: BatchCursor) => boolean,
  form: "dense" | "sparse",
): Packed | null {
  const cursor = new BatchCursor(batch);
  const ids: Buffer[] = [];
  const entries: Buffer[] = [Buffer.of(VERSION)];
  let lastSeq = 0;
  let maxTs = Number.NEGATIVE_INFINITY;
  while (cursor.next()) {
    if (!keep(cursor)) continue;
    if (cursor.uuidAt >= 0) ids.push(batch.ids.subarray(cursor.uuidAt, cursor.uuidAt + ID_BYTES));
    entries.push(cursor.entry(form));
    lastSeq = cursor.seq;
    maxTs = Math.max(maxTs, cursor.ts);
  }
  if (entries.length === 1) return null;
  const count = entries.length - 1;
  return {
    firstSeq: batch.firstSeq,
    ids: Buffer.concat(ids),
    data: Buffer.concat(entries),
    count,
    lastSeq,
    maxTs,
  };
}

/** The event that a cursor of the batch stands on, alone and dense. */
export function packOne({ ids }: Batch, cursor: BatchCursor): Pick<Batch, "ids" | "data"> {
  const { uuidAt } = cursor;
  return {
    ids: uuidAt < 0 ? Buffer.alloc(0) : Buffer.from(ids.subarray(uuidAt, uuidAt + ID_BYTES)),
    data: Buffer.concat([Buffer.of(VERSION), cursor.entry("dense")]),
  };
}

/** Checksum of a batch's bytes and of where it belongs. */
export function checksum(part: number, lastSeq: Seq, count: number, { firstSeq, ids, data }: Batch): number {
  const place = crc32(`${part}:${firstSeq}:${lastSeq}:${count}`);
  // Of no bytes at all, crc32 gives different answers, depending on where they are not.
  return crc32(data, ids.length === 0 ? place : crc32(ids, place));
}

/** Most events of a topic carry the same few metas: parsed once, shared after that. */
const metas = new Map<string, EventMeta>();
const MAX_METAS = 256;

function metaOf(text: string): EventMeta {
  let meta = metas.get(text);
  if (meta === undefined) {
    meta = freezeJson(JSON.parse(text) as EventMeta);
    if (metas.size >= MAX_METAS) metas.clear();
    metas.set(text, meta);
  }
  return meta;
}
