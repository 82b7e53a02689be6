/**
 * Looking through a topic a page at a time, from either end: partitions merged by time, each in its own order. A page
 * ends when it is full, in events or bytes, or when enough was looked at for one request; its bounds say where to go on.
 * Memory stays flat: each partition holds one block, and blocks shrink where events are large.
 */
import type { Seq, StoredEvent } from "../../model/event.js";
import { nextTurn } from "../../model/next-turn.js";
import type { Log } from "../../ports/log.js";

export type Order = "newest" | "oldest";

/** What is still to be looked at of one partition: seqs above `after`, below `before`. */
export interface Stretch {
  readonly partition: number;
  readonly after: Seq;
  readonly before: Seq;
}

export interface BrowseOptions {
  readonly topic: string;
  readonly order: Order;
  readonly stretches: readonly Stretch[];
  readonly limit: number;
  /** Events looked at for one page. */
  readonly maxScan: number;
  readonly matches: (event: StoredEvent) => boolean;
  readonly signal?: AbortSignal;
}

export interface BrowsePage {
  readonly events: readonly StoredEvent[];
  /** What is left; null if that is nothing. */
  readonly rest: readonly Stretch[] | null;
  readonly scanned: number;
}

const PAGE_BYTES = 4 * 1_048_576;
const FIRST_BLOCK = 16;
const MAX_BLOCK = 256;
const BLOCK_BYTES = 524_288;

export async function browseLog(log: Log, options: BrowseOptions): Promise<BrowsePage> {
  const { order, limit, maxScan, matches } = options;
  const lanes = options.stretches.map((stretch) => new Lane(log, options.topic, order, stretch));
  const events: StoredEvent[] = [];
  let bytes = 0;
  let scanned = 0;
  const isOver = (): boolean => scanned >= maxScan || options.signal?.aborted === true;
  while (events.length < limit && bytes < PAGE_BYTES && !isOver()) {
    const lacking = lanes.find((lane) => lane.isLacking);
    if (lacking !== undefined) {
      // Where nothing is left of a log, looking counts as well.
      if (!(await lacking.readOn())) scanned++;
      await nextTurn();
      continue;
    }
    const event = firstOf(lanes, order)?.take();
    if (event === undefined) break;
    scanned++;
    if (!matches(event)) continue;
    events.push(event);
    bytes += event.size;
  }
  const rest = lanes.map((lane) => lane.rest).filter(({ after, before }) => after + 1 < before);
  return { events, rest: rest.length === 0 ? null : rest, scanned };
}

class Lane {
  readonly #log: Log;
  readonly #topic: string;
  readonly #order: Order;
  readonly #partition: number;
  #after: Seq;
  #before: Seq;
  /** What was read and not taken, the next one last. */
  #block: StoredEvent[] = [];
  #size = FIRST_BLOCK;

  constructor(log: Log, topic: string, order: Order, stretch: Stretch) {
    this.#log = log;
    this.#topic = topic;
    this.#order = order;
    this.#partition = stretch.partition;
    this.#after = stretch.after;
    this.#before = stretch.before;
  }

  get rest(): Stretch {
    return { partition: this.#partition, after: this.#after, before: this.#before };
  }

  get next(): StoredEvent | undefined {
    return this.#block.at(-1);
  }

  take(): StoredEvent | undefined {
    const event = this.#block.pop();
    if (event === undefined) return undefined;
    if (this.#order === "newest") this.#before = event.seq;
    else this.#after = event.seq;
    return event;
  }

  /** It has nothing to take, and was not looked at to its end. */
  get isLacking(): boolean {
    return this.#block.length === 0 && this.#after + 1 < this.#before;
  }

  /** The next block; false if nothing is in it. */
  async readOn(): Promise<boolean> {
    const newest = this.#order === "newest";
    const from = newest ? Math.max(this.#after, this.#before - 1 - this.#size) : this.#after;
    const through = newest ? this.#before - 1 : Math.min(this.#before - 1, from + this.#size);
    const events = await this.#read(from, through);
    this.#block = newest ? events : events.reverse();
    if (events.length === 0 && newest) this.#before = from + 1;
    else if (events.length === 0) this.#after = through;
    const bytes = events.reduce((sum, event) => sum + event.size, 0);
    this.#size = bytes < BLOCK_BYTES ? Math.min(this.#size * 2, MAX_BLOCK) : Math.max(1, this.#size >> 2);
    return this.#block.length > 0;
  }

  /** All of (after, through], in however many pages the store gives it. */
  async #read(after: Seq, through: Seq): Promise<StoredEvent[]> {
    const events: StoredEvent[] = [];
    for (let at = after; at < through; ) {
      const page = await this.#log.read(this.#topic, this.#partition, { after: at, limit: through - at });
      for (const event of page.events) if (event.seq <= through) events.push(event);
      // A reader of a replicated store may not see the newest yet.
      if (page.through <= at) break;
      at = page.through;
    }
    return events;
  }
}

function firstOf(lanes: readonly Lane[], order: Order): Lane | undefined {
  const sign = order === "newest" ? -1 : 1;
  let best: Lane | undefined;
  let bestTs = 0;
  for (const lane of lanes) {
    const ts = lane.next?.ts;
    if (ts === undefined || (best !== undefined && sign * (ts - bestTs) >= 0)) continue;
    best = lane;
    bestTs = ts;
  }
  return best;
}
