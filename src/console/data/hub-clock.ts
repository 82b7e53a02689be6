/**
 * How far the hub's clock is ahead of the browser's. What is told of events is told by the hub's: in a browser whose clock
 * is an hour wrong, what was just published is not "in 1 h".
 */
import { signal } from "@preact/signals";

/** Below this it may be the line, or the answer's date, which knows only whole seconds. */
const SAME_MS = 5_000;

export const hubAheadMs = signal(0);

/** `date` as an answer of the hub has it. */
export function noteHubDate(date: string | null): void {
  const hubMs = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(hubMs)) return;
  const aheadMs = hubMs - Date.now();
  const told = Math.abs(aheadMs) < SAME_MS ? 0 : aheadMs;
  // It is never the same twice: only what makes a difference to somebody who reads it changes anything.
  if (Math.abs(told - hubAheadMs.peek()) >= SAME_MS) hubAheadMs.value = told;
}
