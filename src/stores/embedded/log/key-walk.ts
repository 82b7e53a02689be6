/**
 * Events by key, found batch by batch, a few batches at a time, so that a long walk does not hold up the event loop.
 * Topics with an index by key walk only through batches that hold the key; others through all of them, from the
 * wanted end, which costs as much as there is to walk.
 *
 * Between two steps the log may change: a walk remembers positions, never batches.
 */
import type { Seq, StoredEvent } from "../../../model/event.js";
import type { HistoryOptions } from "../../../ports/log.js";
import { BatchCursor, MAX_SPAN } from "../../batch-codec.js";
import type { Batches, BatchHead } from "../batches/batches.js";
import type { Place } from "../indexes/id-index.js";
import type { KeyIndex } from "../indexes/key-index.js";
import { KEYS_READY, type TopicRow } from "../topics.js";

/** Batches looked at in one step. */
const STEP = 16;
const NO_END = Number.MAX_SAFE_INTEGER;

/** What one connection needs to find events by key. */
export interface KeySources {
  readonly batches: Batches;
  readonly keys: KeyIndex;
}

/** Where to look for events: the next batches, in order of their first seq, then partition. */
interface Source {
  /** Those behind the last one that was handed out, now or in an earlier step; undefined for one that is not there any more. */
  heads(sources: KeySources): Iterable<BatchHead | undefined>;
}

/** Events of one key, in order. */
export class HistoryWalk {
  readonly #source: Source;
  readonly #key: Buffer;
  readonly #options: HistoryOptions;
  readonly #isSingle: boolean;
  #found: StoredEvent[] = [];

