/**
 * Events on their way into the file: encoded once, in the event loop's thread, into one buffer that is then handed to the
 * writing thread without a copy. Cut into batches small enough that one event is found without reading much.
 */
import type { EventDraft, EventMeta } from "../../model/event.js";
import { type Batch, HEAD_BYTES, KEYED, MAX_SPAN, META, TEXT_ID, VERSION } from "./codec.js";
import { ID_BYTES, writeUuid } from "./id-key.js";

/** A batch is closed once it has this many bytes. */
const TARGET_BYTES = 65_536;

/** Numbers per batch in a layout: count, start and end of its ids, start and end of its data, newest ts. */
const LAYOUT = 6;

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
    const [count = 0, idsFrom = 0, idsTo = 0, dataFrom = 0, dataTo = 0, maxTs = 0] = layout.slice(
      i,
      i + LAYOUT,
    );
    const ids = Buffer.from(buffer, idsFrom, idsTo - idsFrom);
    const data = Buffer.from(buffer, dataFrom, dataTo - dataFrom);
    batches.push({ firstSeq: 1, ids, data, count, maxTs });
  }
  return batches;
}

/** Encodes drafts into one buffer of its own, which may be transferred to another thread. */
export function encode(drafts: readonly EventDraft[]): Encoded {
  const encoder = new Encoder(drafts);
  for (const draft of drafts) encoder.add(draft);
  return encoder.finish();
}

class Encoder {
  #target: Buffer;
  #at: number;
  #idsAt = 0;
  readonly #layout: number[] = [];
  #from: { ids: number; data: number };
  #count = 0;
  #maxTs = Number.NEGATIVE_INFINITY;
  #meta: EventMeta | undefined;
  #metaJson = "";

  constructor(drafts: readonly EventDraft[]) {
    const idsBytes = drafts.length * ID_BYTES;
    let size = idsBytes + 64;
    for (const { body, key, meta } of drafts)
      size += body.size + (key?.length ?? 0) + (meta === undefined ? 64 : 128);
    // Not from the pool: its memory is shared and could not be transferred.
    this.#target = Buffer.allocUnsafeSlow(Math.ceil(size * 1.1));
    this.#at = idsBytes;
    this.#from = { ids: 0, data: idsBytes };
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
    this.#body(draft.body.encoded);
    this.#target.writeUInt32LE(this.#at - start - 4, start);
    this.#target[start + 4] = flags;
    this.#count++;
    if (draft.ts > this.#maxTs) this.#maxTs = draft.ts;
    if (this.#count >= MAX_SPAN || this.#at - this.#from.data >= TARGET_BYTES) this.#close();
  }

  /** Neighbours often share one. */
  #metaText(meta: EventMeta): string {
    if (meta !== this.#meta) {
      this.#meta = meta;
      this.#metaJson = JSON.stringify(meta);
    }
    return this.#metaJson;
  }

  finish(): Encoded {
    if (this.#count > 0) this.#close();
    return { buffer: this.#target.buffer as ArrayBuffer, layout: this.#layout };
  }

  #close(): void {
    const { ids, data } = this.#from;
    this.#layout.push(this.#count, ids, this.#idsAt, data, this.#at, this.#maxTs);
    this.#from = { ids: this.#idsAt, data: this.#at };
    this.#need(1);
    this.#target[this.#at++] = VERSION;
    this.#count = 0;
    this.#maxTs = Number.NEGATIVE_INFINITY;
  }

  #body(body: string | Uint8Array): void {
    if (typeof body === "string") {
      this.#need(body.length * 3);
      this.#at += this.#target.write(body, this.#at, "utf8");
    } else {
      this.#need(body.length);
      this.#target.set(body, this.#at);
      this.#at += body.length;
    }
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
    if (this.#at + bytes <= this.#target.length) return;
    const larger = Buffer.allocUnsafeSlow((this.#at + bytes) * 2);
    this.#target.copy(larger, 0, 0, this.#at);
    this.#target = larger;
  }
}
