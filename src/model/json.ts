/**
 * A JSON document in whichever form it came: as a value, as text, as bytes. The other forms are made when first
 * asked for and kept, so that an event is serialised at most once and parsed at most once in a process.
 *
 * Values are deep-frozen: ten groups may share one payload, and none can change it for the others.
 */
import { BusError } from "./errors.js";
import { copyJson } from "./json-copy.js";
import type { Limits } from "./limits.js";

/** What JSON can say. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** An object of JSON. */
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** A Buffer, as far as it is needed: browsers, to whose compilers that type is unknown, are shown these declarations, too. */
type SlicedBytes = Uint8Array & { toString(encoding?: "utf8", from?: number, to?: number): string };

/** A payload as a store keeps it: made of a value, a text or bytes, and asked for as any of them. */
export class JsonBody {
  #text: string | undefined;
  #value: unknown;
  #bytes: Uint8Array | undefined;
  #size: number;
  /** Where the JSON stands in `#bytes`, which may hold more; -1 once `#bytes` is the JSON and nothing else. */
  #from = -1;
  #to = -1;

  private constructor(text: string | undefined, value: unknown, bytes: Uint8Array | undefined, size: number) {
    this.#text = text;
    this.#value = value;
    this.#bytes = bytes;
    this.#size = size;
  }

  /** From a value of ours that nobody else holds: already copied and frozen. `size` is an estimate of its text. */
  static ofFrozen(value: unknown, size: number): JsonBody {
    return new JsonBody(undefined, value, undefined, size);
  }

  static ofText(text: string): JsonBody {
    return new JsonBody(text, undefined, undefined, text.length);
  }

  /** From UTF-8 bytes, which must not change afterwards. */
  static ofBytes(bytes: Uint8Array): JsonBody {
    return new JsonBody(undefined, undefined, bytes, bytes.length);
  }

  /** From a stretch of UTF-8 bytes, which must not change afterwards. No view of it is made unless asked for. */
  static ofSlice(source: SlicedBytes, from: number, to: number): JsonBody {
    const body = new JsonBody(undefined, undefined, source, to - from);
    body.#from = from;
    body.#to = to;
    return body;
  }

  /** Keeps its UTF-8 JSON, which somebody has made: where it stands among bytes that must not change afterwards. */
  keepBytes(source: SlicedBytes, from: number, to: number): void {
    this.#bytes = source;
    this.#size = to - from;
    this.#from = from;
    this.#to = to;
  }

  /** Bytes of its JSON text; an estimate until the text is made. For bounds, not for billing. */
  get size(): number {
    return this.#size;
  }

  get text(): string {
    if (this.#text === undefined) {
      this.#text = this.#bytes === undefined ? JSON.stringify(this.#value) : this.#decode(this.#bytes);
      this.#size = this.#text.length;
    }
    return this.#text;
  }

