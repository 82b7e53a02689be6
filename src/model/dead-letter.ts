/** An event that a group gave up, as it stands in `dlq.<topic>` (P8): the payload of its one copy there. */
import type { EventRecord } from "./event.js";

/** The payload of an event in `dlq.<topic>`: the event that was given up, why, and by which group (P8). */
export interface DeadLetter {
  readonly origin: {
    readonly topic: string;
    readonly partition: number;
    readonly seq: number;
    readonly id: string;
    readonly group: string;
  };
  readonly error: {
    readonly message: string;
    readonly name?: string;
    readonly code?: string;
    readonly stack?: string;
  };
  readonly attempts: number;
  /** Of a group that holds keys: where the event stands among those of its key; `waiting`: it only follows another. */
  readonly hold?: { readonly root: number; readonly waiting: boolean };
  /** The event as it was delivered. */
  readonly event: EventRecord;
  /**
   * The letter would have been larger than the store takes: payload (null here), headers, tags and causes of the event
   * stand in the log alone, at `origin`, as long as it keeps them.
   */
  readonly incomplete?: true;
}
