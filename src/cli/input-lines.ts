/** The lines of a file or of stdin, as they stand there: bytes that are no text are refused, not replaced. */
import { BusError } from "../model/errors.js";
import { LineSplitter, type NdjsonLine } from "../project/transfer/ndjson.js";
import { failure } from "./exit.js";

/** A bound for the memory of this program; the hub has its own, and says so. */
const MAX_LINE_BYTES = 67_108_864;

export async function* inputLines(input: AsyncIterable<Buffer>): AsyncGenerator<NdjsonLine> {
  const splitter = new LineSplitter(MAX_LINE_BYTES);
  try {
    for await (const chunk of input) yield* splitter.push(chunk);
    yield* splitter.end();
  } catch (error) {
    throw BusError.is(error) ? failure(error.code, error.message, { cause: error }) : error;
  }
}
