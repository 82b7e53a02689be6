/** The layers (middleware) of a bus around its publishing and around the handlers of its subscribers. */
import type { Emit } from "../consume/context.js";
import type { MiddlewareStack } from "../consume/middleware.js";
import type { Work } from "../consume/worker.js";
import { BusError } from "../model/errors.js";
import type {
  BatchHandler,
  Handler,
  PublishedRecord,
  PublishItem,
  PublishOptions,
  PublishWaiter,
  StoredItem,
} from "../model/event-bus.js";
import { valueOrRead } from "../model/json.js";
import { type TopicRef, topicName } from "../model/topic.js";
import { type Publishing, someFailed } from "./publishing.js";

export class Layers {
  readonly #publishing: Publishing;
  readonly #stack: MiddlewareStack;

  constructor(publishing: Publishing, stack: MiddlewareStack) {
    this.#publishing = publishing;
    this.#stack = stack;
  }

  publish<T>(topic: TopicRef<T>, payload: T, options: PublishOptions): Promise<PublishedRecord<T>> {
    return this.#stack.isEmpty
      ? (this.#publishing.publish(topic, payload, options) as Promise<PublishedRecord<T>>)
      : this.#publishThrough(topic, payload, options);
  }

  /** `text`: of the payload; of no use where a layer may change it. */
  submit(
    topic: string,
    payload: unknown,
    options: PublishOptions,
    waiter: PublishWaiter,
    text?: string,
  ): void {
    if (this.#stack.isEmpty) {
      this.#publishing.submit(topic, payload, options, waiter, text);
      return;
    }
    this.#publishThrough(topic, valueOrRead(payload, text), options).then(
      (record) => waiter.done(record, record.duplicate === true),
      (error: unknown) => waiter.fail(error),
    );
  }

  publishMany<T>(topic: TopicRef<T>, items: readonly PublishItem<T>[]): Promise<PublishedRecord<T>[]> {
    return this.#stack.isEmpty
      ? (this.#publishing.publishMany(topic, items) as Promise<PublishedRecord<T>[]>)
      : this.#publishManyThrough(topic, items);
  }

  /** As publishMany; where a layer may look at it, of the payload's value. */
  async publishStored(topic: TopicRef, items: readonly StoredItem[]): Promise<readonly boolean[]> {
    if (this.#stack.isEmpty) return this.#publishing.publishStored(topic, items);
    const read = items.map(({ body, options }) => ({ ...options, payload: body.value }));
    const records = await this.#publishManyThrough(topic, read);
    return records.map(({ duplicate }) => duplicate === true);
  }

  /** What handlers publish goes through the layers as well. */
  readonly emit: Emit = <T>(topic: TopicRef<T>, payload: T, options: PublishOptions) =>
    this.#stack.isEmpty
      ? (this.#publishing.publish(topic, payload, options, true) as Promise<PublishedRecord<T>>)
      : this.#publishThrough(topic, payload, options, { emitted: true });

  /** Layers may be added and removed while it runs. */
  around(work: Work): Work {
    const stack = this.#stack;
    switch (work.kind) {
      case "raw":
        return work;
      case "single": {
        const { handler } = work;
        const layered: Handler = (event, ctx) =>
          stack.isEmpty ? handler(event, ctx) : stack.handle(event, ctx, (e) => handler(e, ctx));
        return { ...work, handler: layered };
      }
      case "batch": {
        const { handler } = work;
        const layered: BatchHandler = (events, ctx) =>
          stack.isEmpty ? handler(events, ctx) : stack.handleBatch(events, ctx, (e) => handler(e, ctx));
        return { ...work, handler: layered };
      }
    }
  }

  /**
   * Many events through the layers, in order: one is sent on its way only when those before it are in the queue. The
   * first that a layer refuses ends it; what follows is not tried.
   */
  async #publishManyThrough<T>(
    topic: TopicRef<T>,
    items: readonly PublishItem<T>[],
  ): Promise<PublishedRecord<T>[]> {
    const sent: Promise<PublishedRecord<T>>[] = [];
    for (const { payload, ...options } of items) {
      const queued = new Promise<boolean>((resolve) => {
        const publishing = this.#publishThrough(topic, payload, options, { onQueued: () => resolve(true) });
        sent.push(publishing);
        publishing.catch(() => resolve(false));
      });
      if (!(await queued)) break;
    }
    const results = await Promise.allSettled(sent);
    const untried = new BusError("ABORTED", "not tried: an earlier event of the same call was refused");
    const failures = items.flatMap((_, index) => {
      const result = results[index];
      if (result?.status === "fulfilled") return [];
      return [{ index, error: result === undefined ? untried : BusError.from(result.reason) }];
    });
    if (failures.length > 0) throw someFailed(items.length, failures);
    return results.map((result) => (result as PromiseFulfilledResult<PublishedRecord<T>>).value);
  }

  /** `emitted`: by a handler. `onQueued` is called once the event is on its way. */
  #publishThrough<T>(
    topic: TopicRef<T>,
    payload: T,
    options: PublishOptions,
    how: { readonly emitted?: boolean; readonly onQueued?: () => void } = {},
  ): Promise<PublishedRecord<T>> {
    const name = topicName(topic);
    const sent = this.#stack.publish({ topic: name, payload, options }, (request) => {
      const publishing = this.#publishing.publish(
        request.topic === name ? topic : request.topic,
        request.payload,
        request.options,
        how.emitted,
      );
      how.onQueued?.();
      return publishing;
    });
    return sent as Promise<PublishedRecord<T>>;
  }
}
