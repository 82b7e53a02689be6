/** When the next page of the log is asked for. Part of the pure step (delivery.ts). */
import { type Effect, NOTHING } from "./delivery-events.js";
import { type Delivery, floorOf, type GroupPolicy } from "./delivery-state.js";

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
