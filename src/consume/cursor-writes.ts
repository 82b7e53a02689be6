/** When the cursor is written, and when delivery wants to be woken. Part of the pure step (delivery.ts). */
import type { Seq } from "../model/event.js";
import { both, type Effect, NOTHING } from "./delivery-events.js";
import {
  cursorOf,
  type Delivery,
  floorOf,
  type GroupPolicy,
  inFlightOf,
  lastCursorOf,
} from "./delivery-state.js";

export function afterChange(state: Delivery, policy: GroupPolicy, nowMs: number): readonly Effect[] {
  return both(writeCursor(state, policy, nowMs), maybeWake(state));
}

/** The commit that is due, or the release once nothing runs any more. */
export function writeCursor(state: Delivery, policy: GroupPolicy, nowMs: number): readonly Effect[] {
  if (state.phase !== "draining") return maybeCommit(state, policy, nowMs);
  const idle = state.inFlight === 0 && state.burying.size === 0 && !isWriting(state);
  return idle && !state.releasing ? [lastWord(state)] : NOTHING;
}

export function lastWord(state: Delivery): Effect {
  state.releasing = true;
  state.suspect = undefined;
  return { type: "release", cursor: lastCursorOf(state) };
}

/** The cursor is being written, or spoken for. */
export function isWriting(state: Delivery): boolean {
  return state.committing || state.held > 0;
}

export function maybeCommit(state: Delivery, policy: GroupPolicy, nowMs: number): readonly Effect[] {
  if (state.dirty === 0 || isWriting(state)) return NOTHING;
  if (state.dirty >= enough(state, policy) || nowMs >= state.commitAtMs) return [commit(state, policy)];
  if (state.commitAtMs === Number.POSITIVE_INFINITY)
    state.commitAtMs = sharedMoment(nowMs + commitDelayMs(state, policy));
  if (state.commitAtMs < state.dueMs) state.dueMs = state.commitAtMs;
  return NOTHING;
}

/** Handlers that are faster than marks are written do not make up for it by more writes. */
function enough(state: Delivery, policy: GroupPolicy): number {
  return Math.max(policy.commitEverySettles, state.stride);
}

/** Partitions write their cursors at the same moments, so that a store may take many of them together. */
const MOMENT_MS = 10;

function sharedMoment(ms: number): number {
  return Math.floor(ms / MOMENT_MS) * MOMENT_MS;
}

/** A store that is slow, or busy with a thousand cursors, is asked less often: a tenth of the time goes into it at most. */
const REST_PER_COMMIT = 9;
const MOST_DELAYS = 10;

function commitDelayMs(state: Delivery, { commitEveryMs }: GroupPolicy): number {
  const restMs = Math.min(state.commitTookMs * REST_PER_COMMIT, commitEveryMs * MOST_DELAYS);
  return Math.max(commitEveryMs, restMs);
}

/** How far ahead of what was handed out the mark is written. */
export function strideOf(state: Delivery, policy: GroupPolicy): number {
  return Math.max(state.stride, policy.stride);
}

const MOST_STRIDES = 4;

/** Handlers are faster than the store writes marks: the next ones go further, so that delivery need not wait again. */
export function lengthenStride(state: Delivery, policy: GroupPolicy): void {
  state.stride = Math.min(strideOf(state, policy) * 2, policy.stride * MOST_STRIDES);
}

export function commit(state: Delivery, policy: GroupPolicy): Effect {
  state.committing = true;
  state.dirty = 0;
  state.commitAtMs = Number.POSITIVE_INFINITY;
  return { type: "commit", cursor: cursorOf(state, markAhead(state, policy)) };
}

/** The mark that a cursor written now should carry. */
export function markAhead(state: Delivery, policy: GroupPolicy): Seq {
  const furthest = Math.max(state.reached, floorOf(state), (state.ready.peek()?.seq ?? 1) - 1);
  // What an earlier owner may have handed out stays below the mark until it is settled (P5).
  return Math.max(state.mark, state.redeliverThrough, furthest + strideOf(state, policy));
}

/** Asks for a wake-up if something falls due before the one that is set. */
export function maybeWake(state: Delivery): readonly Effect[] {
  if (state.dueMs >= state.wakeAtMs) return NOTHING;
  state.wakeAtMs = state.dueMs;
  return [{ type: "wake", atMs: state.dueMs }];
}

/** A commit that cannot be made now is not due: whatever ends the wait looks after it. */
export function earliestDue(state: Delivery): number {
  let dueMs = isWriting(state) || state.phase === "draining" ? Number.POSITIVE_INFINITY : state.commitAtMs;
  for (const entry of inFlightOf(state)) dueMs = Math.min(dueMs, entry.deadlineMs);
  for (const entry of state.delayed) dueMs = Math.min(dueMs, entry.retryAtMs);
  for (const { releaseUntilMs } of state.heldKeys.values())
    if (releaseUntilMs > 0) dueMs = Math.min(dueMs, releaseUntilMs);
  return dueMs;
}
