/**
 * The span of the times of a batch's ids. A UUIDv7 with a time inside is found by it and has no entry in an index; whether it is
 * follows from the batch alone.
 */
import type { Batch, BatchCursor } from "../../batch-codec.js";
import { uuidTimeMs } from "../../id-key.js";
import type { BatchHead } from "./batches.js";

/** Widest span of id times in one batch. */
export const SPAN_MS = 256;
/** Ids whose time is farther than this from the clock are never put into a span: they would stretch the search. */
export const MAX_CLOCK_GAP_MS = 3_600_000;

export function isInSpan(head: Pick<BatchHead, "minIdt" | "maxIdt">, timeMs: number): boolean {
  return head.minIdt !== null && head.maxIdt !== null && timeMs >= head.minIdt && timeMs <= head.maxIdt;
}

/** Whether the event that a cursor stands on is found by its batch's span, and so has no entry in the index. */
export function isSpanned(
  batch: Batch,
  head: Pick<BatchHead, "minIdt" | "maxIdt">,
  cursor: BatchCursor,
): boolean {
  const at = cursor.uuidAt;
  return at >= 0 && isInSpan(head, uuidTimeMs(batch.ids, at));
}

export function isUuid7({ ids }: Batch, { uuidAt }: BatchCursor): boolean {
  return uuidAt >= 0 && uuidTimeMs(ids, uuidAt) >= 0;
}
