/** Work split by a coordinator inside one process, as an alternative to letting workers share by themselves. */
import { type CancelTimer, type Clock, systemClock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import type { Handler, PublishOptions, Stop, SubscribeOptions } from "../model/event-bus.js";
import { jumpHash } from "../model/partition.js";
import { checkTopicName, type TopicRef } from "../model/topic.js";
import type { Store } from "../ports/store.js";
import type { PartitionCoordinator } from "./coordinator.js";
import type { Middleware } from "./middleware.js";
import type { Work } from "./worker.js";

/** Whose share of the keys a subscriber takes, beside what any subscriber may say. */
export interface PartitionOptions extends SubscribeOptions {
  readonly group: string;
  readonly memberId: string;
  /** Shares among which the coordinator divides the keys; independent of the topic's own partitions. */
  readonly partitions: number;
  readonly keyOf?: (event: EventRecord) => string | undefined;
  /** How often to look for members that came or went. Default 3,000. */
  readonly rebalanceEveryMs?: number;
  readonly clock?: Clock;
}

interface Attachable {
  attach(
    topic: TopicRef,
    request: {
      group: string;
      work: Work;
      options: SubscribeOptions;
      accepts: (event: EventRecord) => boolean;
    },
  ): Promise<{
    readonly stop: Stop;
    /** It may accept events now that it did not accept before. */
    wake(): void;
    onStopped(callback: () => void): void;
  }>;
}

/**
 * Subscribes a member that handles only the keys of its shares. Events of shares that no member has wait.
 *
 * @example
 * const stop = await subscribePartitioned(bus, "process.state", handle, coordinator,
 *   { group: "analyzers", memberId: "worker-a", partitions: 8 });
 */
export async function subscribePartitioned(
  bus: Attachable,
  topic: TopicRef,
  handler: Handler,
  coordinator: PartitionCoordinator,
  options: PartitionOptions,
): Promise<Stop> {
  checkGiven(coordinator, options);
  const {
    group,
    memberId,
    partitions,
    keyOf,
    rebalanceEveryMs = 3_000,
    clock = systemClock,
    ...rest
  } = options;
  checkShares(partitions);
  checkMember(memberId, rebalanceEveryMs);
  let mine: ReadonlySet<number> = new Set();
  const refresh = (): void => {
    // Joining is also a sign of life, and brings back a member that was swept away while its process slept.
    coordinator.join(group, memberId);
    coordinator.sweep();
    mine = sharesOf(memberId, coordinator.assign(group, partitions).owners);
  };
  const subscription = await bus.attach(topic, {
    group,
    work: { kind: "single", handler },
    options: rest,
    // As text, whatever it is in plain JavaScript: a number has no hash.
    accepts: (event) => mine.has(jumpHash(String(keyOf?.(event) ?? event.key ?? event.id), partitions)),
  });
  let cancel: CancelTimer = () => undefined;
  const look = (): void => {
    refresh();
    subscription.wake();
    cancel = clock.setTimer(rebalanceEveryMs, look);
  };
  look();
  let left = false;
  const leave = (): void => {
    if (left) return;
    left = true;
    cancel();
    coordinator.leave(group, memberId);
  };
  subscription.onStopped(leave);
  return () => {
    // First of all, so that others may take its shares while it finishes.
    leave();
    return subscription.stop();
  };
}

function sharesOf(memberId: string, owners: Readonly<Record<number, string>>): ReadonlySet<number> {
  const shares = Object.keys(owners).map(Number);
  return new Set(shares.filter((share) => owners[share] === memberId));
}

function checkShares(partitions: unknown): void {
  if (!Number.isSafeInteger(partitions) || (partitions as number) < 1)
    throw new BusError("INVALID_OPTION", "partitions must be a whole number above 0");
}

function checkGiven(coordinator: unknown, options: unknown): void {
  if (typeof (coordinator as Partial<PartitionCoordinator> | undefined)?.assign !== "function")
    throw new BusError(
      "INVALID_OPTION",
      "subscribePartitioned needs a PartitionCoordinator, behind the handler",
    );
  if (typeof options !== "object" || options === null)
    throw new BusError("INVALID_OPTION", "subscribePartitioned needs { group, memberId, partitions }");
}

/** Members without a name would take themselves for one, and each event be handled by all of them. */
function checkMember(memberId: unknown, everyMs: number): void {
  if (typeof memberId !== "string" || memberId === "")
    throw new BusError("INVALID_OPTION", "memberId must be a name that no other member of the group has");
  if (!(Number.isFinite(everyMs) && everyMs > 0))
    throw new BusError("INVALID_OPTION", "rebalanceEveryMs must be a number above 0");
}

interface Derivable<B> {
  readonly store: Store;
  with(middleware: Middleware): B;
}

/**
 * A bus whose publishes choose their partition by a key of the payload, among as many partitions as are given here, or
 * as the topic has if those are fewer. Topics that nobody defined are created with that many.
 *
 * @example
 * const byHost = withPartitioning(bus, 8, (payload) => payload.host);
 */
export function withPartitioning<B>(
  bus: Derivable<B>,
  partitions: number,
  keyOf?: (payload: unknown, options?: PublishOptions) => string | undefined,
): B {
  checkShares(partitions);
  const partitionsOf = remember(async (name: string) => {
    checkTopicName(name);
    const topic = await bus.store.registry.defineTopic({ name, partitions }, { ifAbsent: true });
    return Math.min(partitions, topic.partitions);
  });
  return bus.with({
    async publish(request, next) {
      const { topic, payload, options } = request;
      if (options.partition !== undefined) return next(request);
      const key = keyOf?.(payload, options) ?? options.key ?? textOf(payload).slice(0, 64);
      const partition = jumpHash(String(key), await partitionsOf(topic));
      return next({ ...request, options: { ...options, partition } });
    },
  });
}

/** Of what JSON has no text for, whoever publishes it is told by the bus. */
function textOf(payload: unknown): string {
  try {
    return JSON.stringify(payload) ?? "";
  } catch {
    return "";
  }
}

/** Asks once for each name, and again if that failed. */
function remember<T>(ask: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const answers = new Map<string, Promise<T>>();
  return (name) => {
    let answer = answers.get(name);
    if (answer === undefined) {
      answer = ask(name);
      answers.set(name, answer);
      answer.catch(() => answers.delete(name));
    }
    return answer;
  };
}
