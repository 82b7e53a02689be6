/** Layers around publishing and handling. The one added first is outermost. */
import { BusError } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import type { BatchContext, DeliveryContext, PublishedRecord, PublishOptions } from "../model/event-bus.js";

/** A publish on its way through the layers. */
export interface PublishRequest {
  readonly topic: string;
  readonly payload: unknown;
  readonly options: PublishOptions;
}

/**
 * A layer around publishing and handling; each part may be left out. The one added first is outermost.
 *
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

type PublishNext = (request: PublishRequest) => Promise<PublishedRecord>;

/** A bus's own layers inside those of the bus it was derived from. */
export class MiddlewareStack {
  readonly #outer: MiddlewareStack | null;
  /** Never changed, only replaced: whoever is on the way through keeps what it began with. */
  #own: readonly Middleware[] = [];

  constructor(outer: MiddlewareStack | null = null) {
    this.#outer = outer;
  }

  add(middleware: Middleware): () => void {
    checkLayer(middleware);
    this.#own = [...this.#own, middleware];
    return () => {
      const at = this.#own.indexOf(middleware);
      if (at >= 0) this.#own = this.#own.toSpliced(at, 1);
    };
  }

  get isEmpty(): boolean {
    return this.#own.length === 0 && (this.#outer === null || this.#outer.isEmpty);
  }

  get all(): readonly Middleware[] {
    const outer = this.#outer?.all ?? [];
    return outer.length === 0 ? this.#own : [...outer, ...this.#own];
  }

  publish(request: PublishRequest, last: PublishNext): Promise<PublishedRecord> {
    return publishFrom(this.all, 0, request, last);
  }

  async handle(
    event: EventRecord,
    ctx: DeliveryContext,
    last: (event: EventRecord) => unknown,
  ): Promise<void> {
    const run = this.all.reduceRight<(event: EventRecord) => Promise<void>>(
      (next, layer) =>
        layer.handle === undefined
          ? next
          : async (e) => layer.handle?.(e, ctx, (changed = e) => next(changed)),
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
      (next, layer) =>
        layer.handleBatch === undefined
          ? next
          : async (e) => layer.handleBatch?.(e, ctx, (changed = e) => next(changed)),
      // A layer that keeps everything back leaves nothing to handle.
      async (e) => void (e.length > 0 && (await last(e))),
    );
    await run(events);
  }
}

/** What is no layer would be passed by in silence, or fail everything that comes through. */
function checkLayer(layer: Middleware): void {
  const fits =
    typeof layer === "object" &&
    layer !== null &&
    [layer.publish, layer.handle, layer.handleBatch].every(
      (part) => part === undefined || typeof part === "function",
    );
  if (!fits)
    throw new BusError(
      "INVALID_OPTION",
      "a layer is an object with functions publish, handle and handleBatch",
    );
}

/** No promise but those that the layers make: thousands of publishes may be under way at once. */
function publishFrom(
  layers: readonly Middleware[],
  from: number,
  request: PublishRequest,
  last: PublishNext,
): Promise<PublishedRecord> {
  let at = from;
  while (at < layers.length && layers[at]?.publish === undefined) at++;
  const layer = layers[at];
  if (layer?.publish === undefined) return last(request);
  try {
    return Promise.resolve(layer.publish(request, (changed) => publishFrom(layers, at + 1, changed, last)));
  } catch (error) {
    return Promise.reject(error);
  }
}
