/**
 * JSON in BSON, so that whatever goes in comes out: member names and strings that BSON or the driver would refuse,
 * change or interpret are kept in an escaped form. Everything else is stored as it is and can be queried as it is.
 *
 * Escaped names: those with a dot, a NUL or half a surrogate pair, those that begin with `$` (operators, references) or
 * with the mark itself, `_bsontype` and the empty name. Escaped strings: those with half a surrogate pair, which
 * UTF-8 cannot hold.
 */
import { Binary, type Document } from "mongodb";
import { BusError } from "../../model/errors.js";
import { freezeJson, type JsonObject, type JsonValue } from "../../model/json.js";
import { isBinary } from "./connection/driver-kinds.js";

const MARK = "\u0001";
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL ends a name in BSON, the mark begins an escaped one.
const UNSAFE_NAME = /^(?:[$\u0001]|_bsontype$|$)|[.\0]|\p{Surrogate}/u;

/** A string as BSON can hold it. */
export function bsonText(text: string): string | Binary {
  return text.isWellFormed() ? text : new Binary(Buffer.from(JSON.stringify(text), "utf8"), 0x80);
}

/** The string that `bsonText` was given. */
export function plainText(stored: unknown): string {
  return isBinary(stored) ? (JSON.parse(stored.toString("utf8")) as string) : String(stored);
}

export function bsonName(name: string): string {
  return UNSAFE_NAME.test(name) ? MARK + asciiJson(name) : name;
}

export function plainName(stored: string): string {
  return stored.startsWith(MARK) ? (JSON.parse(stored.slice(1)) as string) : stored;
}

/** Escapes stand for all that must not be in a name, dots and dollars included. */
function asciiJson(name: string): string {
  return JSON.stringify(name).replace(
    /[.$]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A field path as it stands in the stored document: every segment may be escaped. */
export function bsonPath(path: string): string {
  return path.split(".").map(bsonName).join(".");
}

/** The value as BSON keeps it; the very same value unless something in it needs an escape. What is no JSON is refused. */
export function toBson(value: JsonValue): unknown {
  if (typeof value === "string") return bsonText(value);
  if (value === null || typeof value !== "object") return checkScalar(value);
  if (Array.isArray(value)) {
    const items = value.map(toBson);
    return items.some((item, i) => !Object.is(item, value[i])) ? items : value;
  }
  const members = Object.entries(value as JsonObject).map(
    ([name, member]) => [bsonName(name), toBson(member)] as const,
  );
  const same = members.every(([name, member]) => Object.is(member, (value as JsonObject)[name]));
  // fromEntries defines members, so that `__proto__` is one like any other.
  return same ? value : Object.fromEntries(members);
}

/** BSON would keep a bigint and the sign of 0, leave a function out, and hold numbers that JSON has not: elsewhere these are refused. */
function checkScalar(value: unknown): unknown {
  if (value === 0) return 0;
  const kind = typeof value;
  if (kind === "boolean" || kind === "undefined" || (kind === "number" && Number.isFinite(value)))
    return value;
  if (value === null) return null;
  throw new BusError(
    "INVALID_PAYLOAD",
    `${kind === "number" ? String(value) : `a ${kind}`} has no JSON form`,
  );
}

/** What `toBson` was given, frozen. Types that only a foreign hand can have stored come as text. */
export function fromBson(stored: unknown): JsonValue {
  return freezeJson(decode(stored));
}

function decode(stored: unknown): JsonValue {
  if (stored === null || stored === undefined) return null;
  if (typeof stored !== "object") return stored as JsonValue;
  if (Array.isArray(stored)) return stored.map(decode);
  if (stored instanceof Date) return stored.toISOString();
  if ("_bsontype" in stored) return isBinary(stored) ? decodeBinary(stored) : String(stored);
  return Object.fromEntries(
    Object.entries(stored as Document).map(([name, member]) => [plainName(name), decode(member)]),
  );
}

function decodeBinary(stored: Binary): JsonValue {
  return stored.sub_type === 0x80 ? plainText(stored) : stored.toString("base64");
}
