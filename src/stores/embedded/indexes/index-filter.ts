/**
 * Which hashes are certainly not in a run of an index, in less than three bytes for each that is (a Bloom filter): of those that are
 * not, about one in five thousand is let through. Hashes are spread evenly, so that the first digits of one lead to a block of 64 bytes, and all that is
 * asked about it lies there: memory that is far away is looked at once.
 *
 * In the file each chunk of a run carries the bits of its own entries, in blocks that it may share with its neighbours:
 *
 *   checksum u32 · blocks of the run u32 · (number of a block u32 · its bits, 64 bytes) …
 */
import { crc32 } from "node:zlib";
import { HASHES } from "./index-hash.js";

const BLOCK_BYTES = 64;
const HASHES_PER_BLOCK = 24;
const PROBES = 8;
const HEAD_BYTES = 8;
const STORED_BLOCK_BYTES = 4 + BLOCK_BYTES;
/** Blocks that are loaded together, as a power of two: those of about 48 chunks. */
const STRETCH_BITS = 9;

/** How many a run gets that will have so many entries. */
export function blocksFor(entries: number): number {
  return Math.max(1, Math.ceil(entries / HASHES_PER_BLOCK));
}

/** Of the hashes of a chunk, in their order, as it stands in the file. */
export function filterOf(hashes: Float64Array, count: number, blocks: number): Buffer {
  const filter = Buffer.alloc(HEAD_BYTES + Math.min(count, blocks) * STORED_BLOCK_BYTES);
  filter.writeUInt32LE(blocks, 4);
  let end = HEAD_BYTES;
  let last = -1;
  for (let i = 0; i < count; i++) {
    const hash = hashes[i] as number;
    const block = blockOf(hash, blocks);
    if (block !== last) {
      filter.writeUInt32LE(block, end);
      end += STORED_BLOCK_BYTES;
      last = block;
    }
    setBits(filter, end - BLOCK_BYTES, hash);
  }
  filter.writeUInt32LE(crc32(filter.subarray(4, end)), 0);
  return filter.subarray(0, end);
}

/** For how many blocks a filter was made, if it is sound. */
export function blocksOf(stored: Buffer | undefined): number | undefined {
  return stored !== undefined && isSound(stored) ? stored.readUInt32LE(4) : undefined;
}

/** Adds to the filter what is known of the hashes from one to before another. */
export type LoadStretch = (filter: RunFilter, from: number, to: number) => void;

/** That of a run, a stretch of it loaded when it is first asked about. */
export class RunFilter {
  readonly #blocks: number;
  readonly #load: LoadStretch;
  readonly #bits: Uint8Array;
  /** By stretch, whether it was loaded. */
  readonly #loaded: Uint8Array;

  constructor(blocks: number, load: LoadStretch) {
    this.#blocks = blocks;
    this.#load = load;
    this.#bits = new Uint8Array(blocks * BLOCK_BYTES);
    this.#loaded = new Uint8Array((blocks >> STRETCH_BITS) + 1);
  }

