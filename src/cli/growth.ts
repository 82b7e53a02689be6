/** How far a file is that somebody else writes, and who does not say it. */
import { stat } from "node:fs/promises";
import { pause, systemClock } from "../model/clock.js";

const LOOK_MS = 100;

/** Tells `onSize` how large it is, again and again, until `signal` aborts. A file that is not there yet has no size. */
export async function watchGrowth(
  path: string,
  onSize: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const there = await stat(path).catch(() => undefined);
    if (there !== undefined && !signal.aborted) onSize(there.size);
    await pause(systemClock, LOOK_MS, signal);
  }
}
