/** Events that the hub leased to this client: each runs its handler and is settled by how that ends. */

import type { ClientFrame, EventFrame } from "../hub/protocol.js";
import { describeThrown } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import { Numbered } from "../model/numbered.js";

export interface ClientContext {
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Aborts when the connection is lost or the deadline passes: what is done after that does not count. */
  readonly signal: AbortSignal;
  /** Moves the deadline to `ms` from now. */
  extend(ms: number): void;
  ack(): void;
  nack(reason?: string): void;
}

export type ClientHandler<T = unknown> = (event: EventRecord<T>, ctx: ClientContext) => unknown;

/** What one connection has leased out to handlers; it ends with the connection. */
export class Deliveries {
  readonly #send: (frame: ClientFrame) => void;
  readonly #open = new Numbered<Delivery>();
  #count = 0;

  constructor(send: (frame: ClientFrame) => void) {
    this.#send = send;
  }

  run(
    frame: EventFrame & { readonly subscription?: string },
    handler: ClientHandler,
    manualAck: boolean,
  ): void {
    const delivery = new Delivery(++this.#count, frame, this.#settle);
    this.#open.add(delivery.number, delivery);
    try {
      const result = handler(frame.event as EventRecord, delivery);
      if (isThenable(result)) void this.#wait(result, delivery, manualAck);
      else if (!manualAck) delivery.ack();
    } catch (thrown) {
      delivery.nack(describeThrown(thrown));
    }
  }

  /** The connection is gone: what handlers do from now on does not count. */
  end(): void {
    for (const delivery of this.#open.takeAll()) delivery.end();
  }

  async #wait(result: PromiseLike<unknown>, delivery: Delivery, manualAck: boolean): Promise<void> {
    try {
      await result;
      if (!manualAck) delivery.ack();
    } catch (thrown) {
      delivery.nack(describeThrown(thrown));
    }
  }

  readonly #settle = (delivery: Delivery, frame: ClientFrame | null, final: boolean): void => {
    if (final) this.#open.take(delivery.number);
    if (frame !== null) this.#send(frame);
  };
}

/** Its signal and timer are made only for handlers that look at it: most do not, and there are many of them. */
class Delivery implements ClientContext {
  /** Of this connection's deliveries. */
  readonly number: number;
  readonly #frame: EventFrame & { readonly subscription?: string };
  readonly #settle: (delivery: Delivery, frame: ClientFrame | null, final: boolean) => void;
  #over: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #deadlineMs: number;
  #done = false;

  constructor(
    number: number,
    frame: EventFrame & { readonly subscription?: string },
    settle: (delivery: Delivery, frame: ClientFrame | null, final: boolean) => void,
  ) {
    this.number = number;
    this.#frame = frame;
    this.#settle = settle;
    this.#deadlineMs = Date.now() + frame.ctx.ack_deadline_ms;
  }

  get attempt(): number {
    return this.#frame.ctx.attempt;
  }

  get maxAttempts(): number {
    return this.#frame.ctx.max_attempts;
  }

  get signal(): AbortSignal {
    if (this.#over === null) {
      this.#over = new AbortController();
      if (this.#done) this.#over.abort();
      else this.#watch();
    }
    return this.#over.signal;
  }

  ack(): void {
    this.#finish({ type: "ACK", ...this.#lease() });
  }

  nack(reason?: string): void {
    this.#finish({ type: "NACK", ...this.#lease(), ...(reason !== undefined && { reason }) });
  }

  extend(ms: number): void {
    if (this.#done || this.#over?.signal.aborted) return;
    this.#deadlineMs = Date.now() + ms;
    if (this.#over !== null) this.#watch();
    this.#settle(this, { type: "MODACK", ...this.#lease(), extend_ms: ms }, false);
  }

  /** Without a word to the hub: it knows, or will find out. */
  end(): void {
    this.#done = true;
    clearTimeout(this.#timer);
    this.#over?.abort();
  }

  #watch(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#over?.abort(), Math.max(0, this.#deadlineMs - Date.now()));
  }

  #finish(frame: ClientFrame): void {
    if (this.#done) return;
    this.#done = true;
    clearTimeout(this.#timer);
    // Past its deadline the hub has taken it back; saying so would only be refused.
    this.#settle(this, this.#over?.signal.aborted ? null : frame, true);
  }

  #lease() {
    const { subscription, topic, group, event, ctx } = this.#frame;
    const { id } = event as EventRecord;
    return { topic: subscription ?? topic, group, id, attempt: ctx.attempt, epoch: ctx.epoch };
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}
