/**
 * Order inside a partition (P4): entries of one lane go out one after the other; the next one only when no earlier
 * one is active. Entries whose commit is under way may let the next ones pass: these go out, and if they come back, they wait
 * until those before them are settled or have come back too. Keyed events have a lane per key, others none, unless the whole partition is one lane. Lanes that became
 * empty stay, up to a bound, for the next event of their key; a partition without events lets go of them.
 */
import type { StoredEvent } from "../model/event.js";
import type { Delivery, Ordering } from "./delivery-state.js";
import type { Entry } from "./entry.js";
import { expectMore, rootOf, verdictOn } from "./hold.js";
import type { Lane } from "./lane-set.js";

const WHOLE_PARTITION = "";
/** Lanes beyond this many are let go of as soon as they are empty. */
const MAX_LANES = 1_024;

/** Puts a new entry in its lane; it becomes ready (or delayed) at once if nothing is before it. */
export function enqueue(
  state: Delivery,
  entry: Entry,
  event: StoredEvent,
  ordering: Ordering,
  nowMs: number,
): void {
  const lane = laneOf(state, event, ordering);
  if (lane === undefined) {
    makeReady(state, entry, nowMs);
    return;
  }
  entry.lane = lane;
  if (lane.active === 0 && lane.queue === null && state.heldKeys.size === 0) {
    activate(state, lane, entry, nowMs);
    return;
  }
  putBack(lane, entry);
  if (lane.active === 0) advance(state, lane, nowMs);
}

/** The key's newer events have waited long enough. */
export function lookAgain(state: Delivery, key: string, nowMs: number): void {
  const lane = state.lanes.get(key);
  if (lane !== undefined && lane.active === 0) advance(state, lane, nowMs);
}

/** The entry is settled: whoever waits behind it may go. */
export function leaveLane(state: Delivery, entry: Entry, nowMs: number): void {
  const { lane, event } = entry;
  if (lane === null) return;
  // The event may be kept for long, by a store in memory perhaps: lanes are not to be kept with it.
  if (event !== null && event.lane === lane) event.lane = null;
  if (entry.passed) {
    entry.passed = false;
    lane.passed--;
    if (lane.active === 0 && lane.passed === 0) advance(state, lane, nowMs);
  } else {
    release(state, lane, nowMs);
  }
}

/** Whoever waits behind the entry may go although it is not settled yet. */
export function letPass(state: Delivery, entry: Entry, nowMs: number): void {
  if (entry.lane === null || entry.passed) return;
  entry.passed = true;
  entry.lane.passed++;
  release(state, entry.lane, nowMs);
}

/** The entry will be tried again: before everything that waits behind it. */
export function requeue(state: Delivery, entry: Entry, nowMs: number): void {
  if (entry.lane === null) {
    makeReady(state, entry, nowMs);
  } else {
    putBack(entry.lane, entry);
    release(state, entry.lane, nowMs);
  }
}

/** The entry failed after all: from now on those behind it wait again. */
export function stopPassing(entry: Entry): void {
  if (entry.lane === null || !entry.passed) return;
  entry.passed = false;
  entry.lane.passed--;
  entry.lane.active++;
}

/** Whether one that had let the entry pass has failed since: it goes first. */
export function isPreceded({ lane, seq }: Entry): boolean {
  if (lane === null) return false;
  const first = lane.queue?.[0];
  return lane.active > 1 || (first !== undefined && first.policy !== null && first.seq < seq);
}

/** Entries of the same lane that may travel in one batch with `entry`, which was just handed out. */
export function takeFollower(state: Delivery, lane: Lane, taken: number): Entry | undefined {
  const follower = lane.queue?.[0];
  if (follower === undefined || follower.failures > 0 || follower.seq > state.mark) return undefined;
  if (follower.maxBatch > 0 && taken >= follower.maxBatch) return undefined;
  if (state.heldKeys.has(lane.name)) return undefined;
  lane.queue?.shift();
  lane.active++;
  return follower;
}

function laneOf({ lanes }: Delivery, event: StoredEvent, ordering: Ordering): Lane | undefined {
  if (ordering === "partition") return lanes.named(WHOLE_PARTITION);
  return ordering === "none" || event.key === undefined ? undefined : lanes.ofKey(event.key, event);
}

function release(state: Delivery, lane: Lane, nowMs: number): void {
  lane.active--;
  if (lane.active === 0) advance(state, lane, nowMs);
}

/** The first of the lane goes, waits, or, behind one that was given up, follows it. */
function advance(state: Delivery, lane: Lane, nowMs: number): void {
  const next = lane.queue?.[0];
  if (next === undefined) {
    lane.queue = null;
    if (state.lanes.size > MAX_LANES && lane.passed === 0) state.lanes.delete(lane);
    return;
  }
  // It has come back: those before it may do so as well.
  if (lane.passed > 0 && next.policy !== null) return;
  const verdict = verdictOn(state, next, nowMs);
  if (verdict === "wait") return;
  lane.queue?.shift();
  if (verdict !== "go") {
    lane.active++;
    next.standing = "burying";
    state.burying.add(next);
    state.letGo.push({ entry: next, verdict });
    return;
  }
  // Behind another group's letter there come none of this one.
  const held = next.redriven?.foreign === false ? state.heldKeys.get(lane.name) : undefined;
  if (held !== undefined) expectMore(state, held, nowMs);
  activate(state, lane, next, nowMs);
}

function activate(state: Delivery, lane: Lane, entry: Entry, nowMs: number): void {
  lane.active++;
  makeReady(state, entry, nowMs);
}

function makeReady(state: Delivery, entry: Entry, nowMs: number): void {
  if (entry.retryAtMs > nowMs) {
    entry.standing = "delayed";
    state.delayed.add(entry);
    if (entry.retryAtMs < state.dueMs) state.dueMs = entry.retryAtMs;
  } else {
    entry.standing = "ready";
    state.ready.push(entry);
  }
}

/** By seq: a failed entry goes before those that wait, a new one behind them; a dead letter where it once stood. */
function putBack(lane: Lane, entry: Entry): void {
  entry.standing = "waiting";
  lane.queue ??= [];
  let at = lane.queue.length;
  while (at > 0 && rootOf(lane.queue[at - 1] as Entry) > rootOf(entry)) at--;
  if (at === lane.queue.length) lane.queue.push(entry);
  else lane.queue.splice(at, 0, entry);
}
