/** When the next page of the log is asked for, and how its events are taken in. Part of the pure step (delivery.ts). */
import type { StoredEvent } from "../model/event.js";
import { redrivenOf } from "../model/redrive.js";
import { maybeCommit, maybeWake } from "./cursor-writes.js";
import { both, type DeliveryEvent, type Effect, NOTHING, type Of } from "./delivery-events.js";
import { type Delivery, floorOf, type GroupPolicy, wasSettled } from "./delivery-state.js";
import { Entry } from "./entry.js";
import { enqueue } from "./lanes.js";

/** Ready entries beyond which no more are made of pages that are at hand. */
const ENOUGH = 128;

export function maybeFetch(state: Delivery, policy: GroupPolicy): readonly Effect[] {
  if (state.fetching || state.atHead || isFull(state, policy) || state.phase === "draining") return NOTHING;
  state.fetching = true;
  state.grewMeanwhile = false;
  return [{ type: "fetch", after: state.high }];
}

function isFull(state: Delivery, policy: GroupPolicy): boolean {
  return (
    hasEnough(state) ||
    state.buffered * 2 > policy.maxBufferedEvents ||
    state.bufferedBytes * 2 > policy.maxBufferedBytes ||
    state.high - floorOf(state) >= policy.maxSpan
  );
}

/**
 * Pages at hand can be had at any time, so entries need not be made long before their turn: those that are made, handled and
 * gone before the collector comes cost it nothing. What waits for something else than its turn does not count, so that a key
 * that is held up holds up no other.
 */
function hasEnough({ isNear, ready, lot }: Delivery): boolean {
  return isNear && ready.length >= Math.max(ENOUGH, lot);
}

export function takeIn(state: Delivery, event: Of<"arrived">, policy: GroupPolicy): readonly Effect[] {
  state.fetching = false;
  state.isNear = event.isNear === true;
  state.atHead = event.atHead && !state.grewMeanwhile;
  for (const stored of event.events) {
    if (stored.seq <= state.high || wasSettled(state, stored.seq)) continue;
    const entry = newEntry(state, stored, policy, event.nowMs);
    state.entries.push(entry);
    state.buffered++;
    state.bufferedBytes += entry.bytes;
    enqueue(state, entry, stored, policy.ordering, event.nowMs);
  }
  if (event.through > state.high) {
    state.high = event.through;
    state.dirty++;
  }
  const writes = both(maybeCommit(state, policy, event.nowMs), maybeWake(state));
  return both(writes, maybeFetch(state, policy));
}

function newEntry(state: Delivery, event: StoredEvent, policy: GroupPolicy, nowMs: number): Entry {
  const past = state.past.size === 0 ? undefined : state.past.get(event.seq);
  const entry = new Entry(event, past?.delivered ?? (event.seq <= state.redeliverThrough ? 1 : 0));
  if (past !== undefined) {
    state.past.delete(event.seq);
    entry.recall(past, nowMs);
  }
  const redriven = policy.hold === undefined ? null : redrivenOf(event.meta?.headers);
  if (redriven !== null)
    entry.told.redriven = { ...redriven, foreign: redriven.group !== policy.hold?.group };
  return entry;
}

export function fetchMore(state: Delivery, _event: DeliveryEvent, policy: GroupPolicy): readonly Effect[] {
  state.atHead = false;
  state.grewMeanwhile = state.fetching;
  return maybeFetch(state, policy);
}

export function fetchAgain(state: Delivery, event: DeliveryEvent, policy: GroupPolicy): readonly Effect[] {
  state.fetching = false;
  return fetchMore(state, event, policy);
}
