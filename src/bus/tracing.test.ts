import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
  type TextMapPropagator,
  trace,
} from "@opentelemetry/api";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { startHub } from "../hub/server.js";
import { memoryStore } from "../stores/memory/index.js";
import { createBus } from "./create-bus.js";
import { withTracing } from "./tracing.js";

interface Told {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly attributes: Attributes;
  status: SpanStatusCode;
  ended: boolean;
}

/** What an SDK would collect: the smallest that the API's contract allows. */
const spans: Told[] = [];
let ids = 0;
const newId = (chars: number): string => (++ids).toString(16).padStart(chars, "0");

function startSpan(name: string, options: SpanOptions = {}, parent: Context = context.active()): Span {
  const from = trace.getSpanContext(parent);
  const told: Told = {
    name,
    traceId: from?.traceId ?? newId(32),
    spanId: newId(16),
    parentId: from?.spanId,
    attributes: options.attributes ?? {},
    status: SpanStatusCode.UNSET,
    ended: false,
  };
  spans.push(told);
  const spanContext: SpanContext = { traceId: told.traceId, spanId: told.spanId, traceFlags: 1 };
  return Object.assign(trace.wrapSpanContext(spanContext), {
    setStatus({ code }: { code: SpanStatusCode }) {
      told.status = code;
      return this;
    },
    end: () => {
      told.ended = true;
    },
  }) as unknown as Span;
}

const propagator: TextMapPropagator = {
  inject(from, carrier, setter) {
    const span = trace.getSpanContext(from);
    if (span !== undefined) setter.set(carrier, "traceparent", `00-${span.traceId}-${span.spanId}-01`);
  },
  extract(into, carrier, getter) {
    const [, traceId, spanId] = String(getter.get(carrier, "traceparent") ?? "").split("-");
    if (traceId === undefined || spanId === undefined) return into;
    return trace.setSpanContext(into, { traceId, spanId, traceFlags: 1, isRemote: true });
  },
  fields: () => ["traceparent"],
};

beforeAll(() => {
  const storage = new AsyncLocalStorage<Context>();
  trace.setGlobalTracerProvider({
    getTracer: () => ({ startSpan, startActiveSpan: () => undefined as never }),
  });
  propagation.setGlobalPropagator(propagator);
  context.setGlobalContextManager({
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (within, work, self, ...args) => storage.run(within, () => work.call(self, ...args)),
    bind: (_, target) => target,
    enable: () => context as never,
    disable: () => context as never,
  });
});
afterAll(() => {
  trace.disable();
  propagation.disable();
  context.disable();
});
beforeEach(() => void spans.splice(0));

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;

describe("traces", () => {
  it("go from a publish through its event to the handler, and on to what the handler emits", async () => {
    const bus = await withTracing(await createBus({ store: memoryStore() }));
    const seen: string[] = [];
    await bus.subscribe("second", "g", (event) => void seen.push(event.headers?.traceparent ?? ""), {
      from: "earliest",
    });
    await bus.subscribe("first", "g", (_, ctx) => ctx.emit("second", 2), { from: "earliest" });
    await bus.publish("first", 1);
    await expect.poll(() => seen).toHaveLength(1);
    await expect.poll(() => spans.every(({ ended }) => ended)).toBe(true);
    expect(spans.map(({ name }) => name)).toEqual([
      "first publish",
      "first process",
      "second publish",
      "second process",
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    for (const [i, { parentId }] of spans.entries()) expect(parentId).toBe(spans[i - 1]?.spanId);
    expect(seen[0]).toBe(`00-${spans[2]?.traceId}-${spans[2]?.spanId}-01`);
    await bus.close();
  });

  it("end with an error where a handler throws, and keep a traceparent that the event has", async () => {
    const bus = await withTracing(await createBus({ store: memoryStore() }));
    const fail = (): never => {
      throw new Error("no");
    };
    await bus.subscribe("t", "g", fail, { from: "earliest", maxAttempts: 1 });
    const { headers } = await bus.publish("t", 1, { headers: { traceparent: PARENT } });
    expect(headers).toEqual({ traceparent: PARENT });
    await expect.poll(() => spans.filter(({ ended }) => ended).length).toBe(2);
    expect(spans[1]).toMatchObject({ name: "t process", traceId: TRACE, status: SpanStatusCode.ERROR });
    await bus.close();
  });

  it("go through a hub: from the request's traceparent to the span of whoever acks over WebSocket", async () => {
    const bus = await createBus({ store: memoryStore() });
    const hub = await startHub({ bus, auth: "none", tracing: true });
    const socket = new WebSocket(`${hub.url.replace("http", "ws")}/ws`);
    await new Promise((resolve) => socket.once("open", resolve));
    const headersSeen: unknown[] = [];
    socket.on("message", (data) => {
      const frame = JSON.parse(data.toString()) as { type: string; event?: { id: string; headers: object } };
      if (frame.type !== "EVENT") return;
      headersSeen.push(frame.event?.headers);
      socket.send(JSON.stringify({ type: "ACK", topic: "t", group: "g", id: frame.event?.id }));
    });
    socket.send(JSON.stringify({ type: "SUBSCRIBE", topic: "t", group: "g", opts: { from: "earliest" } }));
    await fetch(`${hub.url}/publish`, {
      method: "POST",
      headers: { "content-type": "application/json", traceparent: PARENT },
      body: JSON.stringify({ topic: "t", payload: 1 }),
    });
    await expect.poll(() => spans.map(({ ended }) => ended)).toEqual([true]);
    expect(headersSeen).toEqual([{ traceparent: PARENT }]);
    expect(spans[0]).toMatchObject({ name: "t process", traceId: TRACE, status: SpanStatusCode.UNSET });
    expect(spans[0]?.attributes).toMatchObject({ "messaging.consumer.group.name": "g" });
    await hub.close();
    await bus.close();
  });
});
