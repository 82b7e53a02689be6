/** Events that the hub leased to this client: each runs its handler and is settled by how that ends. */

import { type ClientFrame, type EventFrame, type EventsFrame, MAX_EXTEND_MS } from "../hub/protocol.js";
import { type CancelTimer, systemClock } from "../model/clock.js";
import { BusError, describeThrown } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import { Numbered } from "../model/numbered.js";
import { leftOutText, type Seldom } from "../model/seldom.js";
import { eventInWords } from "../model/told-tries.js";
import type { Leased, LeaseMark } from "./ack-run.js";
import type { ClientTrouble } from "./client-options.js";
import { eventAt } from "./runs.js";

export type DeliveringFrame = EventFrame | EventsFrame;

/** What a handler of a client is told of its event, and how it settles it. */
export interface ClientContext {
  /** 1 at first; more means that it may have been seen before (P5). */
  readonly attempt: number;
  /** After so many it is a dead letter. */
  readonly maxAttempts: number;
  /** Aborts when the connection is lost or the deadline passes: what is done after that does not count. */
  readonly signal: AbortSignal;
  /** Moves the deadline to `ms` from now, an hour at most. */
  extend(ms: number): void;
  ack(): void;
  nack(reason?: string): void;
}

/** Handles one event. Returning acks it, throwing asks for another try. */
export type ClientHandler<T = unknown> = (event: EventRecord<T>, ctx: ClientContext) => unknown;

/** What is said of deliveries to the hub. */
export interface DeliveryLine {
  ack(leased: Leased, mark: LeaseMark): void;
  send(frame: ClientFrame): void;
}

/** Whose events they are, until it leaves. */
export interface Subscriber {
  readonly handler: ClientHandler;
  readonly manualAck: boolean;
  /** Its events have a last try. */
  readonly givesUp: boolean;
  readonly left: boolean;
}

/** What one connection has leased out to handlers; it ends with the connection. */
export class Deliveries {
  readonly line: DeliveryLine;
  /** Those that are not settled when their handler returns. */
  readonly #open = new Numbered<Delivery>();
  #count = 0;
  /** Its handler runs. */
  #running: Delivery | null = null;
  #ended = false;
  readonly #tell: (trouble: ClientTrouble) => void;
  readonly #toldOfTries: Seldom;

  /** `toldOfTries`: of which groups a failed try was told, on this connection or an earlier one. */
  constructor(line: DeliveryLine, tell: (trouble: ClientTrouble) => void, toldOfTries: Seldom) {
    this.line = line;
    this.#tell = tell;
    this.#toldOfTries = toldOfTries;
  }

  runAll(frame: DeliveringFrame, subscriber: Subscriber): void {
    const arrival = new Arrival(this, frame);
    if (frame.type === "EVENT") {
      const event = frame.event as EventRecord;
      this.#run(event, new Delivery(arrival, event.id), subscriber);
      return;
    }
    const count = frame.ids.length;
    // A handler may leave, or close the client: what it has not seen by then goes back.
    for (let n = 0; n < count && !subscriber.left && !this.#ended; n++) {
      this.#run(eventAt(frame, n), new Delivery(arrival, frame.lease + n), subscriber);
    }
  }

  /** The connection is gone: what handlers do from now on does not count. */
  end(): void {
    this.#ended = true;
    this.#running?.end();
    for (const delivery of this.#open.takeAll()) delivery.end();
  }

  settled(delivery: Delivery): void {
    if (delivery.number > 0) this.#open.take(delivery.number);
  }

  #run(event: EventRecord, delivery: Delivery, subscriber: Subscriber): void {
    this.#running = delivery;
    try {
      const result = subscriber.handler(event, delivery);
      if (isThenable(result)) void this.#wait(result, event, delivery, subscriber);
      else if (!subscriber.manualAck) delivery.ack();
    } catch (thrown) {
      this.#failed(event, delivery, subscriber, thrown);
    }
    this.#running = null;
    if (!delivery.isDone) this.#keepOpen(delivery);
  }

