/** Keeps work at a pace. */
import { type Clock, pause } from "../model/clock.js";

/** To be called after each piece of work: waits until `rate` pieces a second are not exceeded, counted from now on. */
export function pacer(
  clock: Clock,
  rate: number | undefined,
  signal: AbortSignal,
): (pieces: number) => Promise<void> {
  const startMs = clock.steady();
  let done = 0;
  return async (pieces) => {
    if (rate === undefined) return;
    done += pieces;
    const aheadMs = startMs + (done / rate) * 1_000 - clock.steady();
    if (aheadMs > 0) await pause(clock, aheadMs, signal);
  };
}
