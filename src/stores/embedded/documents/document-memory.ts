/**
 * What the writing thread remembers of a view's documents, so that those written again and again need no look into the
 * file. Right only as long as nobody else writes and nothing is rolled back: its owner lets go of it then.
 *
 * Bounded by two generations: when the younger one is full, the elder is forgotten and the younger becomes the elder. What
 * is used comes back into the younger.
 */

/** A document, or tombstone, as it stands after the writes so far. */
export interface Standing {
  readonly key: string;
  /** Undefined if nothing is there. */
  version: number | undefined;
  ts: number;
  /** JSON text, null for a tombstone; undefined as long as nobody needs more than to know that it is a document. */
  fields: string | null | undefined;
  isDocument: boolean;
}

/** Documents of a generation; longer ones are remembered without their fields, longer keys not at all. */
const MAX_DOCUMENTS = 8_192;
const MAX_FIELDS = 1_024;
const MAX_KEY = 256;

/** Keys that stand in the file under other bytes than their own, or that a text cannot be bound to. */
const ODD_KEY = /[\0\ud800-\udfff\ufffd]/;

export function isOddKey(key: string): boolean {
  return ODD_KEY.test(key);
}

export class DocumentMemory {
  #young = new Map<string, Standing>();
  #old = new Map<string, Standing>();

  /** The one it remembers, to be changed as the document is. `whole`: of no use without its fields. */
  find(key: string, whole: boolean): Standing | undefined {
    const standing = this.#young.get(key) ?? this.#old.get(key);
    return whole && standing?.fields === undefined ? undefined : standing;
  }

  keep(standing: Iterable<Standing>): void {
    for (const one of standing) {
      if ((one.fields?.length ?? 0) > MAX_FIELDS) one.fields = undefined;
      if (this.#young.get(one.key) === one || one.key.length > MAX_KEY || isOddKey(one.key)) continue;
      if (this.#young.size >= MAX_DOCUMENTS) {
        this.#old = this.#young;
        this.#young = new Map();
      }
      this.#young.set(one.key, one);
    }
  }
}