  constructor(topic: TopicRow, key: string, options: HistoryOptions) {
    this.#key = Buffer.from(key, "utf8");
    this.#options = options;
    this.#isSingle = topic.partitions === 1;
    this.#source =
      topic.keys === KEYS_READY
        ? new IndexedBatches(topic, this.#key, options)
        : new AllBatches(topic, options);
  }

  get events(): readonly StoredEvent[] {
    return this.#found.slice(0, this.#options.limit);
  }

  /** True once everything wanted is found. */
  step(sources: KeySources): boolean {
    let looked = 0;
    for (const head of this.#source.heads(sources)) {
      if (head !== undefined) {
        if (this.#isComplete(head)) return true;
        this.#search(sources.batches, head);
        if (this.#isSingle && this.#isComplete(head)) return true;
      }
      if (++looked === STEP) return false;
    }
    return true;
  }

  #search(batches: Batches, head: BatchHead): void {
    const { after = 0, through = NO_END, newestFirst = false } = this.#options;
    const cursor = new BatchCursor(batches.load(head));
    const before = this.#found.length;
    while (cursor.next()) {
      if (cursor.seq <= after || cursor.seq > through) continue;
      if (cursor.keyBytes?.equals(this.#key)) this.#found.push(batches.present(head, cursor));
    }
    if (this.#found.length === before) return;
    this.#found.sort((a, b) => (newestFirst ? bySeq(b, a) : bySeq(a, b)));
  }

  /** Nothing in this batch, or behind it, comes before the last one wanted. */
  #isComplete(head: BatchHead): boolean {
    const last = this.#found[this.#options.limit - 1];
    if (last === undefined) return false;
    if (this.#isSingle) return true;
    return this.#options.newestFirst ? head.firstSeq + MAX_SPAN < last.seq : head.firstSeq > last.seq;
  }
}

/** The newest event of each of several keys, for topics without an index by key: one walk for all. */
export class NewestWalk {
  readonly #source: Source;
  readonly #isSingle: boolean;
  /** By key, with every byte as a character. */
  readonly #wanted = new Map<string, string>();
  readonly #newest = new Map<string, StoredEvent>();

  constructor(topic: TopicRow, keys: readonly string[]) {
    this.#isSingle = topic.partitions === 1;
    this.#source = new AllBatches(topic, { limit: NO_END, newestFirst: true });
    for (const key of keys) this.#wanted.set(Buffer.from(key, "utf8").toString("latin1"), key);
  }

  /** In the order in which the keys were asked for. */
  get events(): ReadonlyMap<string, StoredEvent> {
    const events = new Map<string, StoredEvent>();
    for (const key of this.#wanted.values()) {
      const event = this.#newest.get(key);
      if (event !== undefined) events.set(key, event);
    }
    return events;
  }

  step(sources: KeySources): boolean {
    if (this.#wanted.size === 0) return true;
    const { batches } = sources;
    let looked = 0;
    for (const head of this.#source.heads(sources)) {
      if (head !== undefined) {
        if (this.#isComplete(head)) return true;
        const cursor = new BatchCursor(batches.load(head));
        while (cursor.next()) this.#look(batches, head, cursor);
      }
      if (++looked === STEP) return false;
    }
    return true;
  }

  #look(batches: Batches, head: BatchHead, cursor: BatchCursor): void {
    const bytes = cursor.keyBytes;
    const key = bytes === undefined ? undefined : this.#wanted.get(bytes.toString("latin1"));
    if (key === undefined) return;
    const event = batches.present(head, cursor);
    const known = this.#newest.get(key);
    if (known === undefined || bySeq(event, known) > 0) this.#newest.set(key, event);
  }

  #isComplete(head: BatchHead): boolean {
    if (this.#newest.size < this.#wanted.size) return false;
    if (this.#isSingle) return true;
    let oldest = NO_END;
    for (const { seq } of this.#newest.values()) oldest = Math.min(oldest, seq);
    return head.firstSeq + MAX_SPAN < oldest;
  }
}

function bySeq(a: StoredEvent, b: StoredEvent): number {
  return a.seq - b.seq || a.partition - b.partition;
}

/** Batches that hold a key, by the index. */
class IndexedBatches implements Source {
  readonly #topic: number;
  readonly #key: Buffer;
  readonly #from: Seq;
  readonly #through: Seq;
  readonly #newestFirst: boolean;
  #last: Place | undefined;

  constructor(topic: TopicRow, key: Buffer, options: HistoryOptions) {
    this.#topic = topic.id;
    this.#key = key;
    // A batch spans MAX_SPAN seqs at most, so one that begins farther below `after` ends below it.
    this.#from = (options.after ?? 0) - MAX_SPAN;
    this.#through = options.through ?? NO_END;
    this.#newestFirst = options.newestFirst ?? false;
  }

  *heads({ batches, keys }: KeySources): Generator<BatchHead | undefined> {
    keys.refresh();
    const hash = keys.hash.ofKey(this.#topic, this.#key);
    for (const place of keys.places(hash, this.#begin, this.#newestFirst)) {
      if (place.seq <= this.#from || place.seq > this.#through) return;
      if (!this.#isBeyondLast(place)) continue;
      this.#last = place;
      const head = batches.startingAt(place.part, place.seq);
      yield head?.firstSeq === place.seq ? head : undefined;
    }
  }

  /** Where to look from. What was taken last stands there, perhaps with others that begin at the same seq. */
  get #begin(): Seq {
    return this.#last?.seq ?? (this.#newestFirst ? this.#through : Math.max(0, this.#from + 1));
  }

  #isBeyondLast({ seq, part }: Place): boolean {
    const last = this.#last;
    if (last === undefined || seq !== last.seq) return true;
    return this.#newestFirst ? part < last.part : part > last.part;
  }
}

/** Batches of all partitions of a topic, merged. */
class AllBatches implements Source {
  readonly #newestFirst: boolean;
  readonly #through: Seq;
  /** By partition number: newest first, everything at or above is done; else everything up to it. */
  readonly #positions = new Map<number, Seq>();

  constructor(topic: TopicRow, { after = 0, through = NO_END, newestFirst = false }: HistoryOptions) {
    this.#newestFirst = newestFirst;
    this.#through = through;
    for (let p = 0; p < topic.partitions; p++) {
      this.#positions.set(topic.firstPart + p, newestFirst ? Math.min(through, 2 ** 39) + 1 : after);
    }
  }

  *heads({ batches }: KeySources): Generator<BatchHead> {
    const waiting = new Map<number, BatchHead>();
    for (const part of this.#positions.keys()) this.#advance(batches, waiting, part);
    for (let next = this.#first(waiting); next !== undefined; next = this.#first(waiting)) {
      this.#positions.set(next.part, this.#newestFirst ? next.firstSeq : next.lastSeq);
      yield next;
      this.#advance(batches, waiting, next.part);
    }
  }

  #advance(batches: Batches, waiting: Map<number, BatchHead>, part: number): void {
    const position = this.#positions.get(part) ?? 0;
    const head = this.#newestFirst ? batches.below(part, position) : batches.above(part, position, 1)[0];
    if (head === undefined || head.firstSeq > this.#through) waiting.delete(part);
    else waiting.set(part, head);
  }

  #first(waiting: ReadonlyMap<number, BatchHead>): BatchHead | undefined {
    let best: BatchHead | undefined;
    for (const head of waiting.values()) {
      if (
        best === undefined ||
        (this.#newestFirst ? head.firstSeq > best.firstSeq : head.firstSeq < best.firstSeq)
      ) {
        best = head;
      }
    }
    return best;
  }
}
