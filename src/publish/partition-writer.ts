/**
 * Natural group commit for one partition: while one append is under way the next events gather, and go together when
 * it ends. No timer, no added delay; order of publish is order of append, and of the answers.
 *
 * The store is not to wait for the publishers of the append before: if as many wait again, they are sent off first, and
 * their own drafts were made ready while that append was under way.
 *
 * An append whose outcome is unknown is repeated with the same ids until it is known or time is up (P1, P3).
 */

import { chunkEnd } from "../model/chunk-end.js";
import { type Clock, pause, recentMs } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import { type Seq, type StoredEvent, saysTheSame } from "../model/event.js";
import type { Limits } from "../model/limits.js";
import { listOfOne } from "../model/list-of-one.js";
import { backoffMs, type RetryPolicy } from "../model/retry.js";
import type { AppendResult, Log } from "../ports/log.js";
import type { Draft, Waiter } from "./draft.js";
import { afterCalls, afterTurn, noteManyAnswered, wereManyAnswered } from "./turns.js";

/** So many answers, and what their publishers do next, take longer than it takes to send the next batch. */
const MANY = 16;

export interface WriterOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly retry: RetryPolicy;
  /** How long after its publish an event is tried before its caller is told. */
  readonly giveUpAfterMs: number;
  /** Aborts when the bus closes: no more waiting between tries. */
  readonly signal: AbortSignal;
  /** Newly appended events, in log order, and how long the append took. */
  readonly onAppended: (events: readonly StoredEvent[], durationMs: number) => void;
  /** The log has grown to `head`, as the store said while an append was under way. */
  readonly onHeard: (topic: string, partition: number, head: Seq) => void;
  /** Events and bytes left the queue. */
  readonly onDequeued: (events: number, bytes: number) => void;
}

export class PartitionWriter {
  readonly #topic: string;
  readonly #partition: number;
  readonly #options: WriterOptions;
  #queue: Draft[] = [];
  #busy = false;
  /** Who waits for it to be idle. */
  #whenIdle: (() => void)[] = [];
  /** The batch that is being appended, and since when, on the steady clock. */
  #batch: Draft[] = [];
  #triedMs = 0;
  #appending = false;
  /** An append that is over, and whose publishers are told once the next one is on its way. */
  #unanswered: { readonly batch: readonly Draft[]; readonly result: AppendResult } | undefined;
  /** Head of the log that was heard of while an append was under way. */
  #heard: Seq = 0;

  constructor(topic: string, partition: number, options: WriterOptions) {
    this.#topic = topic;
    this.#partition = partition;
    this.#options = options;
  }

