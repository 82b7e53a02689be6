/**
 * From a call of publish to the queue of its partition: what was handed in is checked and copied at once, and waits for its
 * topic's configuration if that is not at hand.
 */
import type { Clock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { StoredEvent } from "../model/event.js";
import type { PublishedRecord, PublishItem, PublishOptions, StoredItem } from "../model/event-bus.js";
import { JsonBody, valueOrRead } from "../model/json.js";
import type { Limits } from "../model/limits.js";
import {
  checkTopicName,
  type TopicConfig,
  type TopicDefinition,
  type TopicRef,
  topicName,
} from "../model/topic.js";
import { checkKey, checkPublishOptions, type Draft, makeDraft, type Waiter } from "../publish/draft.js";
import type { Publisher } from "../publish/publisher.js";
import { Arrivals } from "./arrivals.js";
import { checkPayload, keyOf } from "./payload-schema.js";
import type { TopicCatalog } from "./topic-catalog.js";

export interface PublishingOptions {
  readonly publisher: Publisher;
  readonly catalog: TopicCatalog;
  readonly clock: Clock;
  readonly limits: Limits;
  /** Throws CLOSED once the bus is closed. */
  readonly checkOpen: () => void;
  /** Opens the bus if need be. */
  readonly resolve: (topic: TopicRef) => Promise<TopicConfig>;
  /** How many partitions the topic will have once it is made; null if it is there. Opens the bus if need be. */
  readonly partitionsToBe: (topic: TopicRef) => Promise<number | null>;
}

export class Publishing {
  readonly #options: PublishingOptions;
  readonly #arrivals: Arrivals;

  constructor(options: PublishingOptions) {
    this.#options = options;
    const { catalog, resolve, partitionsToBe } = options;
    this.#arrivals = new Arrivals({ known: (topic) => catalog.known(topic), resolve, partitionsToBe });
  }

  /** `emitted`: by a handler, which may still finish its event while the bus closes. */
  publish(
    topic: TopicRef,
    payload: unknown,
    options: PublishOptions,
    emitted = false,
  ): Promise<PublishedRecord> {
    // One promise for the whole way.
    const promised = new PromisedRecord();
    try {
      if (!emitted) this.#options.checkOpen();
      this.#queue(topic, payload, options, promised);
    } catch (error) {
      promised.fail(error);
    }
    return promised.promise;
  }

  /** As publish, without a promise: for those who answer many at once. `waiter` is told once, sooner or later. */
  submit(topic: TopicRef, payload: unknown, options: PublishOptions, waiter: Waiter, text?: string): void {
    try {
      this.#options.checkOpen();
      this.#queue(topic, payload, options, waiter, text);
    } catch (error) {
      waiter.fail(BusError.from(error));
    }
  }

  publishMany(topic: TopicRef, items: readonly PublishItem[]): Promise<PublishedRecord[]> {
    return this.#all(topic, items, (item) => this.#draft(topic, item.payload, item), published);
  }

  /** What nobody looks at stays in the form that the log had it in. Of each, whether it was there before. */
  publishStored(topic: TopicRef, items: readonly StoredItem[]): Promise<boolean[]> {
    const draft = ({ body, options }: StoredItem): Draft => this.#draft(topic, undefined, options, body);
    return this.#all(topic, items, draft, (_, duplicate) => duplicate);
  }

  /** Drafts are made at once, whether or not the topic is known yet. */
  #all<I extends PublishItem | StoredItem, R>(
    topic: TopicRef,
    items: readonly I[],
    draftOf: (item: I) => Draft,
    resultOf: (event: StoredEvent, duplicate: boolean) => R,
  ): Promise<R[]> {
    return new Promise<R[]>((resolve, reject) => {
      this.#options.checkOpen();
      const config = this.#arrivals.configNow(topic);
      if (config === undefined) checkTopicName(topicName(topic));
      const drafts = new Array<Draft>(items.length);
      eachItem(items, (item, index) => {
        drafts[index] = draftOf(item);
      });
      const results = new PromisedResults(drafts.length, resultOf, resolve, reject);
      if (config !== undefined) this.#addMany(config, items, drafts, results);
      else
        this.#arrivals.wait(topic, {
          go: (found) => this.#addMany(found, items, drafts, results),
          fail: reject,
          ...(items.some((item) => partitionOf(item) !== undefined) && {
            check: (partitions) =>
              eachItem(items, (item) => checkPartitionToBe(topic, partitions, partitionOf(item))),
          }),
        });
    });
  }

  #queue(topic: TopicRef, payload: unknown, options: PublishOptions, waiter: Waiter, text?: string): void {
    const config = this.#arrivals.configNow(topic);
    if (config === undefined) checkTopicName(topicName(topic));
    const draft = this.#draft(topic, payload, options, text);
    const { partition } = options;
    if (config !== undefined) this.#add(config, partition, draft, waiter);
    else
      this.#arrivals.wait(topic, {
        go: (found) => this.#add(found, partition, draft, waiter),
        fail: (error) => waiter.fail(BusError.from(error)),
        ...(partition !== undefined && {
          check: (partitions) => checkPartitionToBe(topic, partitions, partition),
        }),
      });
  }

  #add(config: TopicConfig, partition: number | undefined, draft: Draft, waiter: Waiter): void {
    checkPartition(config, partition);
    this.#options.publisher.admit(1, draft.bytes);
    this.#options.publisher.add(config, partition, draft, waiter);
  }

  #addMany<R>(
    config: TopicConfig,
    items: readonly (PublishItem | StoredItem)[],
    drafts: readonly Draft[],
    results: PromisedResults<R>,
  ): void {
    const { publisher } = this.#options;
    eachItem(items, (item) => checkPartition(config, partitionOf(item)));
    let bytes = 0;
    for (const draft of drafts) bytes += draft.bytes;
    publisher.admit(drafts.length, bytes);
    for (let i = 0; i < drafts.length; i++) {
      const partition = partitionOf(items[i] as PublishItem | StoredItem);
      publisher.add(config, partition, drafts[i] as Draft, results.waiter(i));
    }
  }

  /** Taken from the caller's objects at once: what they change afterwards is theirs alone. */
  #draft(topic: TopicRef, payload: unknown, options: PublishOptions, json?: string | JsonBody): Draft {
    const { limits, clock, catalog } = this.#options;
    checkPublishOptions(options, limits);
    const definition = catalog.definition(topic);
    if (definition === undefined || !looksAtPayload(definition, options))
      return makeDraft(payload, options, limits, clock, options.key, json);
    const value = json instanceof JsonBody ? json.value : valueOrRead(payload, json);
    const checked = checkPayload(definition, value);
    if (options.key !== undefined) return makeDraft(checked.stored, options, limits, clock, options.key);
    const key = keyOf(definition, checked);
    if (key !== undefined) checkKey(key, limits);
    return makeDraft(checked.stored, options, limits, clock, key);
  }
}

