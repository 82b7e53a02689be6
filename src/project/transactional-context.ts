/** What the handler of a transactional projector is given besides the events and the transaction. */
import type { EventRecord } from "../model/event.js";
import type { BatchContext, PublishedRecord, PublishOptions } from "../model/event-bus.js";
import type { TopicRef } from "../model/topic.js";

export interface TransactionContext extends Pick<BatchContext, "topic" | "group" | "attempts" | "extend"> {
  /** Aborts when the events are no longer leased to this projector. */
  readonly signal: AbortSignal;
  /** True while the views are built anew beside those in use: effects elsewhere have happened, and must not again. */
  readonly replaying: boolean;
  /** Publishes an event under an id that follows from `event`, so that it is there once (P9); null while replaying. */
  emitFor<T>(
    event: EventRecord,
    topic: TopicRef<T>,
    payload: NoInfer<T>,
    options?: Omit<PublishOptions, "id">,
  ): Promise<PublishedRecord<T> | null>;
}

export function contextOf(ctx: BatchContext, replaying: boolean): TransactionContext {
  return {
    topic: ctx.topic,
    group: ctx.group,
    replaying,
    get attempts() {
      return ctx.attempts;
    },
    get signal() {
      return ctx.signal;
    },
    extend: (ms) => ctx.extend(ms),
    emitFor: async (event, topic, payload, options) =>
      replaying ? null : ctx.emitFor(event, topic, payload, options),
  };
}
