/**
 * Publishing for a caller: rights and rates first, then the bus. Plain functions of texts and headers, so that any
 * listener can use them. Nothing is published unless the caller may publish all of it.
 */
import type { Bus } from "../../bus/bus.js";
import { addToList } from "../../model/add-to-list.js";
import { pause } from "../../model/clock.js";
import { BusError, type ErrorCode } from "../../model/errors.js";
import type {
  Place,
  PublishedRecord,
  PublishItem,
  PublishOptions,
  PublishWaiter,
} from "../../model/event-bus.js";
import { checkTopicName } from "../../model/topic.js";
import type { Caller } from "../auth/auth.js";
import type { HubContext } from "../context.js";
import { TokenBucket } from "../limits.js";
import { HubError, problemOf } from "../problem.js";
import { forbidden } from "./base.js";
import { parseText } from "./body.js";

/** Where an event stands now. */
export interface Placed {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly seq: number;
  readonly ts: number;
  readonly duplicate?: true;
}

export interface TopicItem {
  readonly topic: string;
  readonly item: PublishItem;
}

/** What the request's headers say about its events. */
export interface PublishHeaders {
  readonly idempotencyKey?: string | undefined;
  readonly traceparent?: string | undefined;
}

const MAX_BUCKETS = 10_000;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Lets a caller publish what it may, as fast as it may. */
export class PublishDesk {
  readonly bus: Bus;
  readonly #perSecond: number;
  /** By subject, then topic. */
  #buckets = new Map<string, Map<string, TokenBucket>>();
  #bucketCount = 0;

  constructor(hub: HubContext) {
    this.bus = hub.bus;
    this.#perSecond = hub.limits.publishesPerSecondPerTopic;
  }

  /** Throws INVALID_TOPIC or FORBIDDEN. */
  allow(caller: Caller, topic: unknown): asserts topic is string {
    checkTopicName(topic);
    if (!caller.acl.allows("publish", topic)) throw forbidden("publish", topic);
  }

  /** Throws RATE_LIMITED. */
  take(caller: Caller, topic: string, events: number): void {
    const waitMs = this.#waitMs(caller, topic, events);
    if (waitMs > 0) throw new HubError("RATE_LIMITED", `too fast for ${topic}`, { retryAfterMs: waitMs });
  }

  /** As `take`, for whoever sends more as it is read: keeps it waiting. What was read by the end of its time goes through. */
  async takeInTime(caller: Caller, topic: string, events: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      const waitMs = this.#waitMs(caller, topic, events);
      if (waitMs === 0 || signal.aborted) return;
      await pause(this.bus.clock, waitMs, signal);
    }
  }

  #waitMs(caller: Caller, topic: string, events: number): number {
    const nowMs = this.bus.clock.steady();
    const bucket =
      this.#buckets.get(caller.subject)?.get(topic) ?? this.#addBucket(caller.subject, topic, nowMs);
    // What is more than a burst can ever be counts as a whole burst.
    return bucket.take(Math.min(events, this.#perSecond * 2), nowMs);
  }

  #addBucket(subject: string, topic: string, nowMs: number): TokenBucket {
    if (++this.#bucketCount > MAX_BUCKETS) {
      this.#buckets = new Map();
      this.#bucketCount = 1;
    }
    const bucket = new TokenBucket(this.#perSecond, nowMs);
    const topics = this.#buckets.get(subject) ?? new Map<string, TokenBucket>();
    this.#buckets.set(subject, topics.set(topic, bucket));
    return bucket;
  }
}

/** A JSON body: one event, or an array of them. */
export async function publishText(
  desk: PublishDesk,
  caller: Caller,
  headers: PublishHeaders,
  text: string,
  topic?: string,
): Promise<Placed | Placed[]> {
  const value = parseText(text);
  if (!Array.isArray(value)) return publishOne(desk, caller, headers, topicItem(value, topic));
  return publishAll(desk, caller, headers, topicItems(value, topic));
}

export function publishOne(
  desk: PublishDesk,
  caller: Caller,
  headers: PublishHeaders,
  { topic, item }: TopicItem,
): Promise<Placed> {
  return new Promise((resolve, reject) => {
    submitOne(
      desk,
      caller,
      headers,
      { topic, item },
      {
        done: (place, duplicate) => resolve(placedAt(topic, place, duplicate)),
        fail: reject,
      },
    );
  });
}

/** As publishOne, without a promise. Throws what is wrong with the request; the bus's own faults go to the waiter. */
export function submitOne(
  desk: PublishDesk,
  caller: Caller,
  { idempotencyKey, traceparent }: PublishHeaders,
  { topic, item }: TopicItem,
  waiter: PublishWaiter,
  payloadText?: string,
): void {
  desk.allow(caller, topic);
  desk.take(caller, topic, 1);
  const { payload, ...options } = item;
  if (idempotencyKey !== undefined && options.id !== undefined && options.id !== idempotencyKey) {
    throw new HubError("BAD_REQUEST", "the event's id and the Idempotency-Key differ");
  }
  const named = idempotencyKey === undefined ? options : { ...options, id: idempotencyKey };
  desk.bus.submit(topic, payload, traced(named, traceparent), waiter, payloadText);
}

