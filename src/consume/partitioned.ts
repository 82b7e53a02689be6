/** Work split by a coordinator inside one process, as an alternative to letting workers share by themselves. */
import { type Clock, systemClock } from "../model/clock.js";
import type { EventRecord } from "../model/event.js";
import type { Handler, PublishOptions, Stop, SubscribeOptions } from "../model/event-bus.js";
import { jumpHash } from "../model/partition.js";
import type { PartitionCoordinator } from "./coordinator.js";
import type { Middleware } from "./middleware.js";
import type { Work } from "./worker.js";

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
    topic: string,
    request: {
      group: string;
      work: Work;
      options: SubscribeOptions;
      accepts: (event: EventRecord) => boolean;
    },
  ): Promise<{ readonly stop: Stop }>;
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
  topic: string,
  handler: Handler,
  coordinator: PartitionCoordinator,
  options: PartitionOptions,
): Promise<Stop> {
  const {
    group,
    memberId,
    partitions,
    keyOf,
    rebalanceEveryMs = 3_000,
    clock = systemClock,
    ...rest
  } = options;
  let mine = new Set<number>();
  const refresh = (): void => {
    coordinator.sweep();
    coordinator.heartbeat(group, memberId);
    const { owners } = coordinator.assign(group, partitions);
    mine = new Set(
      Object.entries(owners).flatMap(([share, owner]) => (owner === memberId ? [Number(share)] : [])),
    );
  };
  coordinator.join(group, memberId);
  refresh();
  let cancel = clock.setTimer(rebalanceEveryMs, function again() {
    refresh();
    cancel = clock.setTimer(rebalanceEveryMs, again);
  });
  const subscription = await bus.attach(topic, {
    group,
    work: { kind: "single", handler },
    options: { from: "latest", ...rest },
    accepts: (event) => mine.has(jumpHash(keyOf?.(event) ?? event.key ?? event.id, partitions)),
  });
  return async () => {
    cancel();
    coordinator.leave(group, memberId);
    await subscription.stop();
  };
}

interface Derivable<B> {
  with(middleware: Middleware): B;
}

/**
 * A bus whose publishes choose their partition among the first `partitions` by a key of the payload.
 *
 * @example
 * const byHost = withPartitioning(bus, 8, (payload) => payload.host);
 */
export function withPartitioning<B>(
  bus: Derivable<B>,
  partitions: number,
  keyOf?: (payload: unknown, options?: PublishOptions) => string | undefined,
): B {
  return bus.with({
    publish(request, next) {
      if (request.options.partition !== undefined) return next(request);
      const key =
        keyOf?.(request.payload, request.options) ??
        request.options.key ??
        JSON.stringify(request.payload).slice(0, 64);
      return next({ ...request, options: { ...request.options, partition: jumpHash(key, partitions) } });
    },
  });
}
