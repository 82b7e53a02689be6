/** Pages of the log, and places in it by time. Runs on one state of the file. */
import { BusError } from "../../../model/errors.js";
import type { Seq, StoredEvent } from "../../../model/event.js";
import type { Page, ReadOptions } from "../../../ports/log.js";
import { type Batch, BatchCursor } from "../../batch-codec.js";
import type { Batches, BatchHead } from "../batches/batches.js";
import { isDense, type PartitionState, readDamage } from "../batches/partitions.js";
import type { Connection } from "../sqlite.js";

/** Batches looked at in one query: few at first, more when they turn out to be small. */
const FIRST_HEADS = 4;
const MAX_HEADS = 64;

/** A page ends here even if the caller sets no bound of its own. */
const MAX_PAGE_BYTES = 32 * 1_048_576;

export interface PartitionRef {
  readonly topic: string;
  readonly partition: number;
  readonly part: number;
}

export function readPage(
  connection: Connection,
  batches: Batches,
  from: PartitionRef,
  options: ReadOptions,
): Page {
  const { after, limit } = options;
  const extent = extentOf(connection, from.part);
  const { head } = extent;
  const page = new PageBuilder(from, options, extent);
  let take = FIRST_HEADS;
  while (page.through < head) {
    const heads = batches.above(from.part, page.through, take);
    if (heads.length === 0) {
      if (page.isGap(head + 1)) return page.endAtGap(batches, head);
      break;
    }
    if (!page.add(batches, heads)) return page.done(page.through);
    const events = heads.reduce((sum, { count }) => sum + count, 0);
    const missing = limit - page.events.length + 1;
    take = Math.min(MAX_HEADS, Math.max(1, Math.ceil((missing * heads.length) / events)));
  }
  return page.done(Math.max(after, head));
}

class PageBuilder {
  readonly events: StoredEvent[] = [];
  through: Seq;
  readonly #from: PartitionRef;
  readonly #limit: number;
  readonly #maxBytes: number;
  /** From here on every seq must be there: nothing but the oldest was ever removed. Infinity: anything may be missing. */
  readonly #denseFrom: Seq;
  /** Known to be lost, whatever else may be missing. */
  readonly #damage: PartitionState["damage"];
  #bytes = 0;

  constructor(from: PartitionRef, { after, limit, maxBytes = MAX_PAGE_BYTES }: ReadOptions, extent: Extent) {
    this.#from = from;
    this.#limit = limit;
    this.#maxBytes = maxBytes;
    this.#denseFrom = isDense(extent) ? extent.low : Number.POSITIVE_INFINITY;
    this.#damage = extent.damage;
    this.through = after;
  }

  get isFull(): boolean {
    return this.events.length >= this.#limit || this.#bytes >= this.#maxBytes;
  }

  /** Takes events until the page is full: then false. */
  add(batches: Batches, heads: readonly BatchHead[]): boolean {
    for (const batch of this.#open(batches, heads)) {
      if (batch === undefined) return false;
      const cursor = new BatchCursor(batch);
      while (cursor.next()) {
        if (cursor.seq <= this.through) continue;
        if (this.isFull) return false;
        if (this.isGap(cursor.seq)) {
          this.endAtGap(batches, cursor.seq - 1);
          return false;
        }
        const event = cursor.event(this.#from.topic, this.#from.partition);
        this.events.push(event);
        this.#bytes += event.size;
        this.through = event.seq;
      }
    }
    return true;
  }

  /** Whether something is missing before `seq` that was never removed: its row is damaged beyond being found. */
  isGap(seq: Seq): boolean {
    const lostThrough = this.#damage?.[1] ?? 0;
    const isLost = this.through < lostThrough && seq > lostThrough;
    return isLost || seq > Math.max(this.through + 1, this.#denseFrom);
  }

  get #firstMissing(): Seq {
    const from = Math.min(this.#damage?.[0] ?? this.#denseFrom, this.#denseFrom);
    return Math.max(this.through + 1, from);
  }

  /** What is missing is damage like any other: see #open. */
  endAtGap(batches: Batches, last: Seq): Page {
    if (this.events.length === 0) throw batches.missing(this.#from.part, this.#firstMissing, last);
    return this.done(this.through);
  }

  done(through: Seq): Page {
    return { events: this.events, through };
  }

  /** Damage ends a page that has something in it already; the next read meets it first and says so. */
  *#open(batches: Batches, heads: readonly BatchHead[]): Generator<Batch | undefined> {
    batches.prefetch(heads);
    for (const head of heads) {
      if (this.isFull) yield undefined;
      try {
        yield batches.load(head);
      } catch (error) {
        if (this.events.length === 0) throw error;
        yield undefined;
      }
    }
  }
}

/** The lowest present seq whose ts is at least `ts`, by halving: `run_ts` grows from batch to batch. */
export function seqAt(connection: Connection, batches: Batches, part: number, ts: number): Seq {
  const { head } = extentOf(connection, part);
  let found: BatchHead | undefined;
  let low = 1;
  let high = head + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const batch = batches.startingAt(part, middle);
    if (batch === undefined || batch.runTs >= ts) {
      found = batch ?? found;
      high = middle;
    } else {
      low = batch.lastSeq + 1;
    }
  }
  if (found === undefined) return head + 1;
  const cursor = new BatchCursor(batches.load(found));
  while (cursor.next()) if (cursor.ts >= ts) return cursor.seq;
  return head + 1;
}

type Extent = Readonly<Pick<PartitionState, "head" | "low" | "events" | "damage">>;

function extentOf(connection: Connection, part: number): Extent {
  const row = connection
    .sql("SELECT head, low, events, damage FROM part WHERE id = ?")
    .get<[head: number, low: number, events: number, damage: string | null]>(part);
  // It was made together with its topic: without it nobody can say whether the log is empty (P14).
  if (row === undefined)
    throw new BusError("STORE_DAMAGED", `${connection.path}: partition number ${part} has no state`);
  const [head, low, events, damage] = row;
  return { head, low, events, damage: readDamage(damage) };
}
