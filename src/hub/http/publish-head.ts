/**
 * The head of a request that publishes and asks for nothing else. Only what node:http would understand in the same way counts
 * as one: every line is checked, what may not come twice does not, and the length of the body is given in digits. Pure.
 */

export interface PublishHead {
  readonly host: string;
  readonly authorization: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly traceparent: string | undefined;
  /** Bytes of the body. */
  readonly length: number;
}

const REQUEST_LINE = "POST /publish HTTP/1.1\r\n";
const HEADER_LINES = /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)+$/;
const JSON_TYPE = /^application\/json\s*(;\s*charset=utf-8\s*)?$/i;
const LENGTH = /^\d{1,9}$/;

/** Headers that are looked at; the others say nothing about a publish. */
type Read = "host" | "authorization" | "content-type" | "content-length" | "idempotency-key" | "traceparent";
const READ: ReadonlySet<string> = new Set<Read>([
  "host",
  "authorization",
  "content-type",
  "content-length",
  "idempotency-key",
  "traceparent",
]);
/** Headers that ask for more than a publish does, or come from a web page. */
const UNUSUAL: ReadonlySet<string> = new Set([
  "transfer-encoding",
  "origin",
  "content-encoding",
  "expect",
  "upgrade",
  "te",
  "trailer",
]);

/** `text`: the head as Latin-1, with the line end of its last header. Undefined: it is for others to understand. */
export function publishHead(text: string): PublishHead | undefined {
  if (!text.startsWith(REQUEST_LINE)) return undefined;
  const lines = text.slice(REQUEST_LINE.length);
  if (!HEADER_LINES.test(lines)) return undefined;
  const found: Partial<Record<Read, string>> = {};
  for (let at = 0; at < lines.length; ) {
    const colon = lines.indexOf(":", at);
    const end = lines.indexOf("\r\n", colon);
    const name = lines.slice(at, colon).toLowerCase();
    if (READ.has(name)) {
      if (found[name as Read] !== undefined) return undefined;
      found[name as Read] = trimmed(lines, colon + 1, end);
    } else if (isUnusual(name, lines, colon + 1, end)) return undefined;
    at = end + 2;
  }
  const length = found["content-length"] ?? "";
  const isPlain = found.host !== undefined && LENGTH.test(length) && isPlainJson(found["content-type"] ?? "");
  if (!isPlain) return undefined;
  return {
    host: found.host as string,
    authorization: found.authorization,
    idempotencyKey: found["idempotency-key"],
    traceparent: found.traceparent,
    length: Number(length),
  };
}

function isUnusual(name: string, lines: string, from: number, to: number): boolean {
  if (name === "connection") return trimmed(lines, from, to).toLowerCase() !== "keep-alive";
  // The attributes of a CloudEvent.
  return UNUSUAL.has(name) || name.startsWith("ce-");
}

/** A content type that says JSON and no more. */
export function isPlainJson(type: string): boolean {
  return type === "application/json" || JSON_TYPE.test(type);
}

/** Without spaces and tabs around it. */
function trimmed(text: string, from: number, to: number): string {
  let [start, end] = [from, to];
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
