/** Events that had their last try: the cursor waits for their copy among the dead letters (P8). Part of the pure step. */
import type { StoredEvent } from "../model/event.js";
import type { Effect } from "./delivery-events.js";
import type { Delivery, GroupPolicy } from "./delivery-state.js";
import { type Entry, type HandlingPolicy, Lease } from "./entry.js";
import { rootOf } from "./hold.js";

/** It had its last try under another owner, or under a policy that allowed more. */
export function isSpent(entry: Entry, handling: HandlingPolicy): boolean {
  return handling.deadLetter && entry.failures >= handling.maxAttempts;
}

export function bury(state: Delivery, entry: Entry, handling: HandlingPolicy, policy: GroupPolicy): Effect {
  if (entry.policy !== handling) entry.lease = new Lease(handling, 1, Number.POSITIVE_INFINITY);
  entry.standing = "burying";
  state.burying.add(entry);
  return buryEffect(entry, policy, entry.story.error ?? "unknown", false);
}

export function buryEffect(entry: Entry, policy: GroupPolicy, error: string, waiting: boolean): Effect {
  return {
    type: "bury",
    entry,
    event: entry.event as StoredEvent,
    attempts: Math.max(entry.delivered, entry.failures),
    error,
    ...(policy.hold === undefined || entry.lane === null
      ? undefined
      : { hold: { root: rootOf(entry), waiting } }),
  };
}
