/** What the handler of a transactional projector is given besides the events and the transaction. */
import type { EventRecord } from "../../model/event.js";
import type { BatchContext, PublishedRecord, PublishOptions } from "../../model/event-bus.js";
import type { TopicRef } from "../../model/topic.js";

/** What the handler of a transactional projector is told of its events. */
export interface TransactionContext extends Pick<BatchContext, "topic" | "group" | "attempts" | "extend"> {
  /** Aborts when the events are no longer leased to this projector. */
  readonly signal: AbortSignal;
  /** True while the views are built anew beside those in use: effects elsewhere have happened, and must not again. */
  readonly replaying: boolean;
  /**
   * Publishes an event under an id that follows from `event`, so that it is there once (P9); null while replaying. It goes out
   * before the commit: let it say what follows from `event` alone, for when the handler runs again the first one stands.
   */
  emitFor<T>(
    event: EventRecord,
    topic: TopicRef<T>,
    payload: NoInfer<T>,
    options?: Omit<PublishOptions, "id">,
  ): Promise<PublishedRecord<T> | null>;
}

/**
 * What the handler has emitted for the events of a batch. It may run several times on the same delivery, after conflicts: the
 * n-th event that a run emits for one of them is the n-th that the first run emitted, as on a redelivery.
 */
export class Emissions {
  readonly #byEvent = new Map<string, Promise<unknown>[]>();

  /** A way to emit for one run of the handler. */
  run(ctx: BatchContext): BatchContext["emitFor"] {
    const counts = new Map<string, number>();
    return <T>(event: EventRecord, ...what: [TopicRef<T>, NoInfer<T>, Omit<PublishOptions, "id">?]) => {
      const emitted = this.#byEvent.get(event.id) ?? [];
      this.#byEvent.set(event.id, emitted);
      const index = counts.get(event.id) ?? 0;
      counts.set(event.id, index + 1);
      emitted[index] ??= ctx.emitFor(event, ...what);
      return emitted[index] as Promise<PublishedRecord<T>>;
    };
  }
}

export interface HandlerRun {
  readonly replaying: boolean;
  /** Which events of the batch it is about. */
  readonly from: number;
  readonly to: number;
  readonly emissions: Emissions;
}

export function contextOf(
  ctx: BatchContext,
  { replaying, from, to, emissions }: HandlerRun,
): TransactionContext {
  const emitFor = emissions.run(ctx);
  return {
    topic: ctx.topic,
    group: ctx.group,
    replaying,
    get attempts() {
      return ctx.attempts.slice(from, to);
    },
    get signal() {
      return ctx.signal;
    },
    extend: (ms) => ctx.extend(ms),
    emitFor: async (event, topic, payload, options) =>
      replaying ? null : emitFor(event, topic, payload, options),
  };
}
