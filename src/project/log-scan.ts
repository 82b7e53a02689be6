/** Walks over the log outside any group, page by page, so that memory stays flat however long it is. */
import { BusError } from "../model/errors.js";
import type { Seq, StoredEvent } from "../model/event.js";
import { mapAtMost } from "../model/map-at-most.js";
import { nextTurn } from "../model/next-turn.js";
import type { Log, Page } from "../ports/log.js";

export interface Stretch {
  readonly topic: string;
  readonly partition: number;
  /** Events above `after`, up to and including `through`. */
  readonly after: Seq;
  readonly through: Seq;
}

export interface ScanOptions {
  /** Events a page. Default 500. */
  readonly pageSize?: number;
  /** Bytes a page, unless its first event alone has more. Default 4 MiB. */
  readonly pageBytes?: number;
  readonly signal?: AbortSignal;
}

const PAGE_EVENTS = 500;
const PAGE_BYTES = 4 * 1_048_576;
/** Of all partitions that are merged, in memory at once (P13). */
const MERGED_BYTES = 16 * 1_048_576;
/** First pages that are asked for at once. */
const PAGES_AT_ONCE = 16;

/**
 * The pages of a stretch, in order. `through` of the last one is that of the stretch, unless the signal aborted: then
 * there simply are no more.
 */
export async function* scanPages(
  log: Log,
  stretch: Stretch,
  options: ScanOptions = {},
): AsyncGenerator<Page> {
  const { topic, partition, through } = stretch;
  const limit = options.pageSize ?? PAGE_EVENTS;
  const maxBytes = options.pageBytes ?? PAGE_BYTES;
  for (let after = stretch.after; after < through && !options.signal?.aborted; ) {
    const page = await log.read(topic, partition, { after, limit, maxBytes });
    if (page.through <= after) {
      // Readers of a replicated store may lag behind its head for a moment; an end that is none must not pass for one.
      throw new BusError(
        "STORE_UNAVAILABLE",
        `partition ${partition} of ${topic} can be read up to ${after} only, not yet up to ${through}`,
      );
    }
    after = page.through;
    yield after <= through ? page : cutAt(page, through);
    await nextTurn();
  }
}

function cutAt(page: Page, through: Seq): Page {
  return { events: page.events.filter((event) => event.seq <= through), through };
}

interface Lane {
  readonly pages: AsyncGenerator<Pick<Page, "events">>;
  events: readonly StoredEvent[];
  next: number;
}

/** The events of several partitions merged by time, each partition in its own order. */
export function scanMerged(
  log: Log,
  stretches: readonly Stretch[],
  options: ScanOptions = {},
): AsyncGenerator<StoredEvent> {
  const pageBytes = Math.min(PAGE_BYTES, Math.ceil(MERGED_BYTES / stretches.length));
  return mergedByTime(stretches.map((stretch) => scanPages(log, stretch, { pageBytes, ...options })));
}

/** The events of several rows of pages, each row in its own order. */
export async function* mergedByTime(rows: readonly Lane["pages"][]): AsyncGenerator<StoredEvent> {
  const lanes: Lane[] = rows.map((pages) => ({ pages, events: [], next: 0 }));
  await mapAtMost(PAGES_AT_ONCE, lanes, turnPage);
  for (let open = lanes.filter(hasEvents); ; ) {
    const lane = earliest(open);
    if (lane === undefined) return;
    yield lane.events[lane.next++] as StoredEvent;
    if (lane.next < lane.events.length) continue;
    await turnPage(lane);
    open = open.filter(hasEvents);
  }
}

/** To the next page that has events; to none at the end. */
async function turnPage(lane: Lane): Promise<void> {
  lane.next = 0;
  lane.events = [];
  while (lane.events.length === 0) {
    const { value, done } = await lane.pages.next();
    if (done) return;
    lane.events = value.events;
  }
}

function hasEvents(lane: Lane): boolean {
  return lane.events.length > 0;
}

function earliest(lanes: readonly Lane[]): Lane | undefined {
  let best: Lane | undefined;
  for (const lane of lanes) if (best === undefined || nextTs(lane) < nextTs(best)) best = lane;
  return best;
}

function nextTs(lane: Lane): number {
  return (lane.events[lane.next] as StoredEvent).ts;
}
