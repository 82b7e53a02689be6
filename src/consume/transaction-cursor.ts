/** The cursor that a transaction writes together with what it settles. */
import { BusError } from "../model/errors.js";
import type { Cursor } from "../ports/groups.js";
import { markAhead } from "./cursor-writes.js";
import { cursorOf, type Delivery, type GroupPolicy, unsettledThrough } from "./delivery-state.js";
import type { Entry } from "./entry.js";

/**
 * The cursor once the transactions under way, and one that settles these entries, have taken effect. It needs everything
 * before the last of them to be settled by then, or it would settle events before those that they must not overtake (P4);
 * `settling` entries are under way.
 */
export function cursorWith(
  state: Delivery,
  policy: GroupPolicy,
  entries: readonly Entry[],
  settling: number,
): Cursor {
  const through = entries.reduce((highest, { seq }) => Math.max(highest, seq), 0);
  if (unsettledThrough(state, through) !== settling + entries.length) throw tooEarly();
  return cursorOf(state, markAhead(state, policy), through);
}

/** Whoever gets this knows by its details that waiting for a document does not help. */
function tooEarly(): BusError {
  const options = { retryable: false, details: { early: true } };
  return new BusError("WRITE_CONFLICT", "events before these are not settled", options);
}
