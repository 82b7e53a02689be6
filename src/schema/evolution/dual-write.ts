/**
 * Writing a topic in two versions while readers move: to `<topic>` as before, and to `<topic>.vN` in the version N.
 * The second event's id is derived from the first one's, so that writing it again, by whomever, adds nothing (P3).
 *
 * The publisher's layer writes both and fails if the second fails for good, so that the publisher tries again. The
 * mirror reads the topic as a group and writes what is not there yet: what came before the layer, and what a crash
 * between the two writes left out. Let it catch up before publishers get the layer: else old events come after newer
 * ones of their key. Where nobody needs the second event at once, the mirror alone will do, and keeps the order.
 */
import { type Clock, pause, systemClock } from "../../model/clock.js";
import { comebackId, derivedId } from "../../model/derived-id.js";
import { BusError } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import type { PublishedRecord, PublishOptions, Stop } from "../../model/event-bus.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import { isForOneGroup, withoutRedrive } from "../../model/redrive.js";
import { backoffMs, type RetryPolicy } from "../../model/retry.js";
import { type TopicRef, topicName } from "../../model/topic.js";
import type { Log } from "../../ports/log.js";
import { checkSource, type SchemaSource } from "../registry/catalog.js";
import type { Layerable, PublishLayer, PublishNext, PublishRequest } from "../registry/validation-layer.js";
import { SCHEMA_VERSION_HEADER, versionedTopic } from "../registry/versioned-topic.js";
import type { Subscribable } from "./subscribe-normalized.js";
import { type UpcastChain, upcastEvent } from "./upcast.js";

/** Which topic is written in two versions, and how one becomes the other. */
export interface DualWriteOptions {
  readonly topic: TopicRef;
  /** The version that `<topic>.vN` holds. */
  readonly to: number;
  /** The version that publishers still write. Default: the one before. */
  readonly from?: number;
  readonly schemas: SchemaSource;
  readonly upcasts: UpcastChain;
  /** Tries of the second write before the publish fails. Default 5. */
  readonly attempts?: number;
  readonly retry?: RetryPolicy;
  readonly clock?: Clock;
}

const OPTIONS = namesOf<DualWriteOptions>({
  topic: true,
  to: true,
  from: true,
  schemas: true,
  upcasts: true,
  attempts: true,
  retry: true,
  clock: true,
});

/** The same options serve the layer, the mirror and the check: each takes what the others need. */
export function checkDualWrite(
  whose: string,
  options: Pick<DualWriteOptions, "schemas">,
  more: readonly string[] = [],
): void {
  checkOptionNames(whose, options, [...OPTIONS, ...more]);
  checkSource(whose, options.schemas);
}

const RETRY: RetryPolicy = { baseMs: 20, maxMs: 2_000, factor: 4, jitter: 0.2 };

/**
 * The bus writing `topic` twice. Both writes or an error: one that is retryable, with the id to publish again with,
 * if the first was made and the second was not.
 *
 * @example
 * const dual = withDualWrite(bus, { topic: "orders.placed", to: 2, schemas, upcasts });
 * await dual.publish("orders.placed", { order: 7 });   // also "orders.placed.v2": { order: "7" }
 */
export function withDualWrite<B>(bus: Layerable<B>, options: DualWriteOptions): B {
  checkDualWrite("withDualWrite", options);
  return bus.with(dualWriteLayer(options));
}

export function dualWriteLayer(options: DualWriteOptions): PublishLayer {
  const topic = topicName(options.topic);
  const { to } = options;
  const from = options.from ?? to - 1;
  return {
    async publish(request, next) {
      // What comes back for one group was there before, and so was its second form; if not, the mirror gets it.
      if (request.topic !== topic || isForOneGroup(request.options.headers)) return next(request);
      const headers = { [SCHEMA_VERSION_HEADER]: String(from), ...request.options.headers };
      const first: PublishRequest = { ...request, options: { ...request.options, headers } };
      // Both forms are made before either is written: a payload that has no second form is refused whole.
      secondWrite({ ...EMPTY, topic, payload: request.payload, headers }, options);
      const record = await next(first);
      await writeSecond(secondWrite(record, options), record, next, options);
      return record;
    },
  };
}

