/**
 * Payloads whose JSON is made ahead of their append, one behind the other in buffers: what is left to do at the append is a copy.
 *
 * An event that is waited for long after the others (its key is held up) keeps the whole buffer, and is counted for its own bytes
 * alone (P13). So buffers are small.
 */
import type { JsonBody } from "../model/json.js";
import { JsonWriter } from "./batch-json.js";

const BUFFER_BYTES = 16_384;
/** A larger one would leave too much of a buffer empty. */
const MOST_BYTES = 4_096;
/** As the writer asks for before it knows better. */
const BYTES_A_CHARACTER = 3;

export class WrittenBodies {
  readonly #json = new JsonWriter();
  #buffer: Buffer = Buffer.alloc(0);
  #used = 0;

  /** Does nothing to one that has its text or bytes, or is large. */
  write(body: JsonBody): void {
    const value = body.valueAlone;
    if (value === undefined || body.size > MOST_BYTES) return;
    if (this.#used + body.size * BYTES_A_CHARACTER > this.#buffer.length) {
      this.#buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
      this.#used = 0;
    }
    const from = this.#used;
    this.#json.write(value, this.#buffer, from, from);
    const { target, end } = this.#json;
    body.keepBytes(target, from, end);
    // A larger one, if what was left was too little: that is for nobody else, or each would be larger than the one before.
    this.#used = target === this.#buffer ? end : BUFFER_BYTES;
  }
}
