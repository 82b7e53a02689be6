/** What is told to those who listen to a bus, since nobody waits for it. */
import type { BusError } from "./errors.js";

/**
 * A failure that the bus gets over by itself, or something that it gave up, with what it is about. HANDLER_FAILED without `givenUp`
 * is a try that failed, with another to come.
 */
export interface Trouble {
  readonly error: BusError;
  readonly topic?: string;
  readonly group?: string;
  readonly partition?: number;
  /** Nothing is tried again by itself: the event is a dead letter now, or the entry of the outbox is dead. */
  readonly givenUp?: true;
}
