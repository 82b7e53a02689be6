/** Layers around publishing and handling. The one added first is outermost. */
import type { EventRecord } from "../model/event.js";
import type { BatchContext, DeliveryContext, PublishedRecord, PublishOptions } from "../model/event-bus.js";

export interface PublishRequest {
  readonly topic: string;
  readonly payload: unknown;
  readonly options: PublishOptions;
}

/**
 * @example
 * bus.use({
 *   publish: (request, next) => next({ ...request, options: { ...request.options, tags: ["audited"] } }),
 *   handle: async (event, ctx, next) => { const t = Date.now(); await next(); log(event.id, Date.now() - t); },
 * });
 */
export interface Middleware {
  publish?(
    request: PublishRequest,
    next: (request: PublishRequest) => Promise<PublishedRecord>,
  ): Promise<PublishedRecord>;
  handle?(
    event: EventRecord,
    ctx: DeliveryContext,
    next: (event?: EventRecord) => Promise<void>,
  ): Promise<void>;
  handleBatch?(
    events: readonly EventRecord[],
    ctx: BatchContext,
    next: (events?: readonly EventRecord[]) => Promise<void>,
  ): Promise<void>;
}

/** A bus's own layers inside those of the bus it was derived from. */
export class MiddlewareStack {
  readonly #outer: MiddlewareStack | null;
  readonly #own: Middleware[] = [];

  constructor(outer: MiddlewareStack | null = null) {
    this.#outer = outer;
  }

  add(middleware: Middleware): () => void {
    this.#own.push(middleware);
    return () => {
      const at = this.#own.indexOf(middleware);
      if (at >= 0) this.#own.splice(at, 1);
    };
  }

  get isEmpty(): boolean {
    return this.#own.length === 0 && (this.#outer === null || this.#outer.isEmpty);
  }

  get all(): readonly Middleware[] {
    return this.#outer === null ? this.#own : [...this.#outer.all, ...this.#own];
  }

  publish(
    request: PublishRequest,
    last: (request: PublishRequest) => Promise<PublishedRecord>,
  ): Promise<PublishedRecord> {
    return this.all.reduceRight<typeof last>(
      (next, { publish }) => (publish === undefined ? next : async (r) => publish(r, next)),
      last,
    )(request);
  }

  async handle(
    event: EventRecord,
    ctx: DeliveryContext,
    last: (event: EventRecord) => unknown,
  ): Promise<void> {
    const run = this.all.reduceRight<(event: EventRecord) => Promise<void>>(
      (next, { handle }) =>
        handle === undefined ? next : async (e) => handle(e, ctx, (changed = e) => next(changed)),
      async (e) => void (await last(e)),
    );
    await run(event);
  }

  async handleBatch(
    events: readonly EventRecord[],
    ctx: BatchContext,
    last: (events: readonly EventRecord[]) => unknown,
  ): Promise<void> {
    const run = this.all.reduceRight<(events: readonly EventRecord[]) => Promise<void>>(
      (next, { handleBatch }) =>
        handleBatch === undefined ? next : async (e) => handleBatch(e, ctx, (changed = e) => next(changed)),
      // A layer that keeps everything back leaves nothing to handle.
      async (e) => void (e.length > 0 && (await last(e))),
    );
    await run(events);
  }
}
