/**
 * Ids as keys. A UUID in its usual form is kept as its 16 bytes; any other id as text. In the index of ids a byte in
 * front tells the kinds apart, so that nobody can choose a UUID that collides with the hash of another id:
 *
 *   0x07 + 16 bytes of a UUIDv7 · 0x01 + 16 bytes of another UUID · 0x00 + 16 bytes of the hash of any other text
 */
import { hash } from "node:crypto";

export const ID_BYTES = 16;
export const INDEX_KEY_BYTES = ID_BYTES + 1;

/** Value of a lower-case hex digit by character code; 255 for all else. */
const DIGITS = new Uint8Array(128).fill(255);
for (let value = 0; value < 16; value++) DIGITS[value.toString(16).charCodeAt(0)] = value;

const DASH = 0x2d;

/** Where each of the 16 bytes stands in the 36 characters. */
const PLACES = Uint8Array.of(0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34);

/** Writes the 16 bytes of a UUID at `at`; false, with rubbish written, if `id` is not one in lower-case form. */
export function writeUuid(id: string, target: Uint8Array, at: number): boolean {
  if (id.length !== 36) return false;
  if (
    id.charCodeAt(8) !== DASH ||
    id.charCodeAt(13) !== DASH ||
    id.charCodeAt(18) !== DASH ||
    id.charCodeAt(23) !== DASH
  ) {
    return false;
  }
  let bad = 0;
  for (let i = 0; i < 16; i++) {
    const place = PLACES[i] as number;
    const high = DIGITS[id.charCodeAt(place)] ?? 255;
    const low = DIGITS[id.charCodeAt(place + 1)] ?? 255;
    bad |= high | low;
    target[at + i] = (high << 4) | low;
  }
  return bad < 16;
}

const HEX = Uint8Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));
/** Character codes of the UUID that is being read; its dashes stay. */
const codes = Array.from("00000000-0000-0000-0000-000000000000", (c) => c.charCodeAt(0));

/** One string, not a tree of pieces: ids of events are kept for as long as the events are. */
export function readUuid(source: Uint8Array, at: number): string {
  for (let i = 0; i < ID_BYTES; i++) {
    const byte = source[at + i] as number;
    const place = PLACES[i] as number;
    codes[place] = HEX[byte >> 4] as number;
    codes[place + 1] = HEX[byte & 15] as number;
  }
  return String.fromCharCode(...codes);
}

/** The time inside the UUIDv7 at `at`, or -1 for a UUID of another version. */
export function uuidTimeMs(source: Uint8Array, at: number): number {
  if ((source[at + 6] as number) >>> 4 !== 7) return -1;
  const high = ((source[at] as number) << 8) | (source[at + 1] as number);
  const low =
    (((source[at + 2] as number) << 24) |
      ((source[at + 3] as number) << 16) |
      ((source[at + 4] as number) << 8) |
      (source[at + 5] as number)) >>>
    0;
  return high * 4294967296 + low;
}

/** The key of a UUID in the index of ids. */
export function uuidIndexKey(source: Uint8Array, at: number): Buffer {
  const key = Buffer.allocUnsafe(INDEX_KEY_BYTES);
  writeUuidIndexKey(source, at, key, 0);
  return key;
}

export function writeUuidIndexKey(source: Uint8Array, at: number, target: Uint8Array, to: number): void {
  target[to] = (source[at + 6] as number) >>> 4 === 7 ? 7 : 1;
  // So few bytes are copied faster than a view of them is made.
  for (let i = 0; i < ID_BYTES; i++) target[to + 1 + i] = source[at + i] as number;
}

/** The key of an id that is not a UUID. */
export function textIndexKey(id: string): Buffer {
  const key = Buffer.allocUnsafe(INDEX_KEY_BYTES);
  writeTextIndexKey(id, key, 0);
  return key;
}

export function writeTextIndexKey(id: string, target: Uint8Array, to: number): void {
  const digest = hash("sha256", id, "buffer");
  target[to] = 0;
  for (let i = 0; i < ID_BYTES; i++) target[to + 1 + i] = digest[i] as number;
}

/** Every UUIDv7 whose time is at least this has an index key not below it. */
export function firstIndexKeyAt(timeMs: number): Buffer {
  const key = Buffer.alloc(INDEX_KEY_BYTES);
  key[0] = 7;
  key.writeUIntBE(Math.max(0, Math.min(timeMs, 2 ** 48 - 1)), 1, 6);
  return key;
}
