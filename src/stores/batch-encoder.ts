/**
 * Events on their way into a store: encoded once, in the event loop's thread, into a buffer that may then be handed to
 * another thread without a copy. Cut into batches small enough that one event is found without reading much.
 *
 * Small appends of one turn share a leaf: a buffer of its own for each event among a thousand topics costs more than
 * everything else that is done with the event.
 */
import type { EventDraft, EventMeta } from "../model/event.js";
import type { JsonBody } from "../model/json.js";
import { type Batch, HEAD_BYTES, KEYED, MAX_SPAN, META, TEXT_ID, VERSION } from "./batch-codec.js";
import { grown, JsonWriter } from "./batch-json.js";
import { ID_BYTES, writeUuid } from "./id-key.js";

/** A batch is closed once it has this many bytes, unless a store says otherwise. */
export const TARGET_BYTES = 65_536;

/** Numbers per batch in a layout: count, start and end of its ids, start and end of its data, newest ts. */
export const LAYOUT = 6;

export interface Encoded {
  readonly buffer: ArrayBuffer;
  /** Where the batches lie in the buffer: LAYOUT numbers for each, in one flat list. */
  readonly layout: readonly number[];
}

/** A batch that has no place yet. */
export interface NewBatch extends Batch {
  readonly count: number;
  readonly maxTs: number;
}

/** The batches in a buffer, as views of it. */
export function batchesIn({ buffer, layout }: Encoded): NewBatch[] {
  const batches: NewBatch[] = [];
  for (let i = 0; i < layout.length; i += LAYOUT) {
    const [count = 0, idsFrom = 0, idsTo = 0, dataFrom = 0, dataTo = 0, maxTs = 0] =
      layout.length === LAYOUT ? layout : layout.slice(i, i + LAYOUT);
    const ids = Buffer.from(buffer, idsFrom, idsTo - idsFrom);
    const data = Buffer.from(buffer, dataFrom, dataTo - dataFrom);
    batches.push({ firstSeq: 1, ids, data, count, maxTs });
  }
  return batches;
}

const LEAF_BYTES = 16_384;

/** Where appends are encoded one behind the other, until it is full or was transferred to another thread. */
export class Leaf {
  readonly #targetBytes: number;
  readonly #json = new JsonWriter();
  #buffer: Buffer = Buffer.alloc(0);
  #used = 0;

  constructor(targetBytes = TARGET_BYTES) {
    this.#targetBytes = targetBytes;
  }

  /** Encodes drafts into the leaf, or into a new one, which may then be transferred. */
  encode(drafts: readonly EventDraft[]): Encoded {
    const size = sizeOf(drafts);
    if (this.#used + size > this.#buffer.length) {
      // Not from the pool: its memory is shared and could not be transferred.
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(size, LEAF_BYTES));
      this.#used = 0;
    }
    const encoder = new Encoder(this.#buffer, this.#used, drafts.length, this.#targetBytes, this.#json);
    for (const draft of drafts) encoder.add(draft);
    const layout = encoder.finish();
    // A larger one, if what was left was too little: that is for nobody else, or each would be larger than the one before.
    this.#used = encoder.target === this.#buffer ? encoder.end : encoder.target.length;
    this.#buffer = encoder.target;
    return { buffer: this.#buffer.buffer as ArrayBuffer, layout };
  }
}

/** Encodes drafts at a place in a buffer that has room for them and gives the layout; undefined if it has not. */
export function encodeAt(
  target: Buffer,
  at: number,
  drafts: readonly EventDraft[],
  json: JsonWriter,
): readonly number[] | undefined {
  const encoder = new Encoder(target, at, drafts.length, TARGET_BYTES, json);
  for (const draft of drafts) encoder.add(draft);
  const layout = encoder.finish();
  return encoder.target === target ? layout : undefined;
}

/** Bytes that the drafts will take, with something to spare; only texts that are mostly not ASCII take more. */
export function sizeOf(drafts: readonly EventDraft[]): number {
  let size = drafts.length * ID_BYTES + 64;
  for (const { body, key, meta } of drafts)
    size += body.size + (key?.length ?? 0) + (meta === undefined ? 64 : 128);
  return Math.ceil(size * 1.1);
}

/** Encodes drafts from a place in a buffer on, or in a larger one: their ids in front, for as many drafts as it is told of. */
export class Encoder {
  #target: Buffer;
  readonly #start: number;
  readonly #targetBytes: number;
  readonly #json: JsonWriter;
  #at: number;
  #idsAt: number;
  #layout: number[] | undefined;
  #from: { ids: number; data: number };
  #count = 0;
  #maxTs = Number.NEGATIVE_INFINITY;
  #meta: EventMeta | undefined;
  #metaJson = "";

