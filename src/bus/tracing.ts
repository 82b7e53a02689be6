/**
 * Traces, by OpenTelemetry: a publish carries the trace it happens in as the event's `traceparent` header, and whoever handles
 * the event goes on with it. `@opentelemetry/api` is loaded only when this is asked for; which spans go where is decided by
 * the SDK that the process has set up, and without one nothing is recorded.
 */
import type { Context, Span, SpanKind } from "@opentelemetry/api";
import type { Middleware } from "../consume/middleware.js";
import { BusError, describeThrown } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import type { Bus } from "./bus.js";

type Api = typeof import("@opentelemetry/api");

/** A span of one event in the hands of one group. */
export interface HandlingSpan {
  /** Without an error: it is settled. */
  end(error?: string): void;
}

export interface Tracing {
  readonly layer: Middleware;
  /** Begins a span that goes on with the event's trace. */
  handling(
    event: Pick<EventRecord, "id" | "topic" | "partition" | "seq" | "headers">,
    group: string,
  ): HandlingSpan;
}

/**
 * The bus with spans around publishing and handling.
 *
 * @example
 * const traced = await withTracing(bus);
 * await traced.publish("orders.placed", { order: 7 }); // carries the active span's traceparent
 */
export async function withTracing(bus: Bus): Promise<Bus> {
  return bus.with((await loadTracing()).layer);
}

/** UNSUPPORTED unless `@opentelemetry/api` is installed. */
export async function loadTracing(): Promise<Tracing> {
  let api: Api;
  try {
    api = await import("@opentelemetry/api");
  } catch (error) {
    throw notInstalled(error);
  }
  return tracingBy(api);
}

function notInstalled(cause: unknown): BusError {
  const what = "tracing needs the package @opentelemetry/api: install it beside promethean";
  return new BusError("UNSUPPORTED", what, { cause });
}

function tracingBy(api: Api): Tracing {
  const { SpanKind: Kind, SpanStatusCode, context, propagation, trace } = api;
  const tracer = trace.getTracer("promethean");
  const begin = (
    kind: SpanKind,
    name: string,
    attributes: Record<string, string | number>,
    parent: Context,
  ): { span: Span; within: Context } => {
    const span = tracer.startSpan(
      name,
      { kind, attributes: { "messaging.system": "promethean", ...attributes } },
      parent,
    );
    return { span, within: trace.setSpan(parent, span) };
  };
  const finish = (span: Span, error?: string): void => {
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
    span.end();
  };
  const around = async <T>(span: Span, within: Context, work: () => Promise<T>): Promise<T> => {
    try {
      const result = await context.with(within, work);
      finish(span);
      return result;
    } catch (thrown) {
      finish(span, describeThrown(thrown));
      throw thrown;
    }
  };
  const handlingOf = (event: Parameters<Tracing["handling"]>[0], group: string) =>
    begin(
      Kind.CONSUMER,
      `${event.topic} process`,
      {
        "messaging.destination.name": event.topic,
        "messaging.message.id": event.id,
        "messaging.consumer.group.name": group,
        "messaging.destination.partition.id": String(event.partition),
        "promethean.seq": event.seq,
      },
      propagation.extract(context.active(), event.headers ?? {}),
    );
  const layer: Middleware = {
    publish: (request, next) => {
      const attributes = { "messaging.destination.name": request.topic };
      const { span, within } = begin(Kind.PRODUCER, `${request.topic} publish`, attributes, context.active());
      const headers: Record<string, string> = { ...request.options.headers };
      // A trace that the event has already is not replaced by ours.
      if (headers.traceparent === undefined) propagation.inject(within, headers);
      const options = Object.keys(headers).length === 0 ? request.options : { ...request.options, headers };
      return around(span, within, () => next({ ...request, options }));
    },
    handle: (event, ctx, next) => {
      const { span, within } = handlingOf(event, ctx.group);
      return around(span, within, () => next());
    },
  };
  return {
    layer,
    handling: (event, group) => {
      const { span } = handlingOf(event, group);
      return { end: (error) => finish(span, error) };
    },
  };
}