/** What is refused says which of the items it is: nothing of the call is published then. */
function eachItem<I>(items: readonly I[], look: (item: I, index: number) => void): void {
  let index = 0;
  try {
    for (; index < items.length; index++) look(items[index] as I, index);
  } catch (error) {
    throw refusedAt(index, items.length, BusError.from(error));
  }
}

function refusedAt(index: number, count: number, error: BusError): BusError {
  const { code, message, retryable, details } = error;
  const which = `the event at index ${index} of ${count} is refused, and none is published`;
  return new BusError(code, `${which}: ${message}`, {
    cause: error,
    retryable,
    details: { ...details, index },
  });
}

function partitionOf(item: PublishItem | StoredItem): number | undefined {
  return "options" in item ? item.options.partition : item.partition;
}

/** Whether a definition has anything to say about a payload or its key. */
function looksAtPayload({ schema, key }: TopicDefinition, options: PublishOptions): boolean {
  return schema !== undefined || (key !== undefined && options.key === undefined);
}

class PromisedRecord implements Waiter {
  readonly promise: Promise<PublishedRecord>;
  readonly #resolve: (record: PublishedRecord) => void;
  readonly #reject: (error: unknown) => void;

  constructor() {
    this.promise = new Promise(takeEnds);
    this.#resolve = taken.resolve;
    this.#reject = taken.reject;
  }

