/** Layers around publishing and handling. */
import { describe, expect, it } from "vitest";
import { recorder, useBench } from "../../test/support/bus-bench.js";
import { settled } from "../../test/support/eventually.js";
import type { Middleware, PublishRequest } from "../consume/middleware.js";
import { Fatal } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import type { BatchContext, DeliveryContext, PublishedRecord } from "../model/event-bus.js";

const bench = useBench();

/** Writes down when it is entered and left. */
function layer(name: string, log: string[]): Middleware {
  return {
    publish: async (request, next) => {
      log.push(`${name}>publish`);
      const record = await next(request);
      log.push(`publish>${name}`);
      return record;
    },
    handle: async (_event, _ctx, next) => {
      log.push(`${name}>handle`);
      await next();
      log.push(`handle>${name}`);
    },
    handleBatch: async (_events, _ctx, next) => {
      log.push(`${name}>batch`);
      await next();
      log.push(`batch>${name}`);
    },
  };
}

describe("bus.use", () => {
  it("the layer added first is outermost, around publishing, handling and batches", async () => {
    const bus = await bench().bus();
    const log: string[] = [];
    bus.use(layer("a", log));
    bus.use(layer("b", log));
    await bus.subscribe("t.a", "g", () => void log.push("handler"));
    await bus.publish("t.a", 1);
    await settled();
    expect(log.filter((entry) => entry.includes("publish"))).toEqual([
      "a>publish",
      "b>publish",
      "publish>b",
      "publish>a",
    ]);
    expect(log.filter((entry) => !entry.includes("publish"))).toEqual([
      "a>handle",
      "b>handle",
      "handler",
      "handle>b",
      "handle>a",
    ]);
    log.length = 0;
    await bus.subscribeBatch("t.a", "h", () => void log.push("handler"), { from: "earliest" });
    await settled();
    expect(log).toEqual(["a>batch", "b>batch", "handler", "batch>b", "batch>a"]);
  });

  it("a layer may be an object of a class: its parts are called on it", async () => {
    class Counting implements Middleware {
      readonly seen: string[] = [];
      publish(request: PublishRequest, next: (request: PublishRequest) => Promise<PublishedRecord>) {
        this.seen.push("publish");
        return next(request);
      }
      async handle(_event: EventRecord, _ctx: DeliveryContext, next: () => Promise<void>) {
        this.seen.push("handle");
        await next();
      }
      async handleBatch(_events: readonly EventRecord[], _ctx: BatchContext, next: () => Promise<void>) {
        this.seen.push("batch");
        await next();
      }
    }
    const bus = await bench().bus();
    const counting = new Counting();
    bus.use(counting);
    const handled: unknown[] = [];
    await bus.subscribe("t.a", "g", ({ payload }) => void handled.push(payload));
    await bus.subscribeBatch("t.a", "h", (events) => void handled.push(events.length));
    await bus.publish("t.a", "one");
    await settled();
    expect(counting.seen.toSorted()).toEqual(["batch", "handle", "publish"]);
    expect(handled).toHaveLength(2);
  });

  it("refuses what is no layer", async () => {
    const bus = await bench().bus();
    for (const none of [null, undefined, "x", () => undefined, { publish: "x" }, { handle: {} }])
      expect(() => bus.use(none as never)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
    await bus.publish("t.a", 1);
  });

  it("a layer that is removed is out at once, also of subscriptions that run; removing it twice is harmless", async () => {
    const bus = await bench().bus();
    const log: string[] = [];
    const removeA = bus.use(layer("a", log));
    bus.use(layer("b", log));
    await bus.subscribe("t.a", "g", () => undefined);
    removeA();
    removeA();
    await bus.publish("t.a", 1);
    await settled();
    expect([...log].sort()).toEqual(["b>handle", "b>publish", "handle>b", "publish>b"]);
  });

  it("may be the same object twice; each removal takes one away", async () => {
    const bus = await bench().bus();
    const log: string[] = [];
    const twice = layer("x", log);
    bus.use(twice);
    const remove = bus.use(twice);
    await bus.publish("t.a", 1);
    remove();
    await bus.publish("t.a", 2);
    expect(log.filter((entry) => entry === "x>publish")).toHaveLength(3);
  });

  it("a layer may change what is published, and refuse it", async () => {
    const bus = await bench().bus();
    bus.use({
      publish: (request, next) => {
        if (request.payload === "secret") throw new Fatal("not for publication");
        const { options } = request;
        return next({
          ...request,
          payload: [request.payload],
          options: { ...options, headers: { "x-seen": "1" } },
        });
      },
    });
    expect(await bus.publish<unknown>("t.a", 1)).toMatchObject({ payload: [1], headers: { "x-seen": "1" } });
    await expect(bus.publish("t.a", "secret")).rejects.toMatchObject({ message: "not for publication" });
  });

  it("a layer that throws at once fails the publish as one that rejects does", async () => {
    const bus = await bench().bus();
    bus.use({
      publish: () => {
        throw new Fatal("not today");
      },
    });
    await expect(bus.publish("t.a", 1)).rejects.toThrow("not today");
  });

  it("a publish goes through the layers it began with, whoever is removed meanwhile", async () => {
    const bus = await bench().bus();
    const log: string[] = [];
    const removeFirst = bus.use({
      publish: async (request, next) => {
        removeFirst();
        await Promise.resolve();
        return next(request);
      },
    });
    bus.use(layer("b", log));
    bus.use(layer("c", log));
    await bus.publish("t.a", 1);
    expect(log).toEqual(["b>publish", "c>publish", "publish>c", "publish>b"]);
  });

  it("a layer may send an event to another topic", async () => {
    const bus = await bench().bus();
    bus.use({ publish: (request, next) => next({ ...request, topic: `${request.topic}.v2` }) });
    expect(await bus.publish("t.a", 1)).toMatchObject({ topic: "t.a.v2" });
  });

  it("P8: a layer that throws in handling counts as the handler's failure; one that does not call on, settles", async () => {
    const bus = await bench().bus();
    bus.use({
      handle: async (event, _ctx, next) => {
        if (event.payload === "bad") throw new Error("refused by the layer");
        if (event.payload !== "skip") await next();
      },
    });
    const { handler, payloads } = recorder();
    await bus.subscribe("t.a", "g", handler, { maxAttempts: 1 });
    await bus.publishMany(
      "t.a",
      ["bad", "skip", "good"].map((payload) => ({ payload })),
    );
    await settled();
    expect(payloads()).toEqual(["good"]);
    expect((await bus.getCursor("t.a", "g"))?.partitions[0]?.floor).toBe(3);
    const letters: unknown[] = [];
    for await (const { payload } of bus.read("dlq.t.a")) letters.push(payload);
    expect(letters).toMatchObject([{ error: { message: "refused by the layer" } }]);
  });

  it("a layer may hand on another event, or other events of a batch", async () => {
    const bus = await bench().bus();
    bus.use({
      handle: (event, _ctx, next) => next({ ...event, payload: `<${event.payload}>` }),
      handleBatch: (events, _ctx, next) => next(events.filter(({ payload }) => payload !== "b")),
    });
    const { handler, payloads } = recorder();
    await bus.subscribe("t.a", "g", handler);
    const batches: unknown[][] = [];
    await bus.subscribeBatch("t.a", "h", (events) => void batches.push(events.map(({ payload }) => payload)));
    await bus.publishMany(
      "t.a",
      ["a", "b"].map((payload) => ({ payload })),
    );
    await settled();
    expect(payloads()).toEqual(["<a>", "<b>"]);
    expect(batches).toEqual([["a"]]);
    expect((await bus.getCursor("t.a", "h"))?.partitions[0]?.floor).toBe(2);
  });

  it("what handlers emit goes through the layers as well, and keeps its derived id", async () => {
    const bus = await bench().bus();
    const log: string[] = [];
    bus.use({
      publish: (request, next) => {
        log.push(`${request.topic} ${request.options.id ?? "-"}`);
        return next({ ...request, options: { ...request.options, tags: ["layered"] } });
      },
    });
    let emitted: { id: string; tags?: readonly string[] } | undefined;
    await bus.subscribe("t.a", "g", async (_event, ctx) => {
      emitted = await ctx.emit("t.out", 1);
    });
    await bus.publish("t.a", 1);
    await settled();
    expect(log).toEqual(["t.a -", `t.out ${emitted?.id}`]);
    expect(emitted?.tags).toEqual(["layered"]);
  });

  it("P2: many events keep their order through layers that take their time", async () => {
    const bus = await bench().bus();
    bus.use({
      publish: async (request, next) => {
        for (let hop = 0; hop < 10 - (request.payload as number); hop++) await null;
        return next(request);
      },
    });
    await bus.publishMany(
      "t.a",
      Array.from({ length: 10 }, (_, payload) => ({ payload })),
    );
    const payloads: unknown[] = [];
    for await (const event of bus.read("t.a")) payloads.push(event.payload);
    expect(payloads).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});

describe("bus.with", () => {
  it("is a bus on the same parts with one layer more, inside those of the bus it came from", async () => {
    const bus = await bench().bus();
    const log: string[] = [];
    const derived = bus.with(layer("inner", log));
    bus.use(layer("outer", log));
    await derived.publish("t.a", 1);
    expect(log).toEqual(["outer>publish", "inner>publish", "publish>inner", "publish>outer"]);
    log.length = 0;
    await bus.publish("t.a", 2);
    expect(log).toEqual(["outer>publish", "publish>outer"]);
    expect(derived.store).toBe(bus.store);
  });

  it("its handlers have its layer, those of the other bus have not", async () => {
    const bus = await bench().bus();
    const log: string[] = [];
    const derived = bus.with(layer("inner", log));
    await bus.subscribe("t.a", "plain", () => undefined);
    await derived.subscribe("t.a", "layered", () => undefined);
    await bus.publish("t.a", 1);
    await settled();
    expect(log).toEqual(["inner>handle", "handle>inner"]);
  });

  it("closing either closes both", async () => {
    const bus = await bench().bus();
    await bus.with({}).close();
    await expect(bus.publish("t.a", 1)).rejects.toMatchObject({ code: "CLOSED" });
  });
});
