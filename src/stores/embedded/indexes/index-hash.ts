/**
 * Ids and keys as numbers, for their indexes: HalfSipHash-2-4 under a secret that each store draws for itself, so that nobody who chooses
 * ids or keys can make them meet. 53 bits of it: a number that is exact, sorts, and is spread evenly whatever they are.
 */
import { ID_BYTES } from "../../id-key.js";

export const SECRET_BYTES = 8;
/** Hashes are integers from 0 to below this. */
export const HASHES = 2 ** 53;

const ROUNDS = 2;
const LAST_ROUNDS = 4;
/** What of the second half goes in: 53 bits are 32 and 21. */
const LOW_BITS = 21;

export class IndexHash {
  readonly #k0: number;
  readonly #k1: number;
  #words = new Int32Array(64);

  constructor(secret: Buffer) {
    this.#k0 = secret.readInt32LE(0);
    this.#k1 = secret.readInt32LE(4);
  }

  /** Of the UUID whose bytes stand at `at`. */
  ofUuid(ids: Uint8Array, at: number): number {
    const words = this.#words;
    for (let word = 0, i = at; word < ID_BYTES / 4; word++, i += 4)
      words[word] =
        ((ids[i] as number) << 24) |
        ((ids[i + 1] as number) << 16) |
        ((ids[i + 2] as number) << 8) |
        (ids[i + 3] as number);
    return this.#hash(ID_BYTES / 4);
  }

  /** Of an id that is no UUID. */
  ofText(id: string): number {
    const { length } = id;
    const count = (length >> 1) + 1;
    if (count > this.#words.length) this.#words = new Int32Array(count * 2);
    const words = this.#words;
    let at = 0;
    for (let i = 1; i < length; i += 2) words[at++] = (id.charCodeAt(i - 1) << 16) | id.charCodeAt(i);
    // The length, and the character that is left over: no two texts have the same words.
    words[at] = (length << 16) | (length % 2 === 0 ? 0 : id.charCodeAt(length - 1));
    return this.#hash(count);
  }

  /** Of a key of a topic. */
  ofKey(topic: number, key: Uint8Array): number {
    const { length } = key;
    const count = (length >> 2) + 2;
    if (count > this.#words.length) this.#words = new Int32Array(count * 2);
    const words = this.#words;
    words[0] = topic;
    let at = 1;
    let i = 0;
    for (; i + 4 <= length; i += 4)
      words[at++] =
        ((key[i] as number) << 24) |
        ((key[i + 1] as number) << 16) |
        ((key[i + 2] as number) << 8) |
        (key[i + 3] as number);
    // As above: the length, as much of it as the number of words does not tell, and what is left over.
    let last = (length & 255) << 24;
    for (; i < length; i++) last |= (key[i] as number) << ((i & 3) << 3);
    words[at] = last;
    return this.#hash(count);
  }

  #hash(count: number): number {
    const words = this.#words;
    let v0 = this.#k0;
    let v1 = this.#k1 ^ 0xee;
    let v2 = 0x6c796765 ^ this.#k0;
    let v3 = 0x74656462 ^ this.#k1;
    let high = 0;
    // The words, then twice the last rounds: one loop, so that what a round does stands here once.
    for (let word = 0; word < count + 2; word++) {
      const isWord = word < count;
      const m = isWord ? (words[word] as number) : 0;
      if (isWord) v3 ^= m;
      else if (word === count) v2 ^= 0xee;
      else {
        high = v1 ^ v3;
        v1 ^= 0xdd;
      }
      for (let round = isWord ? ROUNDS : LAST_ROUNDS; round > 0; round--) {
        v0 = (v0 + v1) | 0;
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
        v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0;
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
        v2 = (v2 << 16) | (v2 >>> 16);
      }
      if (isWord) v0 ^= m;
    }
    return (high >>> 0) * 2 ** LOW_BITS + ((v1 ^ v3) >>> (32 - LOW_BITS));
  }
}
