/** The bus: publish, subscribe, read, and look after groups. */

import { followTopic } from "../consume/following.js";
import { type Middleware, MiddlewareStack } from "../consume/middleware.js";
import { checkGroupName, checkReadPosition, checkSubscribeOptions } from "../consume/options.js";
import { floorsOf, type Wish } from "../consume/position.js";
import { readTopic } from "../consume/reading.js";
import { checkHandler, type Work } from "../consume/worker.js";
import type { Clock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { EventRecord, Seq, StoredEvent } from "../model/event.js";
import type {
  Ack,
  BatchHandler,
  BatchHandlerFor,
  CursorTarget,
  EventBus,
  GroupPosition,
  Handler,
  HandlerFor,
  PublishedRecord,
  PublishItem,
  PublishOptions,
  PublishWaiter,
  ReadPosition,
  Stop,
  StoredItem,
  SubscribeOptions,
} from "../model/event-bus.js";
import type { JsonObject } from "../model/json.js";
import type { Meter, Meters } from "../model/meter.js";
import type { TaskBoard } from "../model/task.js";
import {
  checkTopicName,
  checkTopicPattern,
  isPattern,
  type TopicConfig,
  type TopicDefinition,
  type TopicRef,
  topicName,
} from "../model/topic.js";
import type { Store } from "../ports/store.js";
import { View } from "../project/views/view.js";
import { Admin } from "./admin.js";
import type { BusCore } from "./core.js";
import { groupPosition, moveGroup } from "./cursors.js";
import { Layers } from "./layers.js";
import { checkPartition } from "./publishing.js";
import type { SubscribeRequest, Subscription } from "./subscriptions.js";

const NO_OPTIONS: PublishOptions = Object.freeze({});

type Topics<T> = TopicRef<T> | readonly (string | TopicDefinition<T>)[];

/**
 * A durable event bus on a store.
 *
 * @example
 * const bus = await createBus({ store: memoryStore() });
 * const stop = await bus.subscribe("orders.placed", "mailer", async (event) => sendMail(event.payload));
 * await bus.publish("orders.placed", { order: 7 }, { key: "customer-42" });
 */
export class Bus implements EventBus {
  readonly #core: BusCore;
  readonly #middleware: MiddlewareStack;
  readonly #layers: Layers;

  constructor(core: BusCore, middleware = new MiddlewareStack()) {
    this.#core = core;
    this.#middleware = middleware;
    this.#layers = new Layers(core.publishing, middleware);
  }

  /** The store this bus stands on. */
  get store(): Store {
    return this.#core.settings.store;
  }

  get clock(): Clock {
    return this.#core.settings.clock;
  }

  /** Projectors, drainers and other long-running parts started on this bus; they stop when it closes. */
  get tasks(): TaskBoard {
    return this.#core.tasks;
  }

  /** Tells `meter` what happens on this bus from now on. Returns how to end it. */
  observe(meter: Meter): () => void {
    return this.#core.meters.add(meter);
  }

  /** Those who observe, as one: for layers that have something to tell. */
  get meters(): Meters {
    return this.#core.meters;
  }

  /** A read model, by name. */
  view<T = JsonObject>(name: string): View<T> {
    return new View<T>(name, this.store.documents, this.#core.viewPointers);
  }

  /** Adds a layer around publishing and handling, for this bus and those derived from it. Returns how to remove it. */
  use(middleware: Middleware): () => void {
    return this.#middleware.add(middleware);
  }

  /** A bus on the same parts with one layer more; closing either closes both. */
  with(middleware: Middleware): Bus {
    const stack = new MiddlewareStack(this.#middleware);
    stack.add(middleware);
    return new Bus(this.#core, stack);
  }

  /**
   * Publishes one event; resolves when it is durable, with its place in the log.
   *
   * @example
   * const { partition, seq } = await bus.publish("orders.placed", { order: 7 }, { key: "customer-42" });
   */
  publish<T>(
    topic: TopicRef<T>,
    payload: NoInfer<T>,
    options: PublishOptions = NO_OPTIONS,
  ): Promise<PublishedRecord<T>> {
    return this.#layers.publish(topic, payload, options);
  }

  /**
   * As publish, told by callbacks: for gateways that answer thousands of publishes in one write. `text` is the payload's
   * JSON, if it is at hand: at most SHALLOW_DEPTH deep, without a member twice. It is kept as it is where nothing changes it, and
   * a payload of undefined is read off it where somebody looks.
   */
  submit(
    topic: string,
    payload: unknown,
    options: PublishOptions,
    waiter: PublishWaiter,
    text?: string,
  ): void {
    this.#layers.submit(topic, payload, options, waiter, text);
  }

  /** Publishes many events of one topic; resolves when all are durable. Fails if one fails; `details.failed` says which. */
  async publishMany<T>(
    topic: TopicRef<T>,
    items: readonly PublishItem<NoInfer<T>>[],
  ): Promise<PublishedRecord<T>[]> {
    if (!Array.isArray(items) || items.some((item) => typeof item !== "object" || item === null))
      throw new BusError("INVALID_OPTION", "publishMany takes an array of { payload, … }");
    return this.#layers.publishMany(topic, items);
  }

  /**
   * As publishMany, of payloads as a log has them: for those who copy events. What nothing looks at is neither parsed nor written anew.
   * Of each, whether it was there before.
   */
  async publishStored(topic: TopicRef, items: readonly StoredItem[]): Promise<readonly boolean[]> {
    return this.#layers.publishStored(topic, items);
  }

  /**
   * Delivers every event of the topic (or topics, or pattern) to the group, at least once (P5), each key in order (P4).
   * Resolves when this bus has joined the group.
   *
   * @example
   * await bus.subscribe([Placed, Cancelled], "ledger", (event) => {
   *   if (event.topic === "orders.placed") book(event.payload.total);
   * });
   */
  async subscribe<T = unknown, D extends TopicRef = string>(
    topics: Topics<T> | readonly D[],
    group: string,
    handler: HandlerFor<D, T>,
    options: SubscribeOptions = {},
  ): Promise<Stop> {
    const work: Work = { kind: "single", handler: handler as Handler };
    return (await this.attach(topics, { group, work, options })).stop;
  }

  /**
   * As subscribe, with up to `batchSize` events of one partition at a time, in log order. A batch is one delivery: if
   * the handler fails, its events come again one by one.
   */
  async subscribeBatch<T = unknown, D extends TopicRef = string>(
    topics: Topics<T> | readonly D[],
    group: string,
    handler: BatchHandlerFor<D, T>,
    options: SubscribeOptions = {},
  ): Promise<Stop> {
    checkSubscribeOptions(options);
    const work: Work = {
      kind: "batch",
      handler: handler as BatchHandler,
      batchSize: options.batchSize ?? 100,
    };
    return (await this.attach(topics, { group, work, options })).stop;
  }

  /**
   * Subscribes with more say over how events are taken; the building block of gateways and projections. Raw handlers
   * see events as the log has them: no layer is around them.
   */
  async attach(topics: Topics<unknown>, request: SubscribeRequest): Promise<Subscription> {
    const { group, work, options } = request;
    checkGroupName(group);
    checkHandler(work.handler);
    checkSubscribeOptions(options);
    const wanted = (Array.isArray(topics) ? topics : [topics]) as readonly TopicRef[];
    checkNames(wanted);
    const { signal } = options;
    await this.#core.ready();
    await this.#core.pauses.look();
    const configs = signal?.aborted ? [] : await this.#core.topicsOf(wanted);
    const full = { ...request, work: this.#layers.around(work), emit: this.#layers.emit };
    const subscription = await this.#core.subscriptions.subscribe(configs, full);
    const patterns = wanted.map((topic) => topicName(topic)).filter(isPattern);
    if (patterns.length > 0) this.#core.follow(subscription, patterns);
    if (signal !== undefined) await stopOnAbort(subscription, signal);
    return subscription;
  }

  async ack(topic: TopicRef, group: string, id: string): Promise<Ack> {
    return this.#core.subscriptions.settle({ topic: topicName(topic), group }, id, "ack");
  }

  async nack(topic: TopicRef, group: string, id: string, reason?: string): Promise<Ack> {
    return this.#core.subscriptions.settle({ topic: topicName(topic), group }, id, "nack", reason);
  }

  /** Where the group stands, or null if it never subscribed to the topic. */
  async getCursor(topic: TopicRef, group: string): Promise<GroupPosition | null> {
    await this.#core.ready();
    const ref = { topic: topicName(topic), group };
    const { store, clock } = this.#core.settings;
    return groupPosition(store, ref, this.#core.subscriptions.runner(ref), clock.now());
  }

  /** The partitions that this bus works on for the group now, each under the epoch of its lease (P7). */
  owned(topic: TopicRef, group: string): { partition: number; epoch: number }[] {
    const shells = this.#core.subscriptions.runner({ topic: topicName(topic), group })?.shells.values() ?? [];
    return [...shells].map(({ partition, epoch }) => ({ partition, epoch }));
  }

  /** Moves the group, or sets up one that is new to the topic. Events before the new place are not delivered again; those after it are. */
  async setCursor(topic: TopicRef, group: string, to: CursorTarget): Promise<void> {
    await this.#core.ready();
    checkGroupName(group);
    const { name } = await this.#core.catalog.renew(topic);
    const ref = { topic: name, group };
    await moveGroup(this.store, ref, to);
    this.#core.subscriptions.runner(ref)?.changed();
  }

  /** Reads what is in the topic now, outside any group: partitions merged by time; nothing of a topic that is not there. */
  async *read<T = unknown>(topic: TopicRef<T>, position: ReadPosition = {}): AsyncGenerator<EventRecord<T>> {
    checkReadPosition(position);
    await this.#core.ready();
    const config = await this.#core.catalog.find(topic);
    if (config === null) return;
    const { limit = Number.POSITIVE_INFINITY, partition, filter } = position;
    checkPartition(config, partition);
    const reading = {
      wish: readWish(position),
      pageSize: Math.min(limit, 500),
      ...(partition !== undefined && { partition }),
    };
    let left = limit;
    if (left === 0) return;
    for await (const event of readTopic(this.store.log, config.name, reading)) {
      if (filter !== undefined && !filter(event.record)) continue;
      yield event.record as EventRecord<T>;
      if (--left === 0) return;
    }
  }

  /**
   * Follows a topic outside any group, from `floors` (index = partition; moved along) until `signal` aborts. Events come
   * in the form the log has them. `only`: the one partition that is read; the floors of the others stay.
   */
  async *follow(
    topic: TopicRef,
    floors: Seq[],
    signal: AbortSignal,
    only?: number,
  ): AsyncGenerator<StoredEvent> {
    await this.#core.ready();
    this.#core.listen();
    yield* followTopic(this.#core.tail, topicName(topic), floors, signal, only);
  }

  /** The seq after which to begin in each partition, for a wish like "latest" or "since noon". */
  async positions(
    topic: TopicRef,
    position: Omit<ReadPosition, "limit" | "filter" | "partition"> = {},
  ): Promise<Seq[]> {
    await this.#core.ready();
    const { name } = await this.#core.catalog.resolve(topic);
    return floorsOf(this.store.log, name, readWish(position));
  }

  /** Lag, and what holds groups up. */
  get admin(): Admin {
    return new Admin(this.#core);
  }

  /** The newest event of each key; undefined for keys that have none. */
  async latestByKey<T = unknown>(
    topic: TopicRef<T>,
    keys: readonly string[],
  ): Promise<Record<string, EventRecord<T> | undefined>> {
    if (!Array.isArray(keys) || keys.some((key) => typeof key !== "string"))
      throw new BusError("INVALID_OPTION", "latestByKey takes an array of keys");
    await this.#core.ready();
    const config = await this.#core.catalog.find(topic);
    const found = config === null ? undefined : await this.store.log.latestByKey(config.name, keys);
    return Object.fromEntries(
      keys.map((key) => [key, found?.get(key)?.record as EventRecord<T> | undefined]),
    );
  }

  /** Makes a topic known with its settings. */
  async defineTopic(definition: TopicDefinition): Promise<TopicConfig> {
    await this.#core.ready();
    return this.#core.catalog.define(definition);
  }

  async topics(): Promise<readonly TopicConfig[]> {
    await this.#core.ready();
    return this.#core.catalog.list();
  }

  /** Stops intake, waits for what runs, commits cursors, gives partitions back, closes the store if no one else uses it. */
  close(): Promise<void> {
    return this.#core.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function checkNames(wanted: readonly TopicRef[]): void {
  if (wanted.length === 0) throw new BusError("INVALID_OPTION", "subscribe needs at least one topic");
  for (const topic of wanted) {
    const name = topicName(topic);
    if (typeof name === "string" && isPattern(name)) checkTopicPattern(name);
    else checkTopicName(name);
  }
}

async function stopOnAbort(subscription: Subscription, signal: AbortSignal): Promise<void> {
  const stop = (): void => void subscription.stop();
  signal.addEventListener("abort", stop, { once: true });
  subscription.onStopped(() => signal.removeEventListener("abort", stop));
  if (signal.aborted) await subscription.stop();
}

function readWish(position: ReadPosition): Wish {
  switch (position.from) {
    case "ts":
      return { from: "ts", ts: position.ts ?? 0 };
    case "afterId":
      return { from: "afterId", afterId: position.afterId ?? "" };
    default:
      return { from: position.from ?? "earliest" };
  }
}
