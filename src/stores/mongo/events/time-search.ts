/**
 * Where in a partition a time is reached that only grows with the seq: the highest ts so far, or when the server took an append
 * in hand. So this is a search among places in order. A question costs a round trip however many places it names, so each
 * names many of them.
 */
import type { Collection, Filter, FindOptions } from "mongodb";
import type { Seq } from "../../../model/event.js";
import type { EventDocument } from "../collections.js";

export interface Marks<M extends { readonly seq: Seq }> {
  /** The time that is reached at a mark. */
  timeOf(mark: M): number;
  /** Those that are present of these, by seq. */
  at(seqs: readonly Seq[]): Promise<readonly M[]>;
  /** The first one from here on. */
  from(seq: Seq): Promise<M | null>;
}

/** Places that a question names: among a million, five questions do. All that are named are fetched, so not too many. */
const PLACES = 16;

/** The first mark below `end` that reaches the time; undefined if there is none. */
export async function firstReaching<M extends { readonly seq: Seq }>(
  time: number,
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
      if (marks.timeOf(mark) < time) low = mark.seq + 1;
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
    if (mark !== null && marks.timeOf(mark) < time) low = mark.seq + 1;
    else {
      high = middle;
      found = mark ?? undefined;
    }
  }
  return found;
}

/** Of those documents of a partition that fit. */
export function eventMarks(
  events: Collection<EventDocument>,
  fitting: Filter<EventDocument>,
  o: { readonly timeOf: (event: EventDocument) => number; readonly find: FindOptions },
): Marks<EventDocument> {
  const inOrder = { ...o.find, sort: { seq: 1 } } as const;
  return {
    timeOf: o.timeOf,
    at: (seqs) => events.find({ ...fitting, seq: { $in: [...seqs] } }, inOrder).toArray(),
    from: (seq) => events.findOne({ ...fitting, seq: { $gte: seq } }, inOrder),
  };
}

/** All places from `low` to below `high`, or some at equal distances. */
function placesIn(low: Seq, high: Seq): Seq[] {
  const width = high - low;
  if (width <= PLACES) return Array.from({ length: width }, (_, i) => low + i);
  return Array.from({ length: PLACES }, (_, i) => low + Math.floor(((i + 1) * width) / (PLACES + 1)));
}