  get value(): unknown {
    if (this.#value === undefined) this.#value = freezeJson(JSON.parse(this.#textForNow()));
    return this.#value;
  }

  /** Its value if it has no other form, not even one to make it of; else undefined. */
  get valueAlone(): unknown {
    return this.#text === undefined && this.#bytes === undefined ? this.#value : undefined;
  }

  get bytes(): Uint8Array {
    if (this.#bytes === undefined) this.#bytes = Buffer.from(this.text, "utf8");
    if (this.#from >= 0) {
      this.#bytes = this.#bytes.subarray(this.#from, this.#to);
      this.#from = -1;
    }
    return this.#bytes;
  }

  /** Bytes in which its UTF-8 JSON stands, from `from` to `to`, if there are any: for those who copy many and want no view of each. */
  get source(): Uint8Array | undefined {
    return this.#bytes;
  }

  get from(): number {
    return Math.max(this.#from, 0);
  }

  get to(): number {
    return this.#from < 0 ? (this.#bytes?.length ?? 0) : this.#to;
  }

  /** Same JSON value; member order does not matter. */
  equals(other: JsonBody): boolean {
    return this.text === other.text || canonicalText(this.value) === canonicalText(other.value);
  }

  /** Its text, not kept where there are bytes to make it of again: few ask for both. */
  #textForNow(): string {
    return this.#text === undefined && this.#bytes !== undefined ? this.#decode(this.#bytes) : this.text;
  }

  #decode(bytes: Uint8Array): string {
    if (this.#from >= 0) return (bytes as SlicedBytes).toString("utf8", this.#from, this.#to);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  }
}

export function freezeJson<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  // A loop over names makes a text of each index of a list.
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) freezeMember(value[i]);
  else for (const name in value) freezeMember(value[name]);
  return Object.freeze(value);
}

function freezeMember(member: unknown): void {
  if (typeof member === "object") freezeJson(member);
}

export type JsonLimits = Pick<Limits, "maxPayloadBytes" | "maxPayloadDepth">;

/** What is nested deeper is taken for endless where no bus has a say. */
export const DEEPEST = 200;

/** Where somebody else has the last word on size: a store, or the bus when it is published. */
const ANY_SIZE: JsonLimits = { maxPayloadBytes: Number.POSITIVE_INFINITY, maxPayloadDepth: DEEPEST };

/**
 * A frozen copy of `value` as JSON would keep it, or INVALID_PAYLOAD with the path of what JSON cannot keep.
 * Stricter than JSON.stringify where that would lose data in silence: NaN, functions, Map, cycles are refused.
 */
export function jsonBody(value: unknown, limits: JsonLimits = ANY_SIZE): JsonBody {
  const { maxPayloadBytes: maxBytes, maxPayloadDepth } = limits;
  const { copy, size } = copyJson(value, maxPayloadDepth);
  const body = JsonBody.ofFrozen(copy, size);
  // Escapes take at most 6 bytes a character, so only texts near the limit need to be measured.
  if (size * 6 > maxBytes) {
    const bytes = Buffer.byteLength(body.text, "utf8");
    if (bytes > maxBytes) {
      throw new BusError(
        "PAYLOAD_TOO_LARGE",
        `the payload has ${bytes} bytes of JSON; at most ${maxBytes} are allowed`,
        {
          details: { bytes, maxBytes },
        },
      );
    }
  }
  return body;
}

/** Texts that are handed in beside their values are nested at most this deep. */
export const SHALLOW_DEPTH = 32;

/** A value that may have been left in its text (undefined, which no JSON is) until somebody looks at it. */
export function valueOrRead(value: unknown, text: string | undefined): unknown {
  return value === undefined && text !== undefined ? JSON.parse(text) : value;
}

/** As jsonBody, of a value whose text is at hand: that is kept, if it is within bounds for sure. */
export function jsonBodyOf(value: unknown, text: string, limits: JsonLimits): JsonBody {
  const fits = text.length * 3 <= limits.maxPayloadBytes && limits.maxPayloadDepth >= SHALLOW_DEPTH;
  return fits ? JsonBody.ofText(text) : jsonBody(valueOrRead(value, text), limits);
}

/** A body that a log has, within these bounds: its text or bytes are looked over, not parsed. Throws as jsonBody does. */
export function boundedBody(body: JsonBody, limits: JsonLimits): JsonBody {
  const { maxPayloadBytes, maxPayloadDepth } = limits;
  const isWritten = body.valueAlone === undefined;
  const fits = isWritten && bytesOf(body) <= maxPayloadBytes && nestedAtMost(body, maxPayloadDepth);
  return fits ? apart(body) : jsonBody(body.value, limits);
}

/** The body by itself: a whole page of the log may be kept for its sake otherwise. */
export function apart(body: JsonBody): JsonBody {
  const { source, from, to } = body;
  if (source === undefined || source.length === to - from) return body;
  return JsonBody.ofBytes(Buffer.from(source.subarray(from, to)));
}

function bytesOf(body: JsonBody): number {
  return body.source === undefined ? Buffer.byteLength(body.text, "utf8") : body.to - body.from;
}

const [QUOTE, ESCAPE, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 92, 91, 93, 123, 125];

/** Of JSON: what stands in its texts is passed over. */
function nestedAtMost(body: JsonBody, maxDepth: number): boolean {
  const { source } = body;
  const text = source === undefined ? body.text : "";
  const end = source === undefined ? text.length : body.to;
  let depth = 0;
  let isText = false;
  for (let i = source === undefined ? 0 : body.from; i < end; i++) {
    const code = source === undefined ? text.charCodeAt(i) : source[i];
    if (isText) {
      if (code === ESCAPE) i++;
      else if (code === QUOTE) isText = false;
    } else if (code === QUOTE) isText = true;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > maxDepth) return false;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
  return true;
}

/** JSON text with members in sorted order: equal for equal values. */
export function canonicalText(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalText(member)}`).join(",")}}`;
}
