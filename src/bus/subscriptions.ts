/** The subscriptions of a bus: which groups it takes part in, with which workers, on which topics. */

import { Allowance } from "../consume/allowance.js";
import { type Emit, refusal } from "../consume/context.js";
import { GroupRunner, type RunnerOptions } from "../consume/group-runner.js";
import { type GroupMode, groupMode, handlingPolicy } from "../consume/options.js";
import { floorsOf, type Wish } from "../consume/position.js";
import { type Work, Worker, type WorkerOptions } from "../consume/worker.js";
import type { Clock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { Ack, Stop, SubscribeOptions } from "../model/event-bus.js";
import { allInTurns, mapInTurns } from "../model/map-in-turns.js";
import { deadLetterTopic, isSnapshotTopic, matchesTopic, type TopicConfig } from "../model/topic.js";
import { type GroupRef, groupKey } from "../ports/groups.js";

/** Topics that are defined or joined at once: a store that writes in groups takes hardly longer for them than for one. */
export const TOPICS_AT_ONCE = 64;

/** Fewer events at once than this would make reading slow, however small the batches that handlers get. */
const MIN_PAGE = 1_000;

export interface SubscribeRequest {
  readonly group: string;
  readonly work: Work;
  readonly options: SubscribeOptions;
  readonly accepts?: WorkerOptions["accepts"];
}

/** A request with what the bus itself adds. */
export interface FullRequest extends SubscribeRequest {
  readonly emit: Emit;
}

/** What a runner needs that depends on the topic and on the first subscriber. */
export type RunnerFactory = (
  topic: TopicConfig,
  group: string,
  mode: GroupMode,
  pageSize: number,
) => RunnerOptions;

interface Running {
  readonly runner: GroupRunner;
  readonly mode: GroupMode;
  readonly started: Promise<void>;
  users: number;
  closed: Promise<void> | null;
}

export class Subscriptions {
  readonly #clock: Clock;
  readonly #options: RunnerFactory;
  readonly #running = new Map<string, Running>();
  readonly #stops = new Set<Stop>();
  #closed = false;

  constructor(clock: Clock, options: RunnerFactory) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Subscribes to these topics; resolves when each has its first assignment. */
  async subscribe(topics: readonly TopicConfig[], request: FullRequest): Promise<Subscription> {
    if (this.#closed) throw new BusError("CLOSED", "this bus is closed");
    const options = workerOptions(request);
    const subscription = new Subscription(this.#clock, options.allowance, (topic, wish) =>
      this.#attach(topic, request, options, wish),
    );
    const { stop } = subscription;
    this.#stops.add(stop);
    subscription.onStopped(() => this.#stops.delete(stop));
    try {
      const wish = wishOf(request.options, topics.length > 1);
      await mapInTurns(topics, (topic) => subscription.add(topic, wish), TOPICS_AT_ONCE);
    } catch (error) {
      await subscription.stop();
      throw error;
    }
    return subscription;
  }

  runner(ref: GroupRef): GroupRunner | undefined {
    return this.#running.get(groupKey(ref))?.runner;
  }

  get isEmpty(): boolean {
    return this.#running.size === 0;
  }

  get runners(): GroupRunner[] {
    return [...this.#running.values()].map(({ runner }) => runner);
  }

  async settle(ref: GroupRef, id: string, how: "ack" | "nack", reason?: string): Promise<Ack> {
    const runner = this.runner(ref);
    if (runner === undefined)
      return {
        id,
        ok: false,
        err: `NOT_FOUND: group ${ref.group} has no subscriber of ${ref.topic} on this bus`,
      };
    for (const worker of runner.dispatcher.workers) {
      const delivery = worker.holding(id);
      if (delivery !== undefined) return how === "ack" ? delivery.ack() : delivery.nack(reason);
    }
    return refusal(id);
  }

  /** Ends every subscription; there will be no others. */
  async stopAll(): Promise<void> {
    this.#closed = true;
    await allInTurns(this.#clock, this.#stops, (stop) => stop());
  }

  /** Adds a worker to the topic's runner, which is started by the first. Returns how to take it away. */
  async #attach(
    topic: TopicConfig,
    request: SubscribeRequest,
    options: WorkerOptions,
    wish: Wish,
  ): Promise<Attached> {
    const { work } = request;
    const mode = groupMode(request.options, work.kind === "batch" ? work.batchSize : 1);
    if (mode.hold && topic.compaction === true)
      throw new BusError(
        "INVALID_OPTION",
        `${topic.name} is compacted: a newer value overtakes a held one anyway`,
      );
    const running = await this.#join({ topic: topic.name, group: request.group }, topic, mode, request, wish);
    const { runner } = running;
    const worker = new Worker(options, runner.dispatcher.wake);
    runner.addWorker(worker);
    const detach = async (): Promise<void> => {
      await runner.removeWorker(worker);
      await this.#leave(runner.ref, running);
    };
    return { worker, detach };
  }

  async #join(
    ref: GroupRef,
    topic: TopicConfig,
    mode: GroupMode,
    request: SubscribeRequest,
    wish: Wish,
  ): Promise<Running> {
    const key = groupKey(ref);
    let running = this.#running.get(key);
    while (running !== undefined && running.closed !== null) {
      await running.closed;
      running = this.#running.get(key);
    }
    if (running === undefined) {
      const options = this.#options(
        topic,
        ref.group,
        mode,
        Math.max(request.options.batchSize ?? 0, MIN_PAGE),
      );
      const runner = new GroupRunner(ref, options);
      const started = startRunner(runner, topic, options, wish);
      running = { runner, mode, started, users: 0, closed: null };
      this.#running.set(key, running);
    } else if (running.mode.ordering !== mode.ordering) {
      throw new BusError(
        "INVALID_OPTION",
        `group ${ref.group} has subscribers with ordering "${running.mode.ordering}" on ${ref.topic}`,
      );
    } else if (running.mode.hold !== mode.hold) {
      const others = running.mode.hold ? "hold" : "do not hold";
      throw new BusError(
        "INVALID_OPTION",
        `group ${ref.group} has subscribers that ${others} keys behind dead letters on ${ref.topic}`,
      );
    }
    running.users++;
    try {
      await running.started;
    } catch (error) {
      await this.#leave(ref, running);
      throw error;
    }
    return running;
  }

  async #leave(ref: GroupRef, running: Running): Promise<void> {
    running.users--;
    if (running.users > 0) return;
    running.closed = running.runner.close().finally(() => this.#running.delete(groupKey(ref)));
    await running.closed;
  }
}

/** A worker in one topic, and how to take it away. */
interface Attached {
  readonly worker: Worker;
  detach(): Promise<void>;
}

/** One call of subscribe: a worker in each of its topics; topics may be added while it runs. */
export class Subscription {
  readonly #clock: Clock;
  readonly #allowance: Allowance;
  readonly #attach: (topic: TopicConfig, wish: Wish) => Promise<Attached>;
  /** By topic, from the first step of joining it. */
  readonly #attaching = new Map<string, Promise<void>>();
  readonly #attached: Attached[] = [];
  #onStopped: (() => void)[] | null = [];
  #stopping: Promise<void> | null = null;

  constructor(
    clock: Clock,
    allowance: Allowance,
    attach: (topic: TopicConfig, wish: Wish) => Promise<Attached>,
  ) {
    this.#clock = clock;
    this.#allowance = allowance;
    this.#attach = attach;
  }

  /** It takes part in this topic, or is about to. */
  has(topic: string): boolean {
    return this.#attaching.has(topic);
  }

  async add(topic: TopicConfig, wish: Wish): Promise<void> {
    if (this.#stopping !== null) return;
    let attaching = this.#attaching.get(topic.name);
    if (attaching === undefined) {
      attaching = this.#join(topic, wish);
      this.#attaching.set(topic.name, attaching);
    }
    await attaching;
  }

  async #join(topic: TopicConfig, wish: Wish): Promise<void> {
    try {
      this.#attached.push(await this.#attach(topic, wish));
    } catch (error) {
      this.#attaching.delete(topic.name);
      throw error;
    }
  }

  /** While paused it takes no events; what it holds it keeps. */
  setPaused(paused: boolean): void {
    this.#allowance.setPaused(paused);
  }

  /** It may accept events now that it did not accept before. */
  wake(): void {
    for (const { worker } of this.#attached) worker.wake();
  }

  /** Calls `callback` once it has stopped, for whatever reason; at once if it has. */
  onStopped(callback: () => void): void {
    if (this.#onStopped === null) callback();
    else this.#onStopped.push(callback);
  }

  /** What it holds goes back at once, to be delivered elsewhere; then it stops. */
  abandon(reason: string): Promise<void> {
    for (const { worker } of this.#attached) worker.giveBack(reason);
    return this.stop();
  }

  readonly stop: Stop = () => {
    this.#stopping ??= this.#detachAll();
    return this.#stopping;
  };

  /** Among thousands of topics it takes a while until the last one has its turn: nothing new is begun meanwhile. */
  async #detachAll(): Promise<void> {
    this.#allowance.setPaused(true);
    await Promise.allSettled(this.#attaching.values());
    await allInTurns(this.#clock, this.#attached, ({ detach }) => detach());
    const callbacks = this.#onStopped ?? [];
    this.#onStopped = null;
    for (const callback of callbacks) callback();
  }
}

/** A group that has a cursor in every partition goes on from there, whatever is wished for. */
async function startRunner(
  runner: GroupRunner,
  { name, partitions }: TopicConfig,
  { groups, clock, log }: RunnerOptions,
  wish: Wish,
): Promise<void> {
  const leases = (await groups.state(runner.ref, { nowMs: clock.now() }))?.leases ?? [];
  if (leases.length < partitions) await runner.start(await floorsOf(log, name, wish), { known: false });
  else
    await runner.start(
      leases.map(({ cursor }) => cursor.floor),
      { known: true },
    );
}

/**
 * Whether a pattern takes a topic in: dead letters only if it asks for them, and dead letters of dead letters only if
 * it asks for those, or a failing reader would feed itself. Snapshots likewise: they say again what their topic said, and
 * whoever may read `x.*` need not have the right to read `x`.
 */
export function takesIn(pattern: string, topic: string): boolean {
  return (
    matchesTopic(pattern, topic) &&
    deadLetterDepth(topic) <= deadLetterDepth(pattern) &&
    (!isSnapshotTopic(topic) || isSnapshotTopic(pattern))
  );
}

function deadLetterDepth(name: string): number {
  const prefix = deadLetterTopic("");
  let depth = 0;
  while (name.startsWith(prefix, depth * prefix.length)) depth++;
  return depth;
}

function wishOf(options: SubscribeOptions, severalTopics: boolean): Wish {
  switch (options.from) {
    case "ts":
      return { from: "ts", ts: options.ts ?? 0 };
    case "afterId":
      return { from: "afterId", afterId: options.afterId ?? "", elsewhere: severalTopics };
    default:
      return { from: options.from ?? "latest" };
  }
}

/** The same for the workers of all its topics: they share one allowance. */
function workerOptions(request: FullRequest): WorkerOptions {
  const { options, work, accepts, emit } = request;
  return {
    work,
    handling: handlingPolicy(options),
    allowance: new Allowance(options.maxInFlight ?? 1_000),
    emit,
    manualAck: options.manualAck ?? false,
    filter: options.filter,
    accepts,
  };
}