const EMPTY: EventRecord = { id: "", topic: "", partition: 0, seq: 0, ts: 0, payload: null };

/** The id of an event's second form in `target`: the same whoever writes it. */
export function secondId(target: string, id: string): string {
  return derivedId(`dual-write:${target}`, id, 0);
}

/** The group of the mirror that fills `target`. */
export function mirrorGroup(target: string): string {
  return `dual-write:${target}`;
}

/** What goes to `<topic>.vN` for an event. */
export function secondWrite(
  event: EventRecord,
  { topic, to, schemas, upcasts }: Pick<DualWriteOptions, "topic" | "to" | "schemas" | "upcasts">,
): PublishRequest {
  const target = versionedTopic(topic, to);
  const { payload, headers } = upcastEvent(event, { schemas, upcasts, target: to });
  const options: PublishOptions = {
    id: secondId(target, event.id),
    ts: event.ts,
    headers: { ...headers, [SCHEMA_VERSION_HEADER]: String(to) },
    caused_by: [event.id],
    ...(event.key !== undefined && { key: event.key }),
    ...(event.tags !== undefined && { tags: event.tags }),
    ...(event.sid !== undefined && { sid: event.sid }),
  };
  return { topic: target, payload, options };
}

async function writeSecond(
  second: PublishRequest,
  first: PublishedRecord,
  next: PublishNext,
  { attempts = 5, retry = RETRY, clock = systemClock }: DualWriteOptions,
): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      await next(second);
      return;
    } catch (error) {
      if (!BusError.from(error).retryable || failures >= attempts) throw halfWritten(first, second, error);
    }
    await pause(clock, backoffMs(retry, failures, clock.random()));
  }
}

function halfWritten(first: PublishedRecord, second: PublishRequest, cause: unknown): BusError {
  return new BusError(
    "OUTCOME_UNKNOWN",
    `event ${first.id} is in "${first.topic}" but not in "${second.topic}": ${BusError.from(cause).message}. Publish it again with the same id`,
    { cause, details: { id: first.id, topic: first.topic, missing: second.topic } },
  );
}

/** Of a bus it is needed that it publishes and subscribes. */
export interface Mirrorable extends Subscribable {
  /** Asked which event it was that came back more than once. */
  readonly store?: { readonly log: Pick<Log, "find"> };
  publish(topic: string, payload: unknown, options?: PublishOptions): Promise<PublishedRecord>;
}

/** Copies `topic` to `<topic>.vN` as a group of its own, from the first event on. What the layer wrote is there already. */
export async function startDualWriteMirror(bus: Mirrorable, options: DualWriteOptions): Promise<Stop> {
  checkDualWrite("startDualWriteMirror", options);
  const { topic, to } = options;
  return bus.subscribe(
    topic,
    mirrorGroup(versionedTopic(topic, to)),
    async (event) => {
      const second = secondWrite(await asFirstPublished(event, bus), options);
      await bus.publish(second.topic, second.payload, second.options);
    },
    { from: "earliest" },
  );
}

/** What the mirror gave up and got back: its second form is that of the first event, and for all who read it (P3, P5). */
async function asFirstPublished(event: EventRecord, { store }: Mirrorable): Promise<EventRecord> {
  if (!isForOneGroup(event.headers)) return event;
  let { id } = event;
  let causes = event.caused_by;
  for (;;) {
    const [letterId, sourceId] = causes ?? [];
    if (letterId === undefined || sourceId === undefined || id !== comebackId(letterId, event.topic)) break;
    id = sourceId;
    causes = (await store?.log.find(id))?.meta?.caused_by;
  }
  return { ...event, id, headers: withoutRedrive(event.headers) };
}
