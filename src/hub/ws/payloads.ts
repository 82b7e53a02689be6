/**
 * Payloads of a frame, one behind the other. Those that stand in the same bytes of the store, a few other bytes apart, are copied
 * together with what is between them, and pulled together in place: a view of each would cost more than all the copying.
 */
import type { JsonBody } from "../../model/json.js";

/** Bytes between two payloads beyond which these are copied apart. */
const MOST_BETWEEN = 256;
/** A character of a text has no more bytes. */
const WIDEST_CHAR = 3;

const COMMA = 0x2c;

export class Payloads {
  readonly #bodies: JsonBody[] = [];
  #mostBytes = 0;

  /** They need no more bytes than this while they are written. */
  get mostBytes(): number {
    return this.#mostBytes;
  }

  /** About as many characters as it has. */
  add(body: JsonBody): number {
    const before = this.#bodies.at(-1);
    this.#bodies.push(body);
    if (body.source === undefined) {
      const { length } = body.text;
      this.#mostBytes += length * WIDEST_CHAR + 1;
      return length;
    }
    const length = body.to - body.from;
    this.#mostBytes += length + 1;
    if (before !== undefined && areNear(before, body)) this.#mostBytes += body.from - before.to;
    return length;
  }

  /** With commas between them; returns where they end. */
  writeTo(buffer: Buffer, from: number): number {
    const bodies = this.#bodies;
    let at = from;
    for (let i = 0; i < bodies.length; ) {
      if (i > 0) buffer[at++] = COMMA;
      const body = bodies[i] as JsonBody;
      let end = i + 1;
      if (body.source === undefined) at += buffer.write(body.text, at);
      else {
        while (end < bodies.length && areNear(bodies[end - 1] as JsonBody, bodies[end] as JsonBody)) end++;
        at = writeNear(bodies, i, end, body.source, buffer, at);
      }
      i = end;
    }
    return at;
  }
}

function areNear(before: JsonBody, body: JsonBody): boolean {
  if (before.source === undefined || before.source !== body.source) return false;
  const between = body.from - before.to;
  return between > 0 && between <= MOST_BETWEEN;
}

/** Those from `first` up to `end`, each near the one before, all of which stand in `source`. */
function writeNear(
  bodies: readonly JsonBody[],
  first: number,
  end: number,
  source: Uint8Array,
  buffer: Buffer,
  from: number,
): number {
  const { from: start, to } = bodies[first] as JsonBody;
  buffer.set(source.subarray(start, (bodies[end - 1] as JsonBody).to), from);
  const moved = from - start;
  let at = moved + to;
  for (let i = first + 1; i < end; i++) {
    const body = bodies[i] as JsonBody;
    const length = body.to - body.from;
    buffer[at++] = COMMA;
    buffer.copyWithin(at, moved + body.from, moved + body.to);
    at += length;
  }
  return at;
}
