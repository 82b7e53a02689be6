/**
 * How long a writer may trust the end of a partition that it remembers, by the server's logical time, which every
 * write moves on and no failover turns back.
 *
 * The place of an event stays taken for longer than that after it was inserted, even if the event is removed: until
 * then removal forgets what the event said, but leaves its document. So whoever inserts after an event of its own, soon
 * enough after that one was inserted, cannot have taken a place that was taken and freed in between: it would have run
 * into what is there. Only a writer that comes later has to look.
 *
 *   since(T) ≤ inserted(T) ≤ stamp(T + 1) < freed(T + 1) - KEPT    stamps are set by the server, on an append's last event
 *   so what is inserted at T + 1 after it was freed is answered later than since(T) + TRUSTED
 */
import { Timestamp } from "mongodb";

/** Whole seconds are compared: the second between the two bounds is what that may be off by. */
const TRUSTED_SECONDS = 10;
export const KEPT_SECONDS = TRUSTED_SECONDS + 1;

/** The server puts its present time in its place. */
export const STAMP = new Timestamp({ t: 0, i: 0 });

/** Whether what was answered at `at` may count on an end that was not there before `since`. */
export function isTrusted(since: Timestamp | undefined, at: Timestamp | undefined): boolean {
  return since !== undefined && at !== undefined && at.t - since.t < TRUSTED_SECONDS;
}

/** Events that were stamped before this time have kept their places for long enough at `now`. */
export function freeBefore(now: Timestamp): Timestamp {
  return new Timestamp({ t: Math.max(0, now.t - KEPT_SECONDS), i: 0 });
}

export function laterOf(a: Timestamp | undefined, b: Timestamp | undefined): Timestamp | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.compare(b) >= 0 ? a : b;
}
