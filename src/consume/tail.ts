/**
 * The newest events of each partition, kept once for every group that is near the head: ten groups cost one read.
 * Also the place where growth of the log becomes known, from this bus's own publishes, from the store's signals, and,
 * since signals are only hints, from a slow look at the heads.
 *
 * What retention or compaction has just removed may still be here, and a group that has yet to read it may still get it:
 * as if it had read a moment earlier. Removal frees room; it does not call events back.
 *
 * What all readers of a partition have got is let go of: events that live long are what the collector pays for most. What
 * one of them has yet to get is kept, bounded in events per partition and in bytes over all (P13); the oldest go first. Only
 * what the log holds is kept, in seq order and without holes, so a reader cannot tell it from the log.
 */
import { callSafely } from "../model/call-safely.js";
import type { Seq, StoredEvent } from "../model/event.js";
import type { Limits } from "../model/limits.js";
import { listOfOne } from "../model/list-of-one.js";
import { nextTurn } from "../model/next-turn.js";
import type { Log, Page } from "../ports/log.js";

export interface TailPage extends Page {
  /** Nothing more is known to be there. */
  readonly atHead: boolean;
}

/** Kept events that are handed over at once: the others can be had as quickly when their turn comes. */
const KEPT_PAGE = 128;

/** Readers that look again in one turn of the event loop. */
const READERS_A_TURN = 128;

/** Never added to. */
const NONE: StoredEvent[] = [];

interface PartitionTail {
  readonly topic: string;
  readonly partition: number;
  /** Every event in (from, through]. */
  events: StoredEvent[];
  from: Seq;
  through: Seq;
  bytes: number;
  /** Highest head heard of. */
  head: Seq;
  /** How often it was said that there may be more, and how much of that a read of the end has answered. */
  doubts: number;
  answered: number;
  readonly readers: Set<TailReader>;
  /** Reads of the log under way, by `after`: groups that ask for the same get the same. */
  readonly reading: Map<Seq, Promise<TailPage>>;
}

/** Somebody here who reads one partition, from the older to the newer. */
export class TailReader {
  readonly tail: PartitionTail;
  /** Called whenever the partition may have grown. */
  readonly heard: () => void;
  /** It will not ask for events up to here again. */
  through: Seq = 0;

  constructor(tail: PartitionTail, heard: () => void) {
    this.tail = tail;
    this.heard = heard;
  }

  stop(): void {
    this.tail.readers.delete(this);
  }
}

export class Tail {
  readonly #log: Log;
  readonly #limits: Limits;
  readonly #partitions = new Map<string, PartitionTail[]>();
  #bytes = 0;
  #isWakeDue = false;
  #isWaking = false;

  constructor(log: Log, limits: Limits) {
    this.#log = log;
    this.#limits = limits;
  }

