/**
 * Follows a topic outside any group: what is there after the given places, partitions merged by time, then what comes, until told
 * to stop. Of each partition one page is at hand, and all of these together are no more than one that is read alone may be, or one
 * event of each partition.
 *
 * A damaged partition stops by itself (P14): what the others have is given out first, and then its error.
 */
import { BusError } from "../model/errors.js";
import type { Seq, StoredEvent } from "../model/event.js";
import { mapAtMost } from "../model/map-at-most.js";
import { nextTurn } from "../model/next-turn.js";
import type { Tail, TailPage, TailReader } from "./tail.js";

const PAGE = 200;
/** Nothing can be given out before the first page of each partition is there. */
const PAGES_AT_ONCE = 16;

interface Lane {
  readonly partition: number;
  readonly reader: TailReader;
  /** There may be more in the log than was read. */
  isBehind: boolean;
  page: readonly StoredEvent[];
  next: number;
  /** What the page accounts for. */
  through: Seq;
  damage: BusError | null;
}

/**
 * Each partition in its order; `floors` (index = partition) is moved along, so that it always says where to go on. `only`: the one
 * partition that is read; the floors of the others stay.
 */
export async function* followTopic(
  tail: Tail,
  topic: string,
  floors: Seq[],
  signal: AbortSignal,
  only?: number,
): AsyncGenerator<StoredEvent> {
  let wake: () => void = () => undefined;
  const laneOf = (through: Seq, partition: number): Lane => {
    const heard = (): void => {
      lane.isBehind = true;
      wake();
    };
    const reader = tail.listen(topic, partition, heard);
    const lane: Lane = { partition, reader, isBehind: true, page: [], next: 0, through, damage: null };
    return lane;
  };
  const lanes = only === undefined ? floors.map(laneOf) : [laneOf(floors[only] ?? 0, only)];
  const onAbort = (): void => wake();
  signal.addEventListener("abort", onAbort);
  try {
    while (!signal.aborted) {
      if (lanes.some(wantsPage))
        await mapAtMost(PAGES_AT_ONCE, lanes.filter(wantsPage), (lane) =>
          turnPage(tail, lane, floors, lanes.length),
        );
      const event = takeEarliest(lanes);
      if (signal.aborted) return;
      if (event !== undefined) {
        floors[event.partition] = event.seq;
        yield event;
      } else if (!lanes.some(wantsPage)) {
        throwDamage(lanes);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    for (const { reader } of lanes) reader.stop();
  }
}

function isEmpty({ page, next }: Lane): boolean {
  return next >= page.length;
}

function wantsPage(lane: Lane): boolean {
  return lane.isBehind && isEmpty(lane) && lane.damage === null;
}

function throwDamage(lanes: readonly Lane[]): void {
  for (const { damage } of lanes) if (damage !== null) throw damage;
}

async function turnPage(tail: Tail, lane: Lane, floors: Seq[], lanes: number): Promise<void> {
  // What is heard of while it is read may not be in it.
  lane.isBehind = false;
  const page = await readPage(tail, lane, lanes);
  if (page === null) return;
  if (!page.atHead) {
    lane.isBehind = true;
    await nextTurn();
  }
  lane.page = page.events;
  lane.next = 0;
  lane.through = Math.max(lane.through, page.through);
  if (isEmpty(lane)) floors[lane.partition] = lane.through;
}

/** Null if what comes next is damaged. */
async function readPage(tail: Tail, lane: Lane, pages: number): Promise<TailPage | null> {
  try {
    return await tail.read(lane.reader, lane.through, PAGE, pages);
  } catch (error) {
    if (!BusError.is(error, "STORE_DAMAGED")) throw error;
    lane.damage = error;
    return null;
  }
}

/** Of events of the same time that of the first partition. */
function takeEarliest(lanes: readonly Lane[]): StoredEvent | undefined {
  let first: Lane | undefined;
  let earliest: StoredEvent | undefined;
  for (const lane of lanes) {
    const event = lane.page[lane.next];
    if (event === undefined || (earliest !== undefined && event.ts >= earliest.ts)) continue;
    first = lane;
    earliest = event;
  }
  if (first !== undefined && ++first.next === first.page.length) {
    first.page = [];
    first.next = 0;
  }
  return earliest;
}
