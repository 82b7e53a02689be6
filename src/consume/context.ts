/** What a handler is given besides the event, and how the shell learns that the event is settled. */

import { derivedId } from "../model/derived-id.js";
import { BusError } from "../model/errors.js";
import type { StoredEvent } from "../model/event.js";
import type {
  Ack,
  BatchContext,
  CursorPosition,
  DeliveryContext,
  PublishedRecord,
  PublishOptions,
} from "../model/event-bus.js";
import type { TopicRef } from "../model/topic.js";
import type { CursorWrite } from "../ports/groups.js";
import type { Entry } from "./entry.js";

export type Emit = <T>(
  topic: TopicRef<T>,
  payload: T,
  options: PublishOptions,
) => Promise<PublishedRecord<T>>;

/** The delivery that an event belongs to, as far as a context needs it. */
export interface Source {
  readonly topic: string;
  readonly group: string;
  readonly partition: number;
  readonly epoch: number;
  readonly position: CursorPosition;
  handled(delivery: Delivered): boolean;
  /** As `handled`, for many at once: those of them that were still leased. */
  handledAll(deliveries: readonly Delivered[]): readonly Delivered[];
  failed(delivery: Delivered, reason: Failed): boolean;
  extend(delivery: Delivered, ms: number): boolean;
  settleBy(
    deliveries: readonly Delivered[],
    commit: (write: CursorWrite) => Promise<void>,
    options?: { readonly early?: boolean },
  ): Promise<void>;
}

export interface Failed {
  readonly error: string;
  readonly detail?: unknown;
  readonly fatal?: boolean;
  readonly counts?: boolean;
}

/** Never added to. */
const NONE: (Delivered | null)[] = [];

/** What events that were handed out together have in common. */
export class HandOut {
  readonly source: Source;
  readonly maxAttempts: number;
  /** On the steady clock. */
  readonly startedMs: number;
  /** Given by whoever runs the handler. */
  emitBy: Emit | null = null;
  /** Called once for each, when its hand-out is over, however it ended. */
  onOver: ((delivery: Delivered) => void) | null = null;
  /** Where whoever runs the handlers keeps it, and those that are not over. */
  slot = -1;
  #open: (Delivered | null)[] = NONE;
  #left = 0;

  constructor(source: Source, maxAttempts: number, startedMs: number) {
    this.source = source;
    this.maxAttempts = maxAttempts;
    this.startedMs = startedMs;
  }

  /** From now on it knows which of these are not over. */
  keep(deliveries: readonly Delivered[]): void {
    this.#open = deliveries.slice();
    this.#left = deliveries.length;
    for (let i = 0; i < deliveries.length; i++) (deliveries[i] as Delivered).slot = i;
  }

  get open(): Delivered[] {
    return this.#open.filter((delivery) => delivery !== null);
  }

  /** True if it was the last one. One that is over is let go of, whatever becomes of the others. */
  letGo({ slot }: Delivered): boolean {
    this.#open[slot] = null;
    return --this.#left === 0;
  }
}

/** One hand-out of one event: the lease that an ack, nack or extension names. */
export class Delivered implements DeliveryContext {
  readonly handOut: HandOut;
  readonly entry: Entry;
  readonly event: StoredEvent;
  readonly attempt: number;
  /** Where its hand-out keeps it. */
  slot = -1;
  #isOver = false;
  #abort: AbortController | null = null;
  #aborted: BusError | null = null;
  #emitted = 0;

  constructor(handOut: HandOut, entry: Entry, event: StoredEvent) {
    this.handOut = handOut;
    this.entry = entry;
    this.event = event;
    this.attempt = entry.delivered;
  }

  get source(): Source {
    return this.handOut.source;
  }

  get maxAttempts(): number {
    return this.handOut.maxAttempts;
  }

  /** Still the present hand-out of its event: an ack of it would count. */
  get live(): boolean {
    return this.entry.standing === "in-flight" && this.entry.delivered === this.attempt;
  }

  /** Its event was settled in this hand-out. */
  get isSettled(): boolean {
    return this.entry.standing === "settled" && this.entry.delivered === this.attempt;
  }

  get topic(): string {
    return this.source.topic;
  }

