/** The index by key in the writing thread. Entries are written in the commit of their batch. */
import type { Seq } from "../../../model/event.js";
import { type Batch, BatchCursor, MAX_SPAN } from "../../batch-codec.js";
import type { Batches, BatchHead } from "../batches/batches.js";
import type { Partitions } from "../batches/partitions.js";
import type { Connection } from "../sqlite.js";
import { KEYS_NONE, type Topics } from "../topics.js";
import type { IndexSizes } from "./index-merger.js";
import { IndexWriter } from "./index-writer.js";
import { KeyIndex } from "./key-index.js";

export interface KeyIndexWriterParts {
  readonly connection: Connection;
  readonly partitions: Partitions;
  readonly topics: Topics;
  readonly sizes: IndexSizes;
}

export class KeyIndexWriter extends IndexWriter<KeyIndex> {
  readonly #parts: KeyIndexWriterParts;
  readonly #hashes = new Float64Array(MAX_SPAN);
  /** By partition number, for one slice: entries up to which seq lead nowhere. */
  readonly #goneThrough = new Map<number, Seq>();

  constructor(parts: KeyIndexWriterParts) {
    const { connection, sizes } = parts;
    super(connection, new KeyIndex(connection), {
      isGone: (part, seq) => seq <= (this.#goneThrough.get(part) ?? this.#lookUp(part)),
      sizes,
    });
    this.#parts = parts;
  }

  override slice(): void {
    this.#goneThrough.clear();
    super.slice();
  }

  addBatch(topic: number, part: number, batch: Batch): void {
    for (const hash of this.#hashesOf(topic, batch)) this.add(hash, part, batch.firstSeq);
  }

  /** Some events of a batch are gone: so are the entries of keys that `rest` no longer has. */
  removeFrom(topic: number, part: number, batch: Batch, rest: Batch | null): void {
    const kept = new Set(rest === null ? [] : this.#hashesOf(topic, rest));
    for (const hash of this.#hashesOf(topic, batch))
      if (!kept.has(hash)) this.remove(hash, part, batch.firstSeq);
  }

  /** All below its partition's low: entries that begin so far below are known to lead nowhere. One for each event, at most. */
  trimmed({ count }: BatchHead): void {
    this.countDead(count);
  }

  /** The topic keeps no index any more. How many entries it had is not known: perhaps all of them. */
  clear(): void {
    let entries = this.index.notes.entries.count;
    for (const run of this.index.runs.all()) entries += run.count;
    this.countDead(entries);
  }

  /** Adds entries for batches above `after` that were there before the index; the last seq covered, or null at the end. */
  fill(topic: number, part: number, o: { after: Seq; batches: Batches; limit: number }): Seq | null {
    const heads = o.batches.above(part, o.after, o.limit);
    for (const head of heads) this.addBatch(topic, part, o.batches.load(head));
    return heads.at(-1)?.lastSeq ?? null;
  }

  /** A batch that begins at its partition's low less MAX_SPAN ends below it. */
  #lookUp(part: number): Seq {
    const { partitions, topics } = this.#parts;
    const { topic } = topics.owner(part);
    const isKept = topics.find(topic)?.keys !== KEYS_NONE;
    const through = isKept ? partitions.get(part).low - MAX_SPAN : Number.POSITIVE_INFINITY;
    this.#goneThrough.set(part, through);
    return through;
  }

  /** Of the keys of a batch, each once. A view, good until the next one is asked for. */
  #hashesOf(topic: number, batch: Batch): Float64Array {
    const { hash } = this.index;
    const hashes = this.#hashes;
    let length = 0;
    const cursor = new BatchCursor(batch);
    while (cursor.next()) {
      const key = cursor.keyBytes;
      if (key !== undefined) hashes[length++] = hash.ofKey(topic, key);
    }
    const sorted = hashes.subarray(0, length).sort();
    let distinct = 0;
    for (const one of sorted) if (distinct === 0 || sorted[distinct - 1] !== one) sorted[distinct++] = one;
    return sorted.subarray(0, distinct);
  }
}
