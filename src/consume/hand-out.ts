/**
 * Handing events out on demand: never above the committed mark (P5), one at a time in careful mode, each committed before
 * it goes (P8), and in batches no larger than what their events may still be in. Part of the pure step (delivery.ts).
 */
import type { StoredEvent } from "../model/event.js";
import { commit, isWriting, maybeWake, strideOf } from "./cursor-writes.js";
import { type Effect, NOTHING, type Of, pushAll } from "./delivery-events.js";
import type { Delivery, Entry, GroupPolicy } from "./delivery-state.js";
import { bury, isSpent } from "./giving-up.js";
import { mayGiveUp } from "./hold.js";
import { takeFollower } from "./lanes.js";

export function handOut(state: Delivery, event: Of<"demand">, policy: GroupPolicy): readonly Effect[] {
  const effects: Effect[] = [];
  const careful = state.phase === "careful";
  let room = careful ? 1 - state.inFlight.size - state.burying.size : event.count;
  let taken = 0;
  while (taken < room) {
    const entry = state.ready.peek();
    if (entry === undefined || entry.seq > state.mark) break;
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
    if (event.batch && entry.maxBatch > 0 && taken >= entry.maxBatch) break;
    state.ready.shift();
    if (!event.batch || careful) {
      handOutOne(state, entry, event, effects);
      taken++;
      continue;
    }
    const lot = withFollowers(state, entry, taken, room);
    for (const one of lot) {
      handOutOne(state, one, event, effects);
      if (one.maxBatch > 0) room = Math.min(room, one.maxBatch);
    }
    taken += lot.length;
  }
  if (taken > 1 && event.batch) markBatch(effects, taken);
  if (!isWriting(state) && markIsNear(state, policy)) effects.push(commit(state, policy));
  pushAll(effects, maybeWake(state));
  return effects.length === 0 ? NOTHING : effects;
}

/** Half a stride ahead, so that delivery seldom waits; and always when the next one waits for it. */
function markIsNear(state: Delivery, policy: GroupPolicy): boolean {
  return (
    state.reached + strideOf(state, policy) / 2 > state.mark || (state.ready.peek()?.seq ?? 0) > state.mark
  );
}

function markBatch(effects: readonly Effect[], size: number): void {
  for (const effect of effects) if (effect.type === "deliver") effect.entry.batchOf = size;
}

function handOutOne(state: Delivery, entry: Entry, demand: Of<"demand">, effects: Effect[]): void {
  const event = entry.event as StoredEvent;
  entry.policy = demand.handling;
  entry.batchOf = 1;
  // In careful mode the count was raised, and committed, when the event became the suspect.
  if (state.phase !== "careful") entry.delivered++;
  entry.standing = "in-flight";
  entry.deadlineMs = demand.nowMs + demand.handling.ackTimeoutMs;
  if (entry.deadlineMs < state.dueMs) state.dueMs = entry.deadlineMs;
  state.inFlight.add(entry);
  if (entry.seq > state.reached) state.reached = entry.seq;
  effects.push({ type: "deliver", entry, event, attempt: entry.delivered });
}

/** The entry and those of its lane that travel with it. */
function withFollowers(state: Delivery, entry: Entry, taken: number, room: number): Entry[] {
  const lot = [entry];
  let most = entry.maxBatch > 0 ? Math.min(room, entry.maxBatch) : room;
  while (taken + lot.length < most && entry.lane !== null) {
    const follower = takeFollower(state, entry.lane, taken + lot.length);
    if (follower === undefined) break;
    lot.push(follower);
    if (follower.maxBatch > 0) most = Math.min(most, follower.maxBatch);
  }
  return lot;
}

/** Makes it known that this one is next; it goes out once that is committed. */
function suspectNext(state: Delivery, entry: Entry, policy: GroupPolicy, effects: Effect[]): void {
  if (isWriting(state)) return;
  state.suspect = entry.seq;
  entry.delivered++;
  effects.push(commit(state, policy));
}