  constructor(target: Buffer, start: number, drafts: number, targetBytes: number, json: JsonWriter) {
    this.#target = target;
    this.#start = start;
    this.#targetBytes = targetBytes;
    this.#json = json;
    this.#idsAt = start;
    this.#at = start + drafts * ID_BYTES;
    this.#from = { ids: start, data: this.#at };
    this.#target[this.#at++] = VERSION;
  }

  add(draft: EventDraft): void {
    const start = this.#at;
    const { key, meta } = draft;
    let flags = 0;
    this.#need(HEAD_BYTES);
    this.#target.writeDoubleLE(draft.ts, start + 5);
    this.#at += HEAD_BYTES;
    if (writeUuid(draft.id, this.#target, this.#idsAt)) this.#idsAt += ID_BYTES;
    else {
      flags |= TEXT_ID;
      this.#sized(draft.id);
    }
    if (key !== undefined) {
      flags |= KEYED;
      this.#sized(key);
    }
    if (meta !== undefined) {
      flags |= META;
      this.#sized(this.#metaText(meta));
    }
    this.#body(draft.body);
    this.#target.writeUInt32LE(this.#at - start - 4, start);
    this.#target[start + 4] = flags;
    this.#count++;
    if (draft.ts > this.#maxTs) this.#maxTs = draft.ts;
    if (this.#count >= MAX_SPAN || this.#at - this.#from.data >= this.#targetBytes) this.#close();
  }

  /** Neighbours often share one. */
  #metaText(meta: EventMeta): string {
    if (meta !== this.#meta) {
      this.#meta = meta;
      this.#metaJson = JSON.stringify(meta);
    }
    return this.#metaJson;
  }

  finish(): readonly number[] {
    if (this.#count > 0) this.#close();
    return this.#layout ?? [];
  }

  /** A larger one than it was given, if that was too small. */
  get target(): Buffer {
    return this.#target;
  }

  get end(): number {
    return this.#at;
  }

  #close(): void {
    const { ids, data } = this.#from;
    if (this.#layout === undefined)
      this.#layout = layoutOf(this.#count, ids, this.#idsAt, data, this.#at, this.#maxTs);
    else this.#layout.push(this.#count, ids, this.#idsAt, data, this.#at, this.#maxTs);
    this.#from = { ids: this.#idsAt, data: this.#at };
    this.#need(1);
    this.#target[this.#at++] = VERSION;
    this.#count = 0;
    this.#maxTs = Number.NEGATIVE_INFINITY;
  }

  #body(body: JsonBody): void {
    const value = body.valueAlone;
    if (value === undefined) this.#encoded(body);
    else {
      this.#json.write(value, this.#target, this.#start, this.#at);
      this.#target = this.#json.target;
      this.#at = this.#json.end;
    }
  }

  #encoded(body: JsonBody): void {
    const { source } = body;
    if (source === undefined) {
      const { text } = body;
      this.#need(text.length * 3);
      this.#at += this.#target.write(text, this.#at, "utf8");
      return;
    }
    const { from, to } = body;
    this.#need(to - from);
    this.#target.set(new Uint8Array(source.buffer, source.byteOffset + from, to - from), this.#at);
    this.#at += to - from;
  }

  #sized(text: string): void {
    // Nearly all are short: their length takes one byte, and is known once they are written.
    if (text.length < 43) {
      this.#need(128);
      const bytes = this.#target.write(text, this.#at + 1, "utf8");
      this.#target[this.#at] = bytes;
      this.#at += bytes + 1;
      return;
    }
    const bytes = Buffer.byteLength(text, "utf8");
    this.#need(bytes + 5);
    let length = bytes;
    for (; length >= 128; length >>>= 7) this.#target[this.#at++] = (length & 127) | 128;
    this.#target[this.#at++] = length;
    this.#at += this.#target.write(text, this.#at, "utf8");
  }

  #need(bytes: number): void {
    if (this.#at + bytes > this.#target.length)
      this.#target = grown(this.#target, this.#start, this.#at, bytes);
  }
}

const LAYOUT_OF_NONE: readonly number[] = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5];

/** Nearly always there is one batch. A copy of a list of fractions, for the reasons that stand at `listOfOne`. */
function layoutOf(
  count: number,
  idsFrom: number,
  idsTo: number,
  dataFrom: number,
  dataTo: number,
  maxTs: number,
): number[] {
  const layout = LAYOUT_OF_NONE.slice();
  layout[0] = count;
  layout[1] = idsFrom;
  layout[2] = idsTo;
  layout[3] = dataFrom;
  layout[4] = dataTo;
  layout[5] = maxTs;
  return layout;
}