  done(event: StoredEvent, duplicate: boolean): void {
    this.#resolve(published(event, duplicate));
  }

  fail(error: unknown): void {
    this.#reject(error);
  }
}

/** The ends of the promise that is being made: a function of its own for each would be garbage with every publish. */
const taken = { resolve: (_: PublishedRecord): void => undefined, reject: (_: unknown): void => undefined };

function takeEnds(resolve: (record: PublishedRecord) => void, reject: (error: unknown) => void): void {
  taken.resolve = resolve;
  taken.reject = reject;
}

/** Resolves once all are there; rejects, once all are decided, if one failed. */
class PromisedResults<R> {
  readonly #results: R[];
  readonly #resultOf: (event: StoredEvent, duplicate: boolean) => R;
  readonly #failures: { index: number; error: BusError }[] = [];
  readonly #resolve: (results: R[]) => void;
  readonly #reject: (error: BusError) => void;
  #open: number;

  constructor(
    count: number,
    resultOf: (event: StoredEvent, duplicate: boolean) => R,
    resolve: (results: R[]) => void,
    reject: (error: BusError) => void,
  ) {
    this.#results = new Array<R>(count);
    this.#resultOf = resultOf;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#open = count;
    if (count === 0) resolve(this.#results);
  }

  waiter(index: number): Waiter {
    return {
      done: (event, duplicate) => {
        this.#results[index] = this.#resultOf(event, duplicate);
        this.#finish();
      },
      fail: (error) => {
        this.#failures.push({ index, error });
        this.#finish();
      },
    };
  }

  #finish(): void {
    if (--this.#open > 0) return;
    if (this.#failures.length === 0) this.#resolve(this.#results);
    else this.#reject(someFailed(this.#results.length, this.#failures));
  }
}

function published(event: StoredEvent, duplicate: boolean): PublishedRecord {
  return duplicate ? { ...event.record, duplicate: true } : event.record;
}

/** Throws INVALID_OPTION unless the topic has this partition. */
export function checkPartition({ name, partitions }: TopicConfig, partition: number | undefined): void {
  if (partition === undefined || isAmong(partitions, partition)) return;
  throw new BusError("INVALID_OPTION", `${name} has partitions 0 to ${partitions - 1}, not ${partition}`);
}

/** The same of a topic that is not there, and would have so many. */
function checkPartitionToBe(topic: TopicRef, partitions: number, partition: number | undefined): void {
  if (partition === undefined || isAmong(partitions, partition)) return;
  const has = partitions === 1 ? "1 partition, 0" : `partitions 0 to ${partitions - 1}`;
  throw new BusError(
    "INVALID_OPTION",
    `${topicName(topic)} is not there yet and would have ${has}, not ${partition}: define it first, with as many as it needs`,
  );
}

function isAmong(partitions: number, partition: number): boolean {
  return Number.isSafeInteger(partition) && partition >= 0 && partition < partitions;
}

/** The first failure, with what became of the others. */
export function someFailed(count: number, failures: readonly { index: number; error: BusError }[]): BusError {
  const first = (failures[0] as { error: BusError }).error;
  return new BusError(
    first.code,
    `${failures.length} of ${count} events were not published: ${first.message}`,
    {
      cause: first,
      retryable: first.retryable,
      details: {
        failed: failures.map(({ index, error }) => ({ index, code: error.code, ...error.details })),
      },
    },
  );
}
