/** What can happen to a delivery, and what it asks to be done. See delivery.ts. */
import type { Seq, StoredEvent } from "../model/event.js";
import type { Cursor } from "../ports/groups.js";
import type { Delivery, GroupPolicy } from "./delivery-state.js";
import type { Entry, HandlingPolicy } from "./entry.js";

/** One attempt to handle an event. */
export interface Attempted {
  readonly entry: Entry;
  readonly attempt: number;
}

export type DeliveryEvent =
  /** A page of the log: all there is in (high, through]. `atHead`: nothing more for now. `isNear`: it was at hand. */
  | {
      readonly type: "arrived";
      readonly events: readonly StoredEvent[];
      readonly through: Seq;
      readonly atHead: boolean;
      readonly isNear?: boolean;
      readonly nowMs: number;
    }
  /** The read asked for could not be done; ask again. */
  | { readonly type: "unread" }
  /** The log may have grown. */
  | { readonly type: "grew" }
  /** A subscriber has room for this many. `batch`: they travel together. */
  | {
      readonly type: "demand";
      readonly count: number;
      readonly batch: boolean;
      readonly handling: HandlingPolicy;
      readonly nowMs: number;
    }
  /** Each in the attempt that it names. */
  | { readonly type: "handled"; readonly deliveries: readonly Attempted[]; readonly nowMs: number }
  | {
      readonly type: "failed";
      readonly entry: Entry;
      readonly attempt: number;
      readonly error: string;
      readonly detail?: unknown;
      /** No retry: bury it now. */
      readonly fatal: boolean;
      /** False if this event is not known to be at fault (its batch failed, its subscriber left). */
      readonly counts: boolean;
      readonly random: number;
      readonly nowMs: number;
    }
  | {
      readonly type: "extended";
      readonly entry: Entry;
      readonly attempt: number;
      readonly deadlineMs: number;
    }
  | { readonly type: "buried"; readonly entry: Entry; readonly nowMs: number }
  /** `tookMs`: how long the store took to write it. */
  | {
      readonly type: "committed";
      readonly cursor: Cursor;
      readonly nowMs: number;
      readonly tookMs?: number;
    }
  /** Their commit is under way: those behind them in their lanes may go out, to be ready when it is through. */
  | { readonly type: "passing"; readonly entries: readonly Entry[]; readonly nowMs: number }
  /** From now on a transaction decides what the cursor becomes. Meanwhile no deadline runs for what it settles. */
  | { readonly type: "hold"; readonly entries: readonly Entry[] }
  /** It is over; with the cursor it wrote, if it did. */
  | { readonly type: "unhold"; readonly cursor?: Cursor; readonly nowMs: number }
  | { readonly type: "tick"; readonly random: number; readonly nowMs: number }
  | { readonly type: "stop" }
  /** Do not wait for what is still running. */
  | { readonly type: "halt" }
  | { readonly type: "released" }
  | { readonly type: "fenced" };

export type Effect =
  | { readonly type: "fetch"; readonly after: Seq }
  /** Each in the attempt that its entry counts now. */
  | { readonly type: "deliver"; readonly entries: readonly Entry[] }
  /** The handler's lease on this event is gone. */
  | { readonly type: "abort"; readonly entry: Entry; readonly why: "deadline" | "lost" }
  | {
      readonly type: "bury";
      readonly entry: Entry;
      readonly event: StoredEvent;
      readonly attempts: number;
      readonly error: string;
      /** Under a policy that holds keys: where the event stands among those of its key, and whether it was never tried. */
      readonly hold?: { readonly root: Seq; readonly waiting: boolean };
    }
  | { readonly type: "commit"; readonly cursor: Cursor }
  | { readonly type: "wake"; readonly atMs: number }
  | { readonly type: "release"; readonly cursor: Cursor }
  | { readonly type: "stopped" };

/** The whole of delivery; replaceable as one piece. */
export type Step = (state: Delivery, event: DeliveryEvent, policy: GroupPolicy) => readonly Effect[];

/** The event of this type. */
export type Of<T extends DeliveryEvent["type"]> = Extract<DeliveryEvent, { type: T }>;

export const NOTHING: readonly Effect[] = [];

/** One after the other. Nearly always one of them is empty, and nothing is made then. */
export function both(first: readonly Effect[], second: readonly Effect[]): readonly Effect[] {
  if (first.length === 0) return second;
  return second.length === 0 ? first : [...first, ...second];
}

export function pushAll(effects: Effect[], more: readonly Effect[]): void {
  for (const effect of more) effects.push(effect);
}
