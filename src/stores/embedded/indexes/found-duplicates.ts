/** Which events of a request are there already: in the log, or earlier in the same request. */
import { type Batch, BatchCursor } from "../../batch-codec.js";
import type { Place } from "./id-index.js";

export interface FoundDuplicate {
  readonly index: number;
  /** Index of the first one in the same request, or where it stands in the log. */
  readonly first: number | Place;
}

/** An event whose id came earlier in the same request. */
export interface SentTwice {
  readonly index: number;
  readonly first: number;
}

/** Those that came earlier in the request, or, if that one is in the log, where it stands; and those that are there themselves. */
export function withPlaces(
  again: readonly SentTwice[],
  places: ReadonlyMap<number, Place>,
): readonly FoundDuplicate[] {
  if (places.size === 0) return again;
  const found: FoundDuplicate[] = again.map(({ index, first }) => ({
    index,
    first: places.get(first) ?? first,
  }));
  for (const [index, first] of places) found.push({ index, first });
  return found.sort((a, b) => a.index - b.index);
}

/** Index by id of the drafts before `end`; of several with one id, the first. */
export function idsBefore(batches: readonly Batch[], end: number): Map<string, number> {
  const known = new Map<string, number>();
  let index = 0;
  for (const batch of batches) {
    const cursor = new BatchCursor(batch);
    while (index < end && cursor.next()) {
      if (!known.has(cursor.id)) known.set(cursor.id, index);
      index++;
    }
  }
  return known;
}
