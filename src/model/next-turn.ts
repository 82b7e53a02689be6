import { setImmediate } from "node:timers/promises";

/**
 * Ends this turn of the event loop; what is awaited goes on in the next. Stores that read in this process answer at once, and
 * promises that are ready let nobody in between: whoever works on much, page after page, awaits this now and then, so that
 * sockets, timers and beats have their turn.
 */
export function nextTurn(): Promise<void> {
  return setImmediate();
}
