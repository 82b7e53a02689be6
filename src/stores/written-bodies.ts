/**
 * Payloads whose JSON is made ahead of their append, one behind the other in buffers that are as large as some hundred of them
 * together: what is left to do at the append is a copy.
 */
import type { JsonBody } from "../model/json.js";
import { JsonWriter } from "./batch-json.js";

const BUFFER_BYTES = 65_536;
/** A larger one would leave too much of a buffer empty. */
const MOST_BYTES = 8_192;

export class WrittenBodies {
  readonly #json = new JsonWriter();
  #buffer: Buffer = Buffer.alloc(0);
  #used = 0;

  /** Does nothing to one that has its text or bytes, or is large. */
  write(body: JsonBody): void {
    const value = body.valueAlone;
    if (value === undefined || body.size > MOST_BYTES) return;
    if (this.#used + body.size > this.#buffer.length) {
      this.#buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
      this.#used = 0;
    }
    const from = this.#used;
    this.#json.write(value, this.#buffer, from, from);
    // Another one, if the estimate was too low for what was left of this one.
    this.#buffer = this.#json.target;
    this.#used = this.#json.end;
    body.keepBytes(this.#buffer, from, this.#used);
  }
}
