/** Keeps work at a pace. */
import { type Clock, pause } from "../model/clock.js";

/** How far behind its pace work may be and still catch up: timers are never quite in time. */
const CATCH_UP_MS = 100;

/**
 * To be called after each piece of work: waits until `rate` pieces a second are not exceeded. Work that had to wait for
 * something else goes on at the same pace.
 */
export function pacer(
  clock: Clock,
  rate: number | undefined,
  signal: AbortSignal,
): (pieces: number) => Promise<void> {
  let dueMs = clock.steady();
  return async (pieces) => {
    if (rate === undefined) return;
    dueMs = Math.max(dueMs, clock.steady() - CATCH_UP_MS) + (pieces / rate) * 1_000;
    const aheadMs = dueMs - clock.steady();
    if (aheadMs > 0) await pause(clock, aheadMs, signal);
  };
}