  get group(): string {
    return this.source.group;
  }

  get cursor(): CursorPosition {
    return this.source.position;
  }

  get fence(): { partition: number; epoch: number } {
    return { partition: this.source.partition, epoch: this.source.epoch };
  }

  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      if (this.#aborted !== null) this.#abort.abort(this.#aborted);
    }
    return this.#abort.signal;
  }

  // The four verbs are getters so that a handler may take them out of the context: `async (e, { emit }) => …`.
  get emit(): DeliveryContext["emit"] {
    return (topic, payload, options = {}) => {
      const { emitBy } = this.handOut;
      if (emitBy === null) throw new BusError("INTERNAL", "nobody runs this delivery");
      const id = derivedId(this.source.group, this.event.id, this.#emitted++);
      return emitBy(topic, payload, { caused_by: [this.event.id], ...options, id });
    };
  }

  get extend(): DeliveryContext["extend"] {
    return (ms) => {
      if (!(Number.isFinite(ms) && ms > 0))
        throw new BusError("INVALID_OPTION", "extend takes milliseconds above 0");
      if (!this.source.extend(this, ms)) throw lost(this.event.id);
    };
  }

  get ack(): DeliveryContext["ack"] {
    return async () => (this.source.handled(this) ? { id: this.event.id, ok: true } : refusal(this.event.id));
  }

  get nack(): DeliveryContext["nack"] {
    return async (reason = "nacked") =>
      this.source.failed(this, { error: String(reason) })
        ? { id: this.event.id, ok: true }
        : refusal(this.event.id);
  }

  /** The lease is gone: whoever watches the signal stops. */
  revoke(why: "deadline" | "lost"): void {
    this.#aborted =
      why === "deadline"
        ? new BusError("ACK_TIMEOUT", `event ${this.event.id} was not acknowledged in time`)
        : lost(this.event.id);
    this.#abort?.abort(this.#aborted);
    this.over();
  }

  /** False if it was over before. */
  over(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.handOut.onOver?.(this);
    return true;
  }
}

/** The context of a batch: the signal of its first event (their leases come and go together). */
export class DeliveredBatch implements BatchContext {
  readonly #first: Delivered;
  readonly #all: readonly Delivered[];

  constructor(all: readonly Delivered[]) {
    this.#all = all;
    this.#first = all[0] as Delivered;
  }

  get topic(): string {
    return this.#first.topic;
  }

  get group(): string {
    return this.#first.group;
  }

  get maxAttempts(): number {
    return this.#first.maxAttempts;
  }

  get cursor(): CursorPosition {
    return this.#first.cursor;
  }

  get fence(): { partition: number; epoch: number } {
    return this.#first.fence;
  }

  get signal(): AbortSignal {
    return this.#first.signal;
  }

  get attempts(): readonly number[] {
    return this.#all.map(({ attempt }) => attempt);
  }

  get emitFor(): BatchContext["emitFor"] {
    return async (event, topic, payload, options) => {
      const delivery = this.#all.find((candidate) => candidate.event.id === event.id);
      if (delivery === undefined) throw new BusError("NOT_FOUND", `event ${event.id} is not in this batch`);
      return delivery.emit(topic, payload, options);
    };
  }

  /** The events are to be delivered again, through no fault of theirs. */
  giveBack(reason: string): void {
    for (const delivery of this.#all) delivery.source.failed(delivery, { error: reason, counts: false });
  }

  /** Settles the batch by a transaction that writes the given cursor and whatever belongs to it (P9). */
  settleBy(
    commit: (write: CursorWrite) => Promise<void>,
    options?: { readonly early?: boolean },
  ): Promise<void> {
    return this.#first.source.settleBy(this.#all, commit, options);
  }

  get extend(): BatchContext["extend"] {
    return (ms) => {
      for (const delivery of this.#all) delivery.extend(ms);
    };
  }
}

function lost(id: string): BusError {
  return new BusError(
    "LEASE_LOST",
    `event ${id} is no longer leased to this handler: its deadline passed or its partition moved`,
  );
}

export function refusal(id: string): Ack {
  return { id, ok: false, err: `LEASE_LOST: ${lost(id).message}` };
}