  #keepOpen(delivery: Delivery): void {
    delivery.number = ++this.#count;
    this.#open.add(delivery.number, delivery);
  }

  async #wait(
    result: PromiseLike<unknown>,
    event: EventRecord,
    delivery: Delivery,
    subscriber: Subscriber,
  ): Promise<void> {
    try {
      await result;
      if (!subscriber.manualAck) delivery.ack();
    } catch (thrown) {
      this.#failed(event, delivery, subscriber, thrown);
    }
  }

  /**
   * Of each group few failed tries are told. The last one is: there may be no other, and nobody would hear of it here. What was
   * settled before, or went back to the hub with its connection, was no try that failed.
   */
  #failed(event: EventRecord, delivery: Delivery, { givesUp }: Subscriber, thrown: unknown): void {
    if (delivery.isDone) return;
    const reason = describeThrown(thrown);
    delivery.nack(reason);
    const { group, tries, maxAttempts } = delivery;
    const isLast = givesUp && tries >= maxAttempts;
    const leftOut = isLast ? 0 : this.#toldOfTries.admit(group, systemClock.steady());
    if (leftOut === null) return;
    const { id, topic, key } = event;
    const named = eventInWords(id, key, topic);
    const which = `try ${tries}${givesUp ? ` of ${maxAttempts}` : ""}`;
    const next = isLast ? "" : `; the hub sends it again after a wait${leftOutText(leftOut)}`;
    const error = new BusError("HANDLER_FAILED", `${group} failed on ${named}, ${which}: ${reason}${next}`, {
      cause: thrown,
    });
    this.#tell({ error, topic, group, ...(isLast && { givenUp: true }) });
  }
}

/** What events that came in one frame have in common. */
class Arrival implements Leased {
  readonly deliveries: Deliveries;
  readonly topic: string;
  readonly group: string;
  readonly attempt: number;
  readonly tries: number;
  readonly epoch: number;
  readonly maxAttempts: number;
  readonly deadlineMs: number;

  constructor(deliveries: Deliveries, { subscription, topic, group, ctx }: DeliveringFrame) {
    this.deliveries = deliveries;
    this.topic = subscription ?? topic;
    this.group = group;
    this.attempt = ctx.attempt;
    this.tries = ctx.try ?? ctx.attempt;
    this.epoch = ctx.epoch;
    this.maxAttempts = ctx.max_attempts;
    this.deadlineMs = Date.now() + ctx.ack_deadline_ms;
  }
}

/** Its signal and timer are made only for handlers that look at it: most do not, and there are many of them. */
class Delivery implements ClientContext {
  /** Of this connection's deliveries, once its handler has returned without settling it. */
  number = 0;
  readonly #arrival: Arrival;
  readonly #mark: LeaseMark;
  #over: AbortController | null = null;
  #cancelTimer: CancelTimer = ignore;
  #extendedMs: number | undefined;
  #isDone = false;

  constructor(arrival: Arrival, mark: LeaseMark) {
    this.#arrival = arrival;
    this.#mark = mark;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  get group(): string {
    return this.#arrival.group;
  }

  get attempt(): number {
    return this.#arrival.attempt;
  }

  /** Of those that count. */
  get tries(): number {
    return this.#arrival.tries;
  }

  get maxAttempts(): number {
    return this.#arrival.maxAttempts;
  }

  get signal(): AbortSignal {
    if (this.#over === null) {
      this.#over = new AbortController();
      if (this.#isDone) this.#over.abort();
      else this.#watch();
    }
    return this.#over.signal;
  }

  ack(): void {
    if (this.#finish()) this.#arrival.deliveries.line.ack(this.#arrival, this.#mark);
  }

  nack(reason?: string): void {
    if (!this.#finish()) return;
    this.#say({ type: "NACK", ...this.#lease(), ...(reason !== undefined && { reason }) });
  }

  extend(ms: number): void {
    if (!(ms > 0 && ms <= MAX_EXTEND_MS))
      throw new BusError("INVALID_OPTION", `extend takes milliseconds above 0, ${MAX_EXTEND_MS} at most`);
    if (this.#isDone || this.#over?.signal.aborted) return;
    this.#extendedMs = Date.now() + ms;
    if (this.#over !== null) this.#watch();
    this.#say({ type: "MODACK", ...this.#lease(), extend_ms: ms });
  }

  /** Without a word to the hub: it knows, or will find out. */
  end(): void {
    this.#isDone = true;
    this.#cancelTimer();
    this.#over?.abort();
  }

  #watch(): void {
    this.#cancelTimer();
    const leftMs = (this.#extendedMs ?? this.#arrival.deadlineMs) - Date.now();
    this.#cancelTimer = systemClock.setTimer(Math.max(0, leftMs), () => this.#over?.abort());
  }

  /** Whether the hub should hear of it: past its deadline it has taken the event back, and would only refuse. */
  #finish(): boolean {
    if (this.#isDone) return false;
    this.#isDone = true;
    this.#cancelTimer();
    this.#arrival.deliveries.settled(this);
    return this.#over === null || !this.#over.signal.aborted;
  }

  #say(frame: ClientFrame): void {
    this.#arrival.deliveries.line.send(frame);
  }

  #lease() {
    const { topic, group, attempt, epoch } = this.#arrival;
    const mark = this.#mark;
    if (typeof mark === "number") return { topic, group, lease: mark };
    return { topic, group, id: mark, attempt, epoch };
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}

function ignore(): void {}
