/**
 * Keys that are held: one of their events was given up, and whatever comes after it must not overtake it. Events of
 * such a key follow it into the dead letters, in order, so that the floor goes on and other keys notice nothing.
 *
 *   (free) --an event is given up--> held --the next dead letter comes back--> releasing --the last one is handled--> (free)
 *                                     ^---- it is given up again, or no other follows in time ----'
 *
 * A dead letter that comes back is let in only if the one before it was handled. While they come, newer events wait in
 * their lane instead of following the others, so that a busy key is released too. What is held is part of the cursor:
 * it survives restarts and moves with the partition. No I/O, no clock.
 */
import type { Delivery, GroupPolicy, Held } from "./delivery-state.js";
import type { Entry } from "./entry.js";

export type Verdict = "go" | "wait" | "follow" | "skip";

/** What becomes of an entry that is the first of its lane. */
export function verdictOn(state: Delivery, entry: Entry, nowMs: number): Verdict {
  if (state.heldKeys.size === 0 || entry.lane === null) return "go";
  const held = state.heldKeys.get(entry.lane.name);
  const { redriven } = entry;
  if (held === undefined || redriven?.foreign) return "go";
  if (state.phase === "draining") return "wait";
  if (redriven === null) {
    const roomy = state.buffered <= (state.hold?.maxWaiting ?? 0);
    return roomy && nowMs < held.releaseUntilMs ? "wait" : "follow";
  }
  if (redriven.root <= held.after) return redriven.skip ? "skip" : "go";
  return redriven.after > held.after ? "follow" : redriven.skip ? "skip" : "go";
}

/** A dead letter is on its way back: newer events of its key wait for the next ones. */
export function expectMore(state: Delivery, held: Held, nowMs: number): void {
  held.releaseUntilMs = nowMs + (state.hold?.releaseMs ?? 0);
  if (held.releaseUntilMs < state.dueMs) state.dueMs = held.releaseUntilMs;
}

/** The entry was handled, or stands for something that was discarded. */
export function noteHandled(state: Delivery, entry: Entry, nowMs: number): void {
  const { redriven, lane } = entry;
  const held = redriven === null || lane === null ? undefined : state.heldKeys.get(lane.name);
  if (held === undefined || redriven === null || redriven.foreign || redriven.root <= held.after) return;
  held.after = redriven.through;
  held.depth = Math.max(0, held.depth - 1);
  if (held.after >= held.last) state.heldKeys.delete(held.key);
  else expectMore(state, held, nowMs);
}

/** The entry went to the dead letters. */
export function noteBuried(state: Delivery, entry: Entry, policy: GroupPolicy, nowMs: number): void {
  const { lane, redriven } = entry;
  if (policy.hold === undefined || lane === null) return;
  const root = rootOf(entry);
  const held = state.heldKeys.get(lane.name);
  if (held === undefined) {
    const fresh = {
      key: lane.name,
      after: root - 1,
      last: root,
      depth: 1,
      sinceMs: nowMs,
      releaseUntilMs: 0,
    };
    state.heldKeys.set(lane.name, fresh);
    return;
  }
  held.last = Math.max(held.last, root);
  if (redriven === null) held.depth++;
  // Whatever else comes of the same redrive is out of turn now.
  held.releaseUntilMs = 0;
}

/** Whether an event may be given up: its key must then be held, and there is a bound on that (P13). */
export function mayGiveUp(state: Delivery, entry: Entry, policy: GroupPolicy): boolean {
  if (policy.hold === undefined || entry.lane === null || state.heldKeys.has(entry.lane.name)) return true;
  return state.heldKeys.size + state.burying.size < policy.hold.maxKeys;
}

/** Where the event stands among those of its key. */
export function rootOf(entry: Entry): number {
  const { redriven } = entry;
  return redriven === null || redriven.foreign || redriven.root === 0 ? entry.seq : redriven.root;
}
