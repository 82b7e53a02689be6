/** An event that a group gave up, as it stands in `dlq.<topic>` (P8): the payload of its one copy there. */
import type { EventRecord } from "./event.js";

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
  /** The event as it was delivered. */
  readonly event: EventRecord;
}
