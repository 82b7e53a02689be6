/**
 * What happened in a run, in the order in which it happened: what producers asked and heard, what handlers were handed
 * and what became of it, what took effect in the store, and what was found at the end. The recorder judges
 * nothing; checker.ts does.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../model/clock.js";
import type { Seq } from "../../model/event.js";
import type { JsonObject } from "../../model/json.js";
import type { Cursor, Epoch } from "../../ports/groups.js";

/** One partition of one topic as one group sees it. */
export interface GroupPlace {
  readonly group: string;
  readonly topic: string;
  readonly partition: number;
}

/** One event in the hands of one owner. */
export interface Handling extends GroupPlace {
  readonly member: string;
  readonly seq: Seq;
  readonly id: string;
  readonly epoch: Epoch;
  readonly attempt: number;
}

/** The `index`-th effect that `group`'s handler has for the event `source`. */
export interface EffectOrigin {
  readonly group: string;
  readonly source: string;
  readonly index: number;
}

/** The event that a dead letter is a copy of. */
export interface DeadLetterOrigin {
  readonly group: string;
  readonly topic: string;
  readonly id: string;
}

/** An event as the log has it at the end. */
export interface LoggedEvent {
  readonly seq: Seq;
  readonly id: string;
  readonly key?: string;
  /** It is an effect of a handler. */
  readonly effect?: EffectOrigin;
  /** It is a dead letter. */
  readonly deadLetter?: DeadLetterOrigin;
}

export type ProducerEvent =
  | {
      readonly type: "publish-asked";
      /** Ties the answer to the question. */
      readonly op: number;
      readonly producer: string;
      readonly topic: string;
      readonly id: string;
      readonly key?: string;
    }
  | {
      readonly type: "publish-ok";
      readonly op: number;
      readonly partition: number;
      readonly seq: Seq;
      readonly duplicate: boolean;
    }
  /** It is certain that nothing happened. */
  | { readonly type: "publish-failed"; readonly op: number; readonly code: string }
  | { readonly type: "publish-unknown"; readonly op: number; readonly code: string };

/** Somebody wants a topic gone; one that fails may have taken events away. */
export type RemoverEvent =
  | { readonly type: "removal-asked"; readonly op: number; readonly topic: string }
  | { readonly type: "removal-ok"; readonly op: number }
  | { readonly type: "removal-failed"; readonly op: number; readonly code: string };

export type HandlerEvent =
  | {
      readonly type: "subscribed";
      readonly group: string;
      readonly topic: string;
      readonly ordering: "key" | "partition" | "none";
      readonly maxAttempts: number;
    }
  /** `batch`: events with the same number were handed out together, in this order. */
  | (Handling & { readonly type: "delivered"; readonly key?: string; readonly batch?: number })
  | (Handling & { readonly type: "failed"; readonly reason: "threw" | "fatal" | "nacked" })
  /**
   * Projected: its effect goes into the same transaction as the cursor. `op`: it was asked for, and an `answered` may
   * follow; without it, it is certain.
   */
  | (Handling & {
      readonly type: "settled";
      readonly outcome: "acked" | "projected";
      readonly op?: number;
    })
  /** The group's filter refuses it, or its effect is in the same commit as the cursor: whoever owns it may pass it. */
  | (GroupPlace & { readonly type: "filtered" | "covered"; readonly seq: Seq; readonly id: string })
  | { readonly type: "answered"; readonly op: number; readonly ok: boolean; readonly code?: string };

/** Recorded when the store did it, whatever the caller heard. */
export type StoreEvent =
  | (GroupPlace & { readonly type: "started"; readonly floor: Seq })
  | (GroupPlace & {
      readonly type: "granted";
      readonly member: string;
      readonly epoch: Epoch;
      readonly cursor: Cursor;
    })
  | (GroupPlace & {
      readonly type: "committed";
      readonly epoch: Epoch;
      readonly cursor: Cursor;
      readonly released: boolean;
    })
  | (GroupPlace & { readonly type: "moved"; readonly cursor: Cursor })
  /** A copy of an event went into the dead-letter topic; `epoch` if the write was fenced. */
  | (GroupPlace & {
      readonly type: "dead-lettered";
      readonly seq: Seq;
      readonly id: string;
      readonly epoch?: Epoch;
    })
  /** The events up to `through` were to be taken away; all below `low` are gone. */
  | {
      readonly type: "trimmed";
      readonly topic: string;
      readonly partition: number;
      readonly through: Seq;
      readonly low: Seq;
    }
  /** The topic is gone; `events` of it were there still. */
  | { readonly type: "topic-removed"; readonly topic: string; readonly events: number };

export type LifeEvent =
  | { readonly type: "began"; readonly member: string }
  | { readonly type: "crashed"; readonly member: string }
  | { readonly type: "froze"; readonly member: string }
  | { readonly type: "thawed"; readonly member: string }
  | { readonly type: "left"; readonly member: string }
  | { readonly type: "faults-ended" }
  /** Every group has settled everything. */
  | { readonly type: "drained" }
  /** The run did not get there; `waiting` says for what. */
  | { readonly type: "stalled"; readonly waiting: string };

/** How things stood at the end. */
export type DumpEvent =
  | {
      readonly type: "log";
      readonly topic: string;
      readonly partition: number;
      readonly events: readonly LoggedEvent[];
    }
  | (GroupPlace & { readonly type: "cursor"; readonly epoch: Epoch; readonly cursor: Cursor })
  | {
      readonly type: "view";
      readonly view: string;
      readonly documents: Readonly<Record<string, JsonObject>>;
    };

/** One thing that happened in a run: a publish, a delivery, a write, a death, or a look at what is left. */
export type HistoryEvent = (
  | ProducerEvent
  | RemoverEvent
  | HandlerEvent
  | StoreEvent
  | LifeEvent
  | DumpEvent
) & {
  readonly atMs?: number;
};

/** Keeps a history, stamped by a clock. */
export class Recorder {
  readonly #clock: Clock;
  readonly #events: HistoryEvent[] = [];
  #ops = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get events(): readonly HistoryEvent[] {
    return this.#events;
  }

  record(event: HistoryEvent): void {
    this.#events.push({ atMs: this.#clock.now(), ...event });
  }

  /** A number that ties an answer to its question. */
  nextOp(): number {
    return ++this.#ops;
  }

  /** Equal for two runs that went the same way, event by event. */
  hash(): string {
    return historyHash(this.#events);
  }
}

/** Equal for equal histories. */
export function historyHash(events: readonly HistoryEvent[]): string {
  const hash = createHash("sha256");
  for (const event of events) hash.update(JSON.stringify(event)).update("\n");
  return hash.digest("hex");
}
