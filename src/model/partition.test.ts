import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hash64, jump, jumpHash } from "./partition.js";

const MASK = (1n << 64n) - 1n;

/** FNV-1a over UTF-8 and murmur3's finish, in 64-bit arithmetic as it is written in books. */
function referenceHash(text: string): bigint {
  let h = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text, "utf8")) h = ((h ^ BigInt(byte)) * 0x100000001b3n) & MASK;
  h ^= h >> 33n;
  h = (h * 0xff51afd7ed558ccdn) & MASK;
  h ^= h >> 33n;
  h = (h * 0xc4ceb9fe1a85ec53n) & MASK;
  return h ^ (h >> 33n);
}

/** The paper's own function (Lamping and Veach, figure 1). */
function referenceJump(key: bigint, buckets: number): number {
  let [k, b, j] = [key, -1, 0];
  while (j < buckets) {
    b = j;
    k = (k * 2862933555777941757n + 1n) & MASK;
    j = Math.floor((b + 1) * (2147483648 / (Number(k >> 33n) + 1)));
  }
  return b;
}

/** Text that has a UTF-8 form. */
const text = fc.string({ unit: "binary", maxLength: 40 });
const word = fc.integer({ min: 0, max: 0xffffffff });

describe("jump", () => {
  it.each([
    [0, 1, 1, 0],
    [0, 42, 57, 43],
    [0, 0xdead10cc, 1, 0],
    [0, 0xdead10cc, 666, 361],
    [0, 256, 1024, 520],
  ])("gives the published results: key %i:%i in %i buckets is %i", (hi, lo, buckets, expected) => {
    expect(jump(hi, lo, buckets)).toBe(expected);
  });

  it("equals the paper's function for any 64-bit key", () => {
    fc.assert(
      fc.property(word, word, fc.integer({ min: 1, max: 2_000 }), (hi, lo, buckets) => {
        const key = (BigInt(hi) << 32n) | BigInt(lo);
        expect(jump(hi, lo, buckets)).toBe(referenceJump(key, buckets));
      }),
    );
  });

  it("growing n buckets to n + 1 moves a key nowhere but into the new bucket", () => {
    fc.assert(
      fc.property(word, word, fc.integer({ min: 1, max: 1_023 }), (hi, lo, n) => {
        const [before, after] = [jump(hi, lo, n), jump(hi, lo, n + 1)];
        expect(after === before || after === n).toBe(true);
      }),
    );
  });
});

describe("hash64", () => {
  it("equals a reference in 64-bit integers over the UTF-8 bytes", () => {
    fc.assert(
      fc.property(text, (key) => {
        const { hi, lo } = hash64(key);
        expect((BigInt(hi) << 32n) | BigInt(lo)).toBe(referenceHash(key));
      }),
      { numRuns: 500 },
    );
  });

  it.each(["", "a", "\u007f", "\u0080", "\u07ff", "\u0800", "\uffff", "\u{10000}", "\u{10ffff}", "ключ 🔑"])(
    "covers every length of a UTF-8 character: %j",
    (key) => {
      const { hi, lo } = hash64(key);
      expect((BigInt(hi) << 32n) | BigInt(lo)).toBe(referenceHash(key));
    },
  );

  it("takes half a surrogate pair, and tells the halves apart", () => {
    const hashes = ["\ud83d", "\udd11", "\ud83d\ud83d", "\udd11\ud83d"].map((key) =>
      JSON.stringify(hash64(key)),
    );
    expect(new Set(hashes).size).toBe(4);
  });
});

describe("jumpHash", () => {
  it("never changes: events of a release lie where the next one looks for them", () => {
    const keys = ["", "a", "order-1", "host:nginx:4242", "ключ", "0198c8a0-0000-7000-8000-000000000001"];
    for (const key of keys) {
      for (const buckets of [1, 2, 8, 1_024]) {
        expect(jumpHash(key, buckets)).toBe(referenceJump(referenceHash(key), buckets));
      }
    }
    expect(keys.map((key) => jumpHash(key, 8))).toEqual([1, 5, 4, 7, 0, 3]);
  });

  it("spreads keys evenly, and moves one in n + 1 of them when a bucket is added", () => {
    const keys = Array.from({ length: 40_000 }, (_, i) => `key-${i}`);
    for (const n of [1, 7, 8, 31]) {
      const counts = new Array<number>(n).fill(0);
      let moved = 0;
      for (const key of keys) {
        const bucket = jumpHash(key, n);
        counts[bucket] = (counts[bucket] ?? 0) + 1;
        if (jumpHash(key, n + 1) !== bucket) moved++;
      }
      const share = keys.length / n;
      for (const count of counts) expect(Math.abs(count - share)).toBeLessThan(6 * Math.sqrt(share));
      const due = keys.length / (n + 1);
      expect(Math.abs(moved - due)).toBeLessThan(6 * Math.sqrt(due));
    }
  });
});