  /** Events after `after`, at once if they are kept, else from the log: so many bytes that there is room for `pages` such pages. */
  read(reader: TailReader, after: Seq, limit: number, pages = 1): TailPage | Promise<TailPage> {
    const { tail } = reader;
    const maxBytes = Math.ceil(this.#limits.maxBufferedBytes / 4 / pages);
    reader.through = after;
    if (after >= tail.from && after < tail.through) {
      const page = keptPage(tail, after, Math.min(limit, KEPT_PAGE), maxBytes);
      reader.through = page.through;
      // At once: a partition that falls silent now would keep its last events until it grows again.
      if (page.through === tail.through) this.#letGoOfRead(tail);
      return page;
    }
    if (after === tail.through && after >= tail.head && after > 0 && !isDoubtful(tail))
      return { events: [], through: after, atHead: true };
    let reading = tail.reading.get(after);
    if (reading === undefined) {
      reading = this.#readLog(tail, after, limit, maxBytes).finally(() => tail.reading.delete(after));
      tail.reading.set(after, reading);
    }
    return reading;
  }

  /** Events that this bus has just added, of one partition, in log order; kept if anybody here reads it. */
  appended(events: readonly StoredEvent[]): void {
    const first = events[0];
    if (first === undefined) return;
    const tail = this.#tail(first.topic, first.partition);
    this.#letGoOfRead(tail);
    // A process that only publishes keeps nothing: what outlives a few appends costs the collector most.
    if (tail.readers.size > 0) for (const event of events) this.#keep(tail, event);
    this.#hear(tail, (events.at(-1) as StoredEvent).seq);
  }

  /** Somebody says the log has grown to `head`. */
  grew(topic: string, partition: number, head: Seq): void {
    this.#hear(this.#tail(topic, partition), head);
  }

  /** Those who listen look again, and those who come later do, whatever is known. */
  wakeAll(): void {
    for (const tail of this.#tails()) tail.doubts++;
    this.#isWakeDue = true;
    if (this.#isWaking) return;
    this.#isWaking = true;
    void this.#wakeReaders();
  }

  /** In turns: each of thousands may read at once. What is said again meanwhile is one more round for all. */
  async #wakeReaders(): Promise<void> {
    while (this.#isWakeDue) {
      this.#isWakeDue = false;
      let woken = 0;
      for (const tail of this.#tails())
        for (const reader of tail.readers) {
          callSafely(reader.heard);
          if (++woken % READERS_A_TURN === 0) await nextTurn();
        }
    }
    this.#isWaking = false;
  }

  /** Topics that somebody reads. */
  get topics(): string[] {
    return [...this.#partitions]
      .filter(([, tails]) => tails.some((tail) => tail?.readers.size > 0))
      .map(([topic]) => topic);
  }

  /** Calls `heard` whenever the partition may have grown. */
  listen(topic: string, partition: number, heard: () => void): TailReader {
    const tail = this.#tail(topic, partition);
    const reader = new TailReader(tail, heard);
    tail.readers.add(reader);
    return reader;
  }

  #hear(tail: PartitionTail, head: Seq): void {
    if (head <= tail.head) return;
    tail.head = head;
    for (const reader of tail.readers) reader.heard();
  }

  async #readLog(tail: PartitionTail, after: Seq, limit: number, maxBytes: number): Promise<TailPage> {
    const { doubts, head } = tail;
    const page = await this.#log.read(tail.topic, tail.partition, { after, limit, maxBytes });
    // A page that is full says nothing of where the log ends.
    const reachesEnd = page.events.length < limit && sizeOf(page.events) < maxBytes;
    if (reachesEnd && page.through >= tail.head) {
      this.#keepPage(tail, after, page);
      // Other groups may stand at the old head: what this read found is news to them.
      this.#hear(tail, page.through);
    } else if (page.through === after && tail.head === head) {
      // A hint was ahead of what can be read. It will be given again, or the next look at the heads finds it.
      tail.head = Math.max(after, tail.through);
    }
    const atEnd = reachesEnd && page.through >= tail.head;
    if (atEnd) tail.answered = Math.max(tail.answered, doubts);
    return { events: page.events, through: page.through, atHead: atEnd && !isDoubtful(tail) };
  }

  /** A page that ends at the head joins what is kept, or replaces it. */
  #keepPage(tail: PartitionTail, after: Seq, page: Page): void {
    this.#letGoOfRead(tail);
    if (tail.through !== after) {
      if (tail.through > after) return;
      this.#forget(tail, page.events.length === 0 ? page.through : after);
    }
    for (const event of page.events) this.#keep(tail, event, true);
    tail.through = Math.max(tail.through, page.through);
    if (tail.events.length === 0) tail.from = tail.through;
  }

  /** `gapless`: seqs between the last one and this one are known to be removed. */
  #keep(tail: PartitionTail, event: StoredEvent, gapless = false): void {
    if (event.seq <= tail.through) return;
    if (event.seq !== tail.through + 1 && !gapless) this.#forget(tail, event.seq - 1);
    const { size } = event;
    if (tail.events.length === 0) tail.events = listOfOne(event);
    else tail.events.push(event);
    tail.through = event.seq;
    tail.bytes += size;
    this.#bytes += size;
    // Trimmed in lumps, so that the cost per event stays constant.
    if (tail.events.length > this.#limits.maxTailEvents * 1.25) this.#shrink(tail);
    if (this.#bytes > this.#limits.maxTailBytes) this.#shrinkAll();
  }

  /** Everybody gives up half, so that partitions that fell silent do not crowd out those in use. */
  #shrinkAll(): void {
    for (const tail of this.#tails()) if (tail.events.length > 0) this.#shrink(tail);
  }

  #shrink(tail: PartitionTail): void {
    const keep = Math.min(this.#limits.maxTailEvents, tail.events.length >>> 1);
    this.#drop(tail, tail.events.length - keep);
  }

  /** Lets go of the oldest, so many. */
  #drop(tail: PartitionTail, count: number): void {
    tail.from = tail.events[count - 1]?.seq ?? tail.from;
    tail.events = tail.events.slice(count);
    // Counted anew: an event's size changes when its text is made.
    this.#bytes -= tail.bytes;
    tail.bytes = sizeOf(tail.events);
    this.#bytes += tail.bytes;
  }

  /** In lumps: those that all have got go once they are as many as the others. */
  #letGoOfRead(tail: PartitionTail): void {
    if (tail.events.length === 0) return;
    let read = tail.through;
    for (const { through } of tail.readers) if (through < read) read = through;
    if (read === tail.through) {
      this.#forget(tail, read);
      return;
    }
    const gone = firstAfter(tail.events, read);
    if (gone * 2 >= tail.events.length) this.#drop(tail, gone);
  }