  add(draft: Draft, waiter: Waiter): void {
    draft.waiter = waiter;
    draft.addedMs = recentMs(this.#options.clock);
    if (this.#queue.length === 0) this.#queue = listOfOne(draft);
    else this.#queue.push(draft);
    if (this.#busy) {
      const { length } = this.#queue;
      if (this.#appending && length <= this.#options.limits.maxBatchEvents) this.#prepare(length - 1);
      return;
    }
    this.#busy = true;
    if (wereManyAnswered()) afterTurn(this.#next);
    else if (waiter.isAlone === true) this.#next(true);
    else afterCalls(this.#next);
  }

  /** Undefined if nothing was done. */
  #appendNow(batch: readonly Draft[]): AppendResult | undefined {
    const { log, clock } = this.#options;
    if (log.appendNow === undefined) return undefined;
    this.#triedMs = clock.steady();
    // The store tells of the growth before it returns.
    this.#appending = true;
    try {
      return log.appendNow(this.#topic, this.#partition, batch);
    } catch (error) {
      return nothingAppended(error);
    } finally {
      this.#appending = false;
    }
  }

  /** The time of an append under way is used for those that go with the next one, and for no more than these. */
  #prepare(index: number): void {
    try {
      this.#options.log.prepare?.(this.#queue[index] as Draft, this.#topic, this.#queue[index - 1]);
    } catch {
      // It is queued, and its append will say what is wrong.
    }
  }

  /** Those that waited before it was under way. */
  readonly #prepareWaiting = (): void => {
    if (!this.#appending) return;
    const count = Math.min(this.#queue.length, this.#options.limits.maxBatchEvents);
    for (let i = 0; i < count; i++) this.#prepare(i);
  };

  /**
   * The store says the log has grown to `head`. True while an append of ours is under way: most likely it is that one,
   * whose events need not be read back; whatever it is, it is told once the append is over.
   */
  hear(head: Seq): boolean {
    if (this.#appending && head > this.#heard) this.#heard = head;
    return this.#appending;
  }

  /** Resolves when nothing is queued or under way. */
  async drained(): Promise<void> {
    while (this.#busy) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  // Among a thousand partitions each event is a batch: the good path is made of callbacks that exist once, not of
  // functions that wait.

  /** `isAlone`: no other partition has anything to append now, so that nothing is to go together. */
  readonly #next = (isAlone: boolean): void => {
    if (this.#queue.length > 0) {
      this.#batch = this.#takeBatch();
      const done = isAlone && this.#batch.length < MANY ? this.#appendNow(this.#batch) : undefined;
      if (done !== undefined) this.#appended(done);
      else {
        this.#append(this.#batch).then(this.#appended, this.#failed);
        // Once it was sent.
        if (this.#queue.length > 0 && this.#options.log.prepare !== undefined)
          afterTurn(this.#prepareWaiting);
      }
      return;
    }
    this.#busy = false;
    const idle = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of idle) resolve();
  };

  #append(batch: readonly Draft[]): Promise<AppendResult> {
    this.#triedMs = this.#options.clock.steady();
    this.#appending = true;
    try {
      return this.#options.log.append(this.#topic, this.#partition, batch);
    } catch (error) {
      // A driver that is not made of async functions.
      return Promise.reject(error);
    }
  }

  readonly #appended = (result: AppendResult): void => {
    this.#answer();
    const rest = this.#take(this.#batch, result);
    this.#unanswered = { batch: this.#batch, result };
    if (rest.length === 0) this.#goOn();
    else {
      this.#answer();
      void this.#insist(rest, result).then(this.#goOn);
    }
  };

  readonly #failed = (error: unknown): void => this.#appended(nothingAppended(error));

  /**
   * Those who are answered now publish their next ones in this turn: together they make one batch, not two. When as many
   * wait already, the store need not wait for that: the answers to many come when the next batch is on its way.
   */
  readonly #goOn = (): void => {
    const count = this.#batch.length;
    const enough = this.#queue.length >= count;
    this.#batch = [];
    if (!enough || count < MANY) this.#answer();
    if (!enough) afterTurn(this.#next);
    else {
      this.#next(false);
      if (this.#unanswered !== undefined) afterTurn(this.#answer);
    }
  };

  /** An append is over: its news is told; returns those that are not in the log. */
  #take(batch: Draft[], result: AppendResult): Draft[] {
    this.#appending = false;
    const rest = this.#settle(batch, result, this.#options.clock.steady() - this.#triedMs);
    this.#tellHeard();
    return rest;
  }

  #takeBatch(): Draft[] {
    const { maxBatchEvents, maxBatchBytes } = this.#options.limits;
    const bounds = { items: maxBatchEvents, bytes: maxBatchBytes };
    const count = chunkEnd(this.#queue, 0, bounds, ({ bytes }) => bytes);
    if (count === this.#queue.length) {
      const all = this.#queue;
      this.#queue = [];
      return all;
    }
    return this.#queue.splice(0, count);
  }

  /** Tries again until all are in the log, or there is no hope, or time is up. */
  async #insist(unsettled: Draft[], first: AppendResult, wasUncertain = false): Promise<void> {
    const { clock, retry, giveUpAfterMs, signal } = this.#options;
    let rest = unsettled;
    let result = first;
    let uncertain = wasUncertain;
    for (let failures = 0; ; ) {
      if (result.events.length > 0) failures = 0;
      const error =
        result.error ??
        new BusError("INTERNAL", "the store stopped in the middle of an append without a reason");
      uncertain ||= error.code === "OUTCOME_UNKNOWN";
      if (rest.length > 1 && MAY_MEAN_ONE.has(error.code) && !signal.aborted) {
        await this.#oneByOne(rest, uncertain);
        return;
      }
      const hopeless = !error.retryable || signal.aborted;
      const late = hopeless ? rest.length : countLate(rest, clock.steady() - giveUpAfterMs);
      this.#failAll(rest.slice(0, late), uncertain ? outcomeUnknown(error) : error);
      rest = rest.slice(late);
      if (rest.length === 0) return;
      rest = rest.map(again);
      await pause(clock, backoffMs(retry, ++failures, clock.random()), signal);
      result = await this.#append(rest).catch(nothingAppended);
      const tried = rest;
      rest = this.#take(tried, result);
      this.#answerAll(tried, result);
      if (rest.length === 0) return;
    }
  }

  /** What the store will not have of one event is no fault of those that go with it. */
  async #oneByOne(drafts: readonly Draft[], uncertain: boolean): Promise<void> {
    for (const draft of drafts) {
      const alone = [again(draft)];
      const result = await this.#append(alone).catch(nothingAppended);
      const rest = this.#take(alone, result);
      this.#answerAll(alone, result);
      if (rest.length > 0) await this.#insist(rest, result, uncertain);
    }
  }

  #tellHeard(): void {
    if (this.#heard === 0) return;
    const head = this.#heard;
    this.#heard = 0;
    this.#options.onHeard(this.#topic, this.#partition, head);
  }

  /** Tells of those that are in the log, and returns the others. */
  #settle(batch: Draft[], { events, duplicates }: AppendResult, durationMs: number): Draft[] {
    if (events.length > 0) {
      // Those who wait for growth hear first: delivery does not depend on what a publisher does next.
      const added = duplicates.size === 0 ? events : events.filter((_, i) => !wasThere(i, batch, duplicates));
      this.#options.onAppended(added, durationMs);
      this.#dequeue(batch, events.length);
    }
    return events.length === batch.length ? [] : batch.slice(events.length);
  }

  /** The first `count` of a batch have left the queue. */
  #dequeue(batch: readonly Draft[], count: number): void {
    let bytes = 0;
    for (let i = 0; i < count; i++) bytes += (batch[i] as Draft).bytes;
    this.#options.onDequeued(count, bytes);
  }

  /** Answers the publishers of an append that is over, those who were not answered yet. */
  readonly #answer = (): void => {
    if (this.#unanswered === undefined) return;
    const { batch, result } = this.#unanswered;
    this.#unanswered = undefined;
    this.#answerAll(batch, result);
  };

  #answerAll(batch: readonly Draft[], { events, duplicates }: AppendResult): void {
    if (events.length >= MANY) noteManyAnswered();
    for (let i = 0; i < events.length; i++) {
      const draft = batch[i] as Draft;
      const event = events[i] as StoredEvent;
      const found = wasThere(i, batch, duplicates);
      if (found && !saysTheSame(event, this.#topic, draft)) draft.waiter.fail(idConflict(event));
      else draft.waiter.done(event, found);
    }
  }

  #failAll(batch: readonly Draft[], error: BusError): void {
    this.#dequeue(batch, batch.length);
    for (const { waiter, id } of batch) waiter.fail(withId(error, id));
  }
}

/** What ends an append of many may be about one of them. */
const MAY_MEAN_ONE: ReadonlySet<string> = new Set(["PAYLOAD_TOO_LARGE", "INVALID_PAYLOAD", "INTERNAL"]);

function again(draft: Draft): Draft {
  return draft.freshId ? draft.again() : draft;
}

function nothingAppended(error: unknown): AppendResult {
  return { events: [], duplicates: NO_DUPLICATES, error: BusError.from(error, "STORE_UNAVAILABLE") };
}

/** Whether somebody had published it before. What a try of ours had added, unheard, is found by its id and new all the same. */
function wasThere(i: number, batch: readonly Draft[], duplicates: ReadonlySet<number>): boolean {
  return duplicates.has(i) && !(batch[i] as Draft).ownId;
}

const NO_DUPLICATES: ReadonlySet<number> = new Set();

/** How many were published before `beforeMs` or then; they are in the order of their publishes. */
function countLate(batch: readonly Draft[], beforeMs: number): number {
  const good = batch.findIndex(({ addedMs }) => addedMs > beforeMs);
  return good < 0 ? batch.length : good;
}

/**
 * Ids are unique in a store, and whoever meets one that is taken may not be allowed to know of the topic in which it is: that
 * stands in the details alone, which a hub hands on to nobody.
 */
function idConflict({ id, topic, partition, seq }: StoredEvent): BusError {
  return new BusError("ID_CONFLICT", `event ${id} exists with another topic, key or payload`, {
    details: { id, topic, partition, seq },
  });
}

/** A later try that surely failed says nothing about an earlier one. */
function outcomeUnknown(error: BusError): BusError {
  if (error.code === "OUTCOME_UNKNOWN") return error;
  return new BusError(
    "OUTCOME_UNKNOWN",
    `an earlier try may have been stored; the last one failed: ${error.message}`,
    {
      cause: error,
    },
  );
}

/** The same error with the id under which a retry is harmless. */
function withId(error: BusError, id: string): BusError {
  return new BusError(error.code, error.message, {
    cause: error.cause ?? error,
    retryable: error.retryable,
    details: { ...error.details, id },
  });
}
