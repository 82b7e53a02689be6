/** What the compiler knows of payloads. These tests fail in `tsc -b`: types are gone when they run. */
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { EventOf, Handler } from "../model/event-bus.js";
import { defineTopic, type TopicDefinition } from "../model/topic.js";
import { subscribeNormalized } from "../schema/evolution/subscribe-normalized.js";
import { SchemaRegistry } from "../schema/registry/registry.js";
import { memoryStore } from "../stores/memory/index.js";
import type { Bus } from "./bus.js";
import { createBus } from "./create-bus.js";

const Order = z.object({ order: z.number(), currency: z.string().default("EUR"), placed: z.coerce.date() });
type Written = { order: number; currency?: string | undefined; placed: unknown };
type Read = { order: number; currency: string; placed: Date };

const Placed = defineTopic("orders.placed", {
  schema: Order,
  key: (read) => {
    expectTypeOf(read).toEqualTypeOf<Read>();
    return `${read.currency}-${read.placed.getUTCFullYear()}`;
  },
});

describe("the types of payloads", () => {
  it("are what is stored, for who publishes and who subscribes: defaults and transforms are ways of reading", async () => {
    const bus = await createBus({ store: memoryStore(), topics: [Placed] });
    const published = await bus.publish(Placed, { order: 7, placed: "2024-05-01" });
    expectTypeOf(published.payload).toEqualTypeOf<Written>();
    expect(published).toMatchObject({ key: "EUR-2024", payload: { order: 7, placed: "2024-05-01" } });
    const payload = await new Promise((handled) => {
      void bus.subscribe(
        Placed,
        "mailer",
        (event) => {
          expectTypeOf(event.payload).toEqualTypeOf<Written>();
          handled(event.payload);
        },
        { from: "earliest" },
      );
    });
    expect(payload).toEqual({ order: 7, placed: "2024-05-01" });
    await bus.close();
  });

  it("are what the schema makes of it for who subscribes normalised", async () => {
    const bus = await createBus({ store: memoryStore(), topics: [Placed] });
    const schemas = new SchemaRegistry();
    schemas.register({ topic: Placed, version: 1, schema: Order });
    await bus.publish(Placed, { order: 7, placed: "2024-05-01" });
    const payload = await new Promise((handled) => {
      void subscribeNormalized(
        bus,
        Placed,
        "mailer",
        (event) => {
          expectTypeOf(event.payload).toEqualTypeOf<Read>();
          handled(event.payload);
        },
        { schemas, from: "earliest" },
      );
    });
    expect(payload).toEqual({ order: 7, currency: "EUR", placed: new Date("2024-05-01") });
    await bus.close();
  });

  it("come from the topic alone: what lacks a member, says more or is unknown does not fit", async () => {
    const Point = defineTopic<{ x: number; y: number }>("points");
    const bus = await createBus({ store: memoryStore(), topics: [Point] });
    const less = { x: 1 };
    // @ts-expect-error it lacks y
    await bus.publish(Point, less);
    // @ts-expect-error a point has no z
    await bus.publish(Point, { x: 1, y: 2, z: 3 });
    // @ts-expect-error it may be anything
    await bus.publish(Point, JSON.parse("{}") as unknown);
    // @ts-expect-error nothing is no point
    await bus.publish(Point, null);
    // @ts-expect-error it lacks y
    await bus.publishMany(Point, [{ payload: less }]);
    await bus.publish("points", less);
    expect((await bus.topics()).map(({ name }) => name)).toEqual(["points"]);
    await bus.close();
  });

  it("have null in them where the topic is compacted: a tombstone", async () => {
    const State = defineTopic("state", { schema: z.object({ cpu: z.number() }), compaction: true });
    expectTypeOf(State).toEqualTypeOf<
      TopicDefinition<{ cpu: number } | null, { cpu: number } | null, "state">
    >();
    const bus = await createBus({ store: memoryStore(), topics: [State] });
    expect(await bus.publish(State, null, { key: "a" })).toMatchObject({ payload: null });
    await bus.close();
  });

  it("are those that a validator of one's own gives", () => {
    const mine = { safeParse: (value: unknown) => ({ success: true as const, data: value as { a: 1 } }) };
    expectTypeOf(defineTopic("mine", { schema: mine })).toEqualTypeOf<
      TopicDefinition<{ a: 1 }, { a: 1 }, "mine">
    >();
    expectTypeOf(defineTopic("any")).toEqualTypeOf<TopicDefinition<unknown, unknown, "any">>();
    expectTypeOf(defineTopic<1>("one")).toEqualTypeOf<TopicDefinition<1, 1>>();
  });
});

describe("a handler of several topics", () => {
  const Cancelled = defineTopic("orders.cancelled", { schema: z.object({ reason: z.string() }) });
  let bus: Bus;
  beforeEach(async () => {
    bus = await createBus({ store: memoryStore(), topics: [Placed, Cancelled] });
    await bus.publish(Placed, { order: 7, placed: "2024-05-01" });
    await bus.publish(Cancelled, { reason: "too late" });
  });
  afterEach(() => bus.close());

  it("gets the payloads of all of them, and the topic's name tells which", async () => {
    const seen: unknown[] = [];
    await bus.subscribe(
      [Placed, Cancelled],
      "ledger",
      (event) => {
        expectTypeOf(event.payload).toEqualTypeOf<Written | { reason: string }>();
        expectTypeOf(event.topic).toEqualTypeOf<"orders.placed" | "orders.cancelled">();
        if (event.topic === "orders.placed") seen.push(event.payload.order);
        else seen.push(event.payload.reason);
        // @ts-expect-error an order that was cancelled has none
        return event.payload.order;
      },
      { from: "earliest" },
    );
    await expect.poll(() => seen.toSorted()).toEqual([7, "too late"]);
  });

  it("gets batches of them", async () => {
    const seen: string[] = [];
    await bus.subscribeBatch(
      [Placed, Cancelled],
      "ledger",
      (events) => {
        expectTypeOf(events).toEqualTypeOf<readonly (EventOf<typeof Placed> | EventOf<typeof Cancelled>)[]>();
        for (const event of events) if (event.topic === "orders.cancelled") seen.push(event.payload.reason);
      },
      { from: "earliest" },
    );
    await expect.poll(() => seen).toEqual(["too late"]);
  });

  it("knows nothing of topics that are given by name, and what is said of all of them is believed", async () => {
    const onAny: Handler<{ reason: string }> = () => undefined;
    await bus.subscribe([Cancelled, "orders.*"], "a", (event) => {
      expectTypeOf(event.payload).toEqualTypeOf<unknown>();
    });
    await bus.subscribe(["orders.placed", "orders.cancelled"], "b", onAny);
    await bus.subscribe<number>(["orders.placed", Cancelled.name], "c", (event) => {
      expectTypeOf(event.payload).toEqualTypeOf<number>();
    });
    const Other = defineTopic<{ reason: string }>("others");
    await bus.subscribe([Cancelled, Other], "d", onAny);
    // @ts-expect-error an order that was placed has no reason
    await bus.subscribe([Placed, Cancelled], "e", onAny);
    expect((await bus.getCursor("others", "d"))?.topic).toBe("others");
  });
});
