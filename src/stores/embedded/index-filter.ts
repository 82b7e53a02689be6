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
/** Of neighbours, which lie beside each other in the file. */
const LOADED_TOGETHER = 64;

/** What is known of a filter; one that cannot be used lets everything through. */
const UNKNOWN = 0;
const SOUND = 1;
const UNUSABLE = 2;

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

/** Tells of the filters of so many chunks from one on, as they were stored; those of chunks that are gone are left out. */
export type LoadFilters = (from: number, count: number) => Iterable<readonly [chunk: number, stored: Buffer]>;

/**
 * Those of the chunks of a run, as they are asked for. They lie one behind the other: hashes lead anywhere in a large run, and each
 * look at memory that is far away counts.
 */
export class ChunkFilters {
  readonly #load: LoadFilters;
  #bits = new Uint8Array(0);
  #states = new Uint8Array(0);

  constructor(load: LoadFilters) {
    this.#load = load;
  }

  /** False if the hash is certainly not in the chunk. */
  mayHold(chunk: number, hash: number): boolean {
    if (this.#states[chunk] !== SOUND && !this.#isSound(chunk)) return true;
    const filters = this.#bits;
    const from = chunk * BYTES;
    const bits = lowBits(hash);
    const step = stepOf(bits);
    for (let probe = 0, bit = bits; probe < PROBES; probe++, bit += step)
      if (((filters[from + ((bit & (BITS - 1)) >> 3)] as number) & (1 << (bit & 7))) === 0) return false;
    return true;
  }

  #isSound(chunk: number): boolean {
    if ((this.#states[chunk] ?? UNKNOWN) === UNKNOWN) this.#loadAround(chunk);
    return this.#states[chunk] === SOUND;
  }

  #loadAround(chunk: number): void {
    const from = chunk - (chunk % LOADED_TOGETHER);
    this.#makeRoom(from + LOADED_TOGETHER);
    for (const [at, stored] of this.#load(from, LOADED_TOGETHER)) {
      const isKnown = isSound(stored);
      if (isKnown) this.#bits.set(stored.subarray(0, BYTES), at * BYTES);
      this.#states[at] = isKnown ? SOUND : UNUSABLE;
    }
    if (this.#states[chunk] === UNKNOWN) this.#states[chunk] = UNUSABLE;
  }

  #makeRoom(chunks: number): void {
    if (chunks <= this.#states.length) return;
    const room = Math.max(chunks, this.#states.length * 2);
    const [bits, states] = [new Uint8Array(room * BYTES), new Uint8Array(room)];
    bits.set(this.#bits);
    states.set(this.#states);
    this.#bits = bits;
    this.#states = states;
  }
}

function isSound(stored: Buffer): boolean {
  return (
    Buffer.isBuffer(stored) &&
    stored.length === BYTES + CHECKSUM_BYTES &&
    stored.readUInt32LE(BYTES) === crc32(stored.subarray(0, BYTES))
  );
}

/** The hashes of a chunk begin alike: their ends tell them apart. */
function lowBits(hash: number): number {
  return hash >>> 4;
}

function stepOf(bits: number): number {
  return (bits >>> 14) | 1;
}