/** Events of any topics, each topic in its order. If some fail, the problem's `failed` says which. */
export async function publishAll(
  desk: PublishDesk,
  caller: Caller,
  headers: PublishHeaders,
  items: readonly TopicItem[],
): Promise<Placed[]> {
  if (headers.idempotencyKey !== undefined) {
    throw new HubError("BAD_REQUEST", "Idempotency-Key is for one event; give each its own id");
  }
  const byTopic = new Map<string, number[]>();
  items.forEach(({ topic }, index) => {
    ofOne(index, () => desk.allow(caller, topic));
    addToList(byTopic, topic, index);
  });
  for (const [topic, indexes] of byTopic) desk.take(caller, topic, indexes.length);
  const results = new Array<Placed>(items.length);
  const failures: Failure[] = [];
  await Promise.all(
    [...byTopic].map(async ([topic, indexes]) => {
      const own = indexes.map((index) => traced((items[index] as TopicItem).item, headers.traceparent));
      for (const [i, result] of (await publishTopic(desk.bus, topic, own)).entries()) {
        const index = indexes[i] as number;
        if (result instanceof Error) failures.push({ index, error: result });
        else if (result !== undefined) results[index] = placed(result);
      }
    }),
  );
  if (failures.length > 0) throw someFailed(items.length, failures);
  return results;
}

interface Failure {
  readonly index: number;
  readonly error: Error;
}

/** For each item the event, or why it is not there; undefined if it is there but others are not. */
async function publishTopic(
  bus: Bus,
  topic: string,
  items: readonly PublishItem[],
): Promise<(PublishedRecord | Error | undefined)[]> {
  try {
    return await bus.publishMany(topic, items);
  } catch (error) {
    const whole = BusError.from(error);
    const failed = whole.details?.failed as readonly { index: number; code: ErrorCode }[] | undefined;
    if (failed !== undefined) {
      const reason = BusError.from(whole.cause ?? whole);
      const results = new Array<Error | undefined>(items.length);
      for (const { index, code } of failed)
        results[index] = code === reason.code ? reason : new BusError(code, "not published");
      return results;
    }
    // Refused before anything was sent.
    return whole.retryable ? items.map(() => whole) : oneByOne(bus, topic, items);
  }
}

/** In order, up to the first that is refused: which one is wrong shows only so. */
async function oneByOne(
  bus: Bus,
  topic: string,
  items: readonly PublishItem[],
): Promise<(PublishedRecord | Error)[]> {
  const results: (PublishedRecord | Error)[] = [];
  for (const { payload, ...options } of items) {
    const refused = results.at(-1) instanceof Error;
    results.push(
      refused
        ? new BusError("ABORTED", "not tried: an earlier event of the same topic was refused")
        : await bus.publish(topic, payload, options).catch((error: unknown) => BusError.from(error)),
    );
  }
  return results;
}

function someFailed(count: number, failures: Failure[]): HubError {
  failures.sort((a, b) => a.index - b.index);
  const first = problemOf((failures[0] as Failure).error);
  const failed = failures.map(({ index, error }) => {
    const { code, detail } = problemOf(error);
    return { index, code, detail };
  });
  return new HubError(
    first.code,
    `${failures.length} of ${count} events were not published: ${first.detail}`,
    {
      details: { ...first, failed },
    },
  );
}

/** `named`: the topic of one that names none. */
export function topicItem(value: unknown, named?: string): TopicItem {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new HubError("BAD_REQUEST", "an event is an object: { topic, payload, key?, … }");
  if (!("payload" in value)) throw new HubError("BAD_REQUEST", "an event needs a payload");
  const { topic = named, ...item } = value as PublishItem & { topic?: string };
  if (topic === undefined) throw new HubError("BAD_REQUEST", "an event needs a topic");
  return { topic, item };
}

export function topicItems(values: readonly unknown[], named?: string): TopicItem[] {
  return values.map((value, index) => ofOne(index, () => topicItem(value, named)));
}

/** What is wrong with one of several is told with its index. */
export function ofOne<T>(index: number, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw atIndex(error, index);
  }
}

function atIndex(error: unknown, index: number): HubError {
  const { code, detail, ...rest } = problemOf(error);
  return new HubError(code, `event ${index}: ${detail}`, { cause: error, details: { ...rest, index } });
}

function placed(record: PublishedRecord): Placed {
  return placedAt(record.topic, record, record.duplicate === true);
}

function placedAt(topic: string, { id, partition, seq, ts }: Place, duplicate: boolean): Placed {
  return duplicate ? { id, topic, partition, seq, ts, duplicate } : { id, topic, partition, seq, ts };
}

/** The request's trace goes on in the event, unless the event has one. */
export function traced<O extends PublishOptions>(options: O, traceparent: string | undefined): O {
  if (traceparent === undefined || !TRACEPARENT.test(traceparent)) return options;
  const { headers } = options;
  if (headers !== undefined && (typeof headers !== "object" || headers === null || "traceparent" in headers))
    return options;
  return { ...options, headers: { ...headers, traceparent } };
}
