/**
 * Which hashes are certainly not in a chunk of an index, in two bytes for each that is (a Bloom filter): of those that are
 * not, about one in 1,500 is let through. A filter that is damaged lets all of them through.
 */
import { crc32 } from "node:zlib";
import { MAX_CHUNK } from "./index-entries.js";

const BITS = MAX_CHUNK * 16;
const PROBES = 8;
const BYTES = BITS / 8;
const CHECKSUM_BYTES = 4;

/** Of a chunk's hashes, as it stands in the file: bits · checksum u32. */
export function filterOf(hashes: Float64Array, count: number): Buffer {
  const filter = Buffer.alloc(BYTES + CHECKSUM_BYTES);
  for (let i = 0; i < count; i++) {
    const bits = lowBits(hashes[i] as number);
    const step = stepOf(bits);
    for (let probe = 0, bit = bits; probe < PROBES; probe++, bit += step) {
      const at = (bit & (BITS - 1)) >> 3;
      filter[at] = (filter[at] as number) | (1 << (bit & 7));
    }
  }
  filter.writeUInt32LE(crc32(filter.subarray(0, BYTES)), BYTES);
  return filter;
}

/** As it was stored; null if it is damaged. */
export function soundFilter(stored: Buffer): Uint8Array | null {
  const isSound =
    stored.length === BYTES + CHECKSUM_BYTES &&
    stored.readUInt32LE(BYTES) === crc32(stored.subarray(0, BYTES));
  return isSound ? stored : null;
}

export function mayHold(filter: Uint8Array | null, hash: number): boolean {
  if (filter === null) return true;
  const bits = lowBits(hash);
  const step = stepOf(bits);
  for (let probe = 0, bit = bits; probe < PROBES; probe++, bit += step)
    if (((filter[(bit & (BITS - 1)) >> 3] as number) & (1 << (bit & 7))) === 0) return false;
  return true;
}

/** The hashes of a chunk begin alike: their ends tell them apart. */
function lowBits(hash: number): number {
  return hash >>> 4;
}

function stepOf(bits: number): number {
  return (bits >>> 14) | 1;
}