  /** False if the hash is certainly not in the run. */
  mayHold(hash: number): boolean {
    const block = blockOf(hash, this.#blocks);
    if (this.#loaded[block >> STRETCH_BITS] === 0) this.#loadAround(block);
    return hasBits(this.#bits, block * BLOCK_BYTES, hash);
  }

  /** Marks those of many hashes, from one to another, that the run may have. */
  mark(hashes: Float64Array, marks: Uint8Array, from: number, to: number): void {
    const [bits, loaded, blocks] = [this.#bits, this.#loaded, this.#blocks];
    for (let i = 0; i < hashes.length; i++) {
      const hash = hashes[i] as number;
      if (hash < from || hash > to) continue;
      const block = blockOf(hash, blocks);
      if (loaded[block >> STRETCH_BITS] === 0) this.#loadAround(block);
      if (hasBits(bits, block * BLOCK_BYTES, hash)) marks[i] = 1;
    }
  }

  /** Adds what a chunk carries; false if that is damaged, or was not made for this filter. */
  add(stored: Buffer): boolean {
    if (blocksOf(stored) !== this.#blocks) return false;
    for (let at = HEAD_BYTES; at < stored.length; at += STORED_BLOCK_BYTES) {
      const to = stored.readUInt32LE(at) * BLOCK_BYTES;
      for (let i = 0; i < BLOCK_BYTES; i++)
        this.#bits[to + i] = (this.#bits[to + i] as number) | (stored[at + 4 + i] as number);
    }
    return true;
  }

  addHashes(hashes: Float64Array): void {
    for (const hash of hashes) setBits(this.#bits, blockOf(hash, this.#blocks) * BLOCK_BYTES, hash);
  }

  /** Lets through all from one hash to another: nothing is known of them. */
  open(from: number, to: number): void {
    this.#bits.fill(
      0xff,
      blockOf(from, this.#blocks) * BLOCK_BYTES,
      (blockOf(to, this.#blocks) + 1) * BLOCK_BYTES,
    );
  }

  /** Of hashes from this one on, there are more by now. */
  forget(from: number): void {
    this.#loaded.fill(0, blockOf(from, this.#blocks) >> STRETCH_BITS);
  }

  #loadAround(block: number): void {
    const stretch = block >> STRETCH_BITS;
    // With a block more at both ends: where they begin is rounded.
    const [first, end] = [(stretch << STRETCH_BITS) - 1, ((stretch + 1) << STRETCH_BITS) + 1];
    const width = HASHES / this.#blocks;
    this.#load(this, Math.max(0, first * width), Math.min(HASHES, end * width));
    this.#loaded[stretch] = 1;
  }
}

function isSound(stored: Buffer): boolean {
  return (
    Buffer.isBuffer(stored) &&
    stored.length > HEAD_BYTES &&
    (stored.length - HEAD_BYTES) % STORED_BLOCK_BYTES === 0 &&
    stored.readUInt32LE(0) === crc32(stored.subarray(4))
  );
}

function blockOf(hash: number, blocks: number): number {
  return (hash * (blocks / HASHES)) | 0;
}

function setBits(bits: Uint8Array, block: number, hash: number): void {
  for (let probe = 0, seed = firstSeed(hash); probe < PROBES; probe++, seed = nextSeed(seed)) {
    const at = block + byteOf(seed);
    bits[at] = (bits[at] as number) | (1 << bitOf(seed));
  }
}

function hasBits(bits: Uint8Array, block: number, hash: number): boolean {
  // Three at once: which of them ends it is chance, and chance is what a processor foresees badly.
  const a = firstSeed(hash);
  const b = nextSeed(a);
  const c = nextSeed(b);
  const first = (bits[block + byteOf(a)] as number) >> bitOf(a);
  const second = (bits[block + byteOf(b)] as number) >> bitOf(b);
  const third = (bits[block + byteOf(c)] as number) >> bitOf(c);
  if ((first & second & third & 1) === 0) return false;
  for (let probe = 3, seed = nextSeed(c); probe < PROBES; probe++, seed = nextSeed(seed))
    if ((((bits[block + byteOf(seed)] as number) >> bitOf(seed)) & 1) === 0) return false;
  return true;
}

/** The hashes of a block begin alike: their ends tell them apart. */
function firstSeed(hash: number): number {
  return Math.imul(hash >>> 0, 0x9e3779b1);
}

function nextSeed(seed: number): number {
  return (Math.imul(seed, 0x85ebca6b) + 0x3c6ef372) | 0;
}

/** Of the nine highest digits of a seed, which are the best mixed: a byte of the block, and a bit of that. */
function byteOf(seed: number): number {
  return seed >>> 26;
}

function bitOf(seed: number): number {
  return (seed >>> 23) & 7;
}
