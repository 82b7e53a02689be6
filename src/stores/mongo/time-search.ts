/**
 * Where in a partition the highest ts so far reaches a time. It only grows with the seq, so this is a search among places in
 * order. A question costs a round trip however many places it names, so each names many of them.
 */
import type { Seq } from "../../model/event.js";

/** What stands at a place. */
export interface Mark {
  readonly seq: Seq;
  /** Highest ts up to here. */
  readonly maxTs: number;
}

export interface Marks<M extends Mark> {
  /** Those that are present of these, by seq. */
  at(seqs: readonly Seq[]): Promise<readonly M[]>;
  /** The first one from here on. */
  from(seq: Seq): Promise<M | null>;
}

/** Places that a question names: among a million, five questions do. All that are named are fetched, so not too many. */
const PLACES = 16;

/** The first mark below `end` that reaches `ts`; undefined if there is none. */
export async function firstReaching<M extends Mark>(
  ts: number,
  end: Seq,
  marks: Marks<M>,
): Promise<M | undefined> {
  // Below `low` none reaches it. From `high` on `found` is the first, which does.
  let low = 1;
  let high = end;
  let found: M | undefined;
  while (low < high) {
    const width = high - low;
    const asked = placesIn(low, high);
    for (const mark of await marks.at(asked)) {
      if (mark.maxTs < ts) low = mark.seq + 1;
      else {
        high = mark.seq;
        found = mark;
        break;
      }
    }
    if (asked.length === width) break;
    if (high - low <= width / 2) continue;
    // Of those that were named most are removed: halved in any case.
    const middle = Math.floor((low + high) / 2);
    const mark = await marks.from(middle);
    if (mark !== null && mark.maxTs < ts) low = mark.seq + 1;
    else {
      high = middle;
      found = mark ?? undefined;
    }
  }
  return found;
}

/** All places from `low` to below `high`, or some at equal distances. */
function placesIn(low: Seq, high: Seq): Seq[] {
  const width = high - low;
  if (width <= PLACES) return Array.from({ length: width }, (_, i) => low + i);
  return Array.from({ length: PLACES }, (_, i) => low + Math.floor(((i + 1) * width) / (PLACES + 1)));
}
