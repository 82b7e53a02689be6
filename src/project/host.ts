/** What projections need of a bus; the bus itself is such a host. */
import type { Clock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import type {
  BatchContext,
  BatchHandler,
  Handler,
  PublishedRecord,
  PublishItem,
  PublishOptions,
  ReadPosition,
  Stop,
  StoredItem,
  SubscribeOptions,
} from "../model/event-bus.js";
import type { TaskBoard } from "../model/task.js";
import type { TopicConfig, TopicDefinition, TopicRef } from "../model/topic.js";
import type { CursorWrite } from "../ports/groups.js";
import type { Store } from "../ports/store.js";

export interface Host {
  readonly store: Store;
  readonly clock: Clock;
  readonly tasks: TaskBoard;
  publish<T>(topic: TopicRef<T>, payload: NoInfer<T>, options?: PublishOptions): Promise<PublishedRecord<T>>;
  publishMany<T>(
    topic: TopicRef<T>,
    items: readonly PublishItem<NoInfer<T>>[],
  ): Promise<PublishedRecord<T>[]>;
  /** As publishMany, of payloads that nobody needs to look at. Of each, whether it was there before. */
  publishStored(topic: TopicRef, items: readonly StoredItem[]): Promise<readonly boolean[]>;
  subscribe<T = unknown>(
    topic: TopicRef<T>,
    group: string,
    handler: Handler<T>,
    options?: SubscribeOptions,
  ): Promise<Stop>;
  subscribeBatch<T = unknown>(
    topic: TopicRef<T>,
    group: string,
    handler: BatchHandler<T>,
    options?: SubscribeOptions,
  ): Promise<Stop>;
  read<T = unknown>(topic: TopicRef<T>, position?: ReadPosition): AsyncGenerator<EventRecord<T>>;
  owned(topic: string, group: string): readonly { readonly partition: number; readonly epoch: number }[];
  defineTopic(definition: TopicDefinition): Promise<TopicConfig>;
  topics(): Promise<readonly TopicConfig[]>;
}

/** The context of a batch that may be settled by a transaction; the bus gives nothing less. */
export interface SettlingContext extends BatchContext {
  /** Which lease the events are delivered under. */
  readonly fence: { readonly partition: number; readonly epoch: number };
  /** The events are to be delivered again, through no fault of theirs. */
  giveBack(reason: string): void;
  /**
   * The events behind these are delivered as soon as `commit` is under way. `early`: it is begun while transactions
   * before it are under way, and expects the floor that they leave; WRITE_CONFLICT if one of them has failed.
   */
  settleBy(
    commit: (write: CursorWrite) => Promise<void>,
    options?: { readonly early?: boolean },
  ): Promise<void>;
}

/** For callers who leave the bus out, or hand something else in its place. */
export function checkHost(host: unknown): void {
  const { subscribeBatch, store } = Object(host) as Partial<Host>;
  if (typeof subscribeBatch === "function" && store !== undefined) return;
  throw new BusError("INVALID_OPTION", "the first argument is the bus");
}
