/**
 * Handing events out on demand: never above the committed mark (P5), one at a time in careful mode, each committed before
 * it goes (P8), and in batches no larger than what their events may still be in. Part of the pure step (delivery.ts).
 */
import { commit, isWriting, maybeWake, strideOf } from "./cursor-writes.js";
import { both, type Effect, NOTHING, type Of } from "./delivery-events.js";
import type { Delivery, GroupPolicy } from "./delivery-state.js";
import { type Entry, Lease } from "./entry.js";
import { bury, isSpent } from "./giving-up.js";
import { mayGiveUp } from "./hold.js";
import { maybeFetch } from "./intake.js";
import { isPreceded, requeue, takeFollower } from "./lanes.js";

/** Never added to. */
const NOBODY: Entry[] = [];

export function handOut(state: Delivery, event: Of<"demand">, policy: GroupPolicy): readonly Effect[] {
  const effects: Effect[] = [];
  let lot = NOBODY;
  const careful = state.phase === "careful";
  if (event.batch && event.count > state.lot) state.lot = event.count;
  let room = careful ? 1 - state.inFlight - state.burying.size : event.count;
  while (lot.length < room) {
    const entry = state.ready.peek();
    if (entry === undefined || entry.seq > state.mark) break;
    if (isPreceded(entry)) {
      state.ready.shift();
      requeue(state, entry, event.nowMs);
      continue;
    }
    if (isSpent(entry, event.handling) && mayGiveUp(state, entry, policy)) {
      state.ready.shift();
      effects.push(bury(state, entry, event.handling, policy));
      if (careful) break;
      continue;
    }
    if (careful && (state.suspect !== entry.seq || isWriting(state))) {
      suspectNext(state, entry, policy, effects);
      break;
    }
    if (event.batch && entry.maxBatch > 0 && lot.length >= entry.maxBatch) break;
    state.ready.shift();
    // An empty array takes room for seventeen at its first push: too much where most lots have one.
    if (lot.length === 0) lot = [entry];
    else lot.push(entry);
    if (event.batch && !careful) room = addFollowers(state, entry, lot, room);
  }
  if (lot.length > 0) lease(state, lot, event);
  const handedOut: readonly Effect[] = lot.length === 0 ? NOTHING : [{ type: "deliver", entries: lot }];
  const writes = !isWriting(state) && markIsNear(state, policy) ? [commit(state, policy)] : NOTHING;
  const fetches = state.isNear ? maybeFetch(state, policy) : NOTHING;
  return both(both(effects, handedOut), both(both(writes, maybeWake(state)), fetches));
}

/** Half a stride ahead, so that delivery seldom waits; and always when the next one waits for it. */
function markIsNear(state: Delivery, policy: GroupPolicy): boolean {
  return (
    state.reached + strideOf(state, policy) / 2 > state.mark || (state.ready.peek()?.seq ?? 0) > state.mark
  );
}

function lease(state: Delivery, lot: readonly Entry[], { handling, batch, nowMs }: Of<"demand">): void {
  const shared = new Lease(handling, batch ? lot.length : 1, nowMs + handling.ackTimeoutMs);
  if (shared.deadlineMs < state.dueMs) state.dueMs = shared.deadlineMs;
  // In careful mode the count was raised, and committed, when the event became the suspect.
  const counted = state.phase === "careful" ? 0 : 1;
  for (const entry of lot) {
    entry.lease = shared;
    entry.delivered += counted;
    entry.standing = "in-flight";
    if (entry.seq > state.reached) state.reached = entry.seq;
  }
  state.inFlight += lot.length;
}

/** Adds those of the entry's lane that travel with it; returns how many the lot may have by now. */
function addFollowers(state: Delivery, entry: Entry, lot: Entry[], room: number): number {
  let most = entry.maxBatch > 0 ? Math.min(room, entry.maxBatch) : room;
  while (lot.length < most && entry.lane !== null) {
    const follower = takeFollower(state, entry.lane, lot.length);
    if (follower === undefined) break;
    lot.push(follower);
    if (follower.maxBatch > 0) most = Math.min(most, follower.maxBatch);
  }
  return most;
}

/** Makes it known that this one is next; it goes out once that is committed. */
function suspectNext(state: Delivery, entry: Entry, policy: GroupPolicy, effects: Effect[]): void {
  if (isWriting(state)) return;
  state.suspect = entry.seq;
  entry.delivered++;
  effects.push(commit(state, policy));
}