  #forget(tail: PartitionTail, through: Seq): void {
    this.#bytes -= tail.bytes;
    tail.bytes = 0;
    tail.events = NONE;
    tail.from = through;
    tail.through = through;
  }

  *#tails(): Iterable<PartitionTail> {
    for (const tails of this.#partitions.values())
      for (const tail of tails) if (tail !== undefined) yield tail;
  }

  #tail(topic: string, partition: number): PartitionTail {
    let tails = this.#partitions.get(topic);
    if (tails === undefined) {
      tails = [];
      this.#partitions.set(topic, tails);
    }
    let tail = tails[partition];
    if (tail === undefined) {
      tail = {
        topic,
        partition,
        events: NONE,
        from: 0,
        through: 0,
        bytes: 0,
        head: 0,
        doubts: 0,
        answered: 0,
        readers: new Set(),
        reading: new Map(),
      };
      tails[partition] = tail;
    }
    return tail;
  }
}

function keptPage(tail: PartitionTail, after: Seq, limit: number, maxBytes: number): TailPage {
  const start = firstAfter(tail.events, after);
  // Nearly always all that is kept is little.
  const end = start + (tail.bytes <= maxBytes ? limit : countWithin(tail.events, start, limit, maxBytes));
  const events = tail.events.slice(start, end);
  const whole = end >= tail.events.length;
  const through = whole ? tail.through : (events.at(-1) as StoredEvent).seq;
  return { events, through, atHead: whole && through >= tail.head && !isDoubtful(tail) };
}

/** How many from `start` on it takes to have so many bytes, `limit` at most. */
function countWithin(events: readonly StoredEvent[], start: number, limit: number, maxBytes: number): number {
  let count = 0;
  for (let bytes = 0; count < limit && bytes < maxBytes; count++) {
    const event = events[start + count];
    if (event === undefined) break;
    bytes += event.size;
  }
  return count;
}

function sizeOf(events: readonly StoredEvent[]): number {
  return events.reduce((sum, event) => sum + event.size, 0);
}

function isDoubtful(tail: PartitionTail): boolean {
  return tail.doubts > tail.answered;
}

/** Index of the first event with a seq above `after`: a guess that is right without removals, else a search. */
function firstAfter(events: readonly StoredEvent[], after: Seq): number {
  const first = events[0];
  if (first === undefined) return 0;
  const guess = after + 1 - first.seq;
  if (guess <= 0) return 0;
  if (events[guess]?.seq === after + 1) return guess;
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle] as StoredEvent).seq <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}
