/**
 * A batch that is encoded while its events wait for their append, one after the other: whoever waits for an answer from afar has
 * the time for it, and none when the answer comes.
 */
import type { EventDraft } from "../model/event.js";
import { MAX_SPAN } from "./batch-codec.js";
import { batchesIn, Encoder, type NewBatch, sizeOf } from "./batch-encoder.js";
import { JsonWriter } from "./batch-json.js";

/** Fewer are encoded in no time when they are appended, and not worth a buffer of their own. */
const WORTH_IT = 32;
/** More than this is not encoded ahead: an append may take less than what waits. */
const MOST_BYTES = 1_048_576;
const FIRST_BYTES = 65_536;

const json = new JsonWriter();

/** Kept by the last of its drafts. */
export class BatchAhead {
  readonly #drafts: EventDraft[] = [];
  #encoder: Encoder | undefined;
  #made: NewBatch | undefined;

  /** Adds a draft to the batch that ends with `before`, or begins one with it. */
  static add(draft: EventDraft, before: EventDraft | undefined): void {
    const batch = before === undefined ? new BatchAhead() : before.ahead;
    if (!(batch instanceof BatchAhead)) return;
    if (before !== undefined) before.ahead = undefined;
    if (batch.#add(draft)) draft.ahead = batch;
  }

  /** The batch of just these drafts, if it was made ahead. */
  static of(drafts: readonly EventDraft[]): NewBatch | undefined {
    const batch = drafts.at(-1)?.ahead;
    return batch instanceof BatchAhead ? batch.#of(drafts) : undefined;
  }

  /** False if it is too large for one more. */
  #add(draft: EventDraft): boolean {
    const drafts = this.#drafts;
    if (drafts.push(draft) < WORTH_IT) return true;
    if (this.#encoder !== undefined) this.#encoder.add(draft);
    else {
      const first = Buffer.allocUnsafeSlow(Math.max(sizeOf(drafts), FIRST_BYTES));
      this.#encoder = new Encoder(first, 0, MAX_SPAN, Number.POSITIVE_INFINITY, json);
      for (const one of drafts) this.#encoder.add(one);
    }
    return drafts.length < MAX_SPAN && this.#encoder.end < MOST_BYTES;
  }

  #of(drafts: readonly EventDraft[]): NewBatch | undefined {
    const known = this.#drafts;
    if (this.#encoder === undefined || known.length !== drafts.length) return undefined;
    for (let i = 0; i < drafts.length; i++) if (drafts[i] !== known[i]) return undefined;
    this.#made ??= made(this.#encoder);
    return this.#made;
  }
}

function made(encoder: Encoder): NewBatch {
  const layout = encoder.finish();
  return batchesIn({ buffer: encoder.target.buffer as ArrayBuffer, layout })[0] as NewBatch;
}
