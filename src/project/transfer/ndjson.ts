/** Splits bytes into lines, as they come, with bounded memory: a line that is too long is refused, not gathered. */
import { isUtf8 } from "node:buffer";
import { BusError } from "../../model/errors.js";

export interface NdjsonLine {
  /** Counted from 1, blank ones included. */
  readonly number: number;
  readonly text: string;
}

const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = "\ufeff";

/** Feed it chunks; it gives back the lines they complete. Blank lines are passed over. */
export class LineSplitter {
  readonly #maxBytes: number;
  /** Of the line that is not complete yet. */
  #parts: Buffer[] = [];
  #bytes = 0;
  #number = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  *push(chunk: Buffer): Generator<NdjsonLine> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#gather(chunk.subarray(start, end));
      start = end + 1;
      yield* this.#take();
    }
    // A copy, since whoever made the chunk may use its memory again.
    if (start < chunk.length) this.#gather(Buffer.from(chunk.subarray(start)));
  }

  /** The last line, if it has no end. */
  *end(): Generator<NdjsonLine> {
    if (this.#bytes > 0) yield* this.#take();
  }

  #gather(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) throw lineError(this.#number + 1, tooLong(this.#maxBytes));
    this.#parts.push(part);
  }

  *#take(): Generator<NdjsonLine> {
    this.#number++;
    const bytes = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    const text = this.#decode(bytes);
    if (text.trim() !== "") yield { number: this.#number, text };
  }

  #decode(bytes: Buffer): string {
    if (!isUtf8(bytes)) throw lineError(this.#number, new BusError("INVALID_PAYLOAD", "it is not UTF-8"));
    const text = bytes.toString();
    return this.#number === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  }
}

/** The same error, with the line it is about. */
export function lineError(line: number, error: BusError): BusError {
  return new BusError(error.code, `line ${line}: ${error.message}`, {
    cause: error,
    retryable: error.retryable,
    details: { ...error.details, line },
  });
}

function tooLong(maxBytes: number): BusError {
  return new BusError("PAYLOAD_TOO_LARGE", `it has more than ${maxBytes} bytes`, { details: { maxBytes } });
}
