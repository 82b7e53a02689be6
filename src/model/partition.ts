/**
 * Which partition an event belongs to: jump consistent hash (Lamping and Veach, 2014) over a 64-bit hash of the
 * key's UTF-8 bytes (FNV-1a, then a murmur-style finish so that short keys spread too).
 *
 * Growing n buckets to n + 1 moves 1/(n+1) of the keys, and only into the new bucket. 64-bit arithmetic is done on
 * two unsigned 32-bit halves: a BigInt per step would cost twenty times as much.
 */

/** A 64-bit number as unsigned halves. */
interface Word64 {
  hi: number;
  lo: number;
}

/** Where FNV-1a begins. */
const OFFSET_HI = 0xcbf29ce4 | 0;
const OFFSET_LO = 0x84222325 | 0;

/** The bucket of `key` among `buckets`, stable across processes, machines and releases. */
export function jumpHash(key: string, buckets: number): number {
  const h = hash64(key);
  return jump(h.hi, h.lo, buckets);
}

/** Jump consistent hash of a 64-bit number given as two halves. */
export function jump(hi: number, lo: number, buckets: number): number {
  const x: Word64 = { hi: hi >>> 0, lo: lo >>> 0 };
  let bucket = -1;
  let next = 0;
  while (next < buckets) {
    bucket = next;
    multiply(x, 0x27bb2ee6, 0x87b0b0fd);
    x.lo = (x.lo + 1) >>> 0;
    if (x.lo === 0) x.hi = (x.hi + 1) >>> 0;
    next = Math.floor((bucket + 1) * (2147483648 / ((x.hi >>> 1) + 1)));
  }
  return bucket;
}

/** 64-bit hash of a string's UTF-8 bytes. */
export function hash64(text: string): Word64 {
  let hi = OFFSET_HI;
  let lo = OFFSET_LO;
  // As mixByte, in halves of 16 bits that stay in registers: most keys are ASCII to the end.
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) return hashFrom(text, i, { hi: hi >>> 0, lo: lo >>> 0 });
    const mixed = lo ^ code;
    const low = (mixed & 0xffff) * 0x1b3;
    const high = (mixed >>> 16) * 0x1b3 + (low >>> 16);
    hi = (Math.imul(hi, 0x1b3) + (high >>> 16) + (mixed << 8)) | 0;
    lo = (high << 16) | (low & 0xffff);
  }
  return finish({ hi: hi >>> 0, lo: lo >>> 0 });
}

function hashFrom(text: string, start: number, h: Word64): Word64 {
  for (let i = start; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      mixByte(h, code);
      continue;
    }
    if (code >= 0xd800 && code < 0xe000) {
      code = text.codePointAt(i) ?? code;
      if (code > 0xffff) i++;
    }
    mixMultiByte(h, code);
  }
  return finish(h);
}

function mixMultiByte(h: Word64, code: number): void {
  if (code < 0x800) {
    mixByte(h, 0xc0 | (code >>> 6));
  } else {
    if (code < 0x10000) {
      mixByte(h, 0xe0 | (code >>> 12));
    } else {
      mixByte(h, 0xf0 | (code >>> 18));
      mixByte(h, 0x80 | ((code >>> 12) & 0x3f));
    }
    mixByte(h, 0x80 | ((code >>> 6) & 0x3f));
  }
  mixByte(h, 0x80 | (code & 0x3f));
}

/** One FNV-1a step; the prime is 2^40 + 0x1b3, so its product needs no general multiplication. */
function mixByte(h: Word64, byte: number): void {
  const lo = (h.lo ^ byte) >>> 0;
  const product = lo * 0x1b3;
  const carry = Math.floor(product / 4294967296);
  h.hi = (Math.imul(h.hi, 0x1b3) + carry + (lo << 8)) >>> 0;
  h.lo = product >>> 0;
}

function finish(h: Word64): Word64 {
  fold(h);
  multiply(h, 0xff51afd7, 0xed558ccd);
  fold(h);
  multiply(h, 0xc4ceb9fe, 0x1a85ec53);
  fold(h);
  return h;
}

/** x ^= x >>> 33 */
function fold(x: Word64): void {
  x.lo = (x.lo ^ (x.hi >>> 1)) >>> 0;
}

/** x *= (hi, lo), modulo 2^64. */
function multiply(x: Word64, hi: number, lo: number): void {
  const a0 = x.lo & 0xffff;
  const a1 = x.lo >>> 16;
  const b0 = lo & 0xffff;
  const b1 = lo >>> 16;
  const low = a0 * b0;
  const middle = a1 * b0 + (low >>> 16);
  const middle2 = a0 * b1 + (middle & 0xffff);
  const high = a1 * b1 + Math.floor(middle / 65536) + Math.floor(middle2 / 65536);
  x.hi = (high + Math.imul(x.hi, lo) + Math.imul(x.lo, hi)) >>> 0;
  x.lo = ((middle2 << 16) | (low & 0xffff)) >>> 0;
}
