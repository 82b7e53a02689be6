/** Subscriptions as gateways use them: paused, abandoned, raw; and a bus on the machine's own clock. */
import { afterEach, describe, expect, it } from "vitest";
import { forever, recorder, useBench } from "../../test/support/bus-bench.js";
import { eventually, settled } from "../../test/support/eventually.js";
import type { Delivered } from "../consume/context.js";
import type { StoredEvent } from "../model/event.js";
import { memoryStore } from "../stores/memory/index.js";
import type { Bus } from "./bus.js";
import { createBus } from "./create-bus.js";

const bench = useBench();

describe("an attached subscription", () => {
  it("takes nothing while it is paused, keeps what it holds, and goes on afterwards", async () => {
    const bus = await bench().bus();
    const { handler, payloads } = recorder();
    const work = { kind: "single", handler } as const;
    const subscription = await bus.attach(["t.a", "t.b"], { group: "g", work, options: {} });
    subscription.setPaused(true);
    await bus.publish("t.a", 1);
    await bus.publish("t.b", 2);
    await settled();
    expect(payloads()).toEqual([]);
    subscription.setPaused(false);
    await settled();
    expect(payloads().sort()).toEqual([1, 2]);
  });

  it("stays paused in topics that it joins meanwhile", async () => {
    const bus = await bench().bus();
    const { handler, payloads } = recorder();
    const work = { kind: "single", handler } as const;
    const subscription = await bus.attach("shop.*", { group: "g", work, options: {} });
    subscription.setPaused(true);
    await bus.publish("shop.new", 1);
    await settled();
    expect(payloads()).toEqual([]);
    subscription.setPaused(false);
    await settled();
    expect(payloads()).toEqual([1]);
  });

  it("P5: abandoned, gives back at once what it holds, uncounted, for others to take", async () => {
    const bus = await bench().bus();
    const stuck = recorder(forever);
    const options = { maxAttempts: 1 };
    const work = { kind: "single", handler: stuck.handler } as const;
    const subscription = await bus.attach("t.a", { group: "g", work, options });
    await bus.publishMany(
      "t.a",
      [1, 2].map((payload) => ({ payload })),
    );
    await settled();
    const other = recorder();
    await bus.subscribe("t.a", "g", other.handler, options);
    await subscription.abandon("its connection is gone");
    await settled();
    expect(other.seen).toMatchObject([
      { payload: 1, attempt: 2 },
      { payload: 2, attempt: 2 },
    ]);
  });

  it("raw handlers get events as the log has them, and settle them by their return or by hand", async () => {
    const bus = await bench().bus();
    const texts: string[] = [];
    const held: Delivered[] = [];
    const handler = (event: StoredEvent, delivery: Delivered): void => {
      texts.push(event.body.text);
      held.push(delivery);
    };
    await bus.attach("t.a", { group: "g", work: { kind: "raw", handler }, options: { manualAck: true } });
    await bus.publish("t.a", { x: 1 });
    await settled();
    expect(texts).toEqual(['{"x":1}']);
    expect((await bus.getCursor("t.a", "g"))?.partitions[0]).toMatchObject({ floor: 0, inFlight: 1 });
    expect(await held[0]?.ack()).toMatchObject({ ok: true });
    expect((await bus.getCursor("t.a", "g"))?.partitions[0]).toMatchObject({ floor: 1, inFlight: 0 });
  });

  it("tells when it has stopped, whoever stopped it, also those who ask late", async () => {
    const bus = await bench().bus();
    const work = { kind: "single", handler: () => undefined } as const;
    const subscription = await bus.attach("t.a", { group: "g", work, options: {} });
    const told: string[] = [];
    subscription.onStopped(() => told.push("early"));
    expect(told).toEqual([]);
    await bus.close();
    subscription.onStopped(() => told.push("late"));
    expect(told).toEqual(["early", "late"]);
  });
});

describe("on the machine's own clock", () => {
  let bus: Bus | undefined;
  afterEach(async () => {
    await bus?.close();
  });

  it("P4, P5, P8: delivers, retries, misses deadlines and buries, just the same", async () => {
    bus = await createBus({ store: memoryStore() });
    const { handler, seen } = recorder((event, ctx) => {
      if (event.payload === "fails once" && ctx.attempt === 1) throw new Error("once");
      if (event.payload === "hangs") return forever();
      if (event.payload === "poison") throw new Error("always");
      return undefined;
    });
    await bus.subscribe("t.a", "g", handler, { maxAttempts: 2, ackTimeoutMs: 30, retry: { baseMs: 5 } });
    const payloads = ["fails once", "hangs", "poison", "fine"];
    await bus.publishMany(
      "t.a",
      payloads.map((payload) => ({ payload, key: payload })),
    );
    const { store } = bus;
    await eventually(async () => {
      const state = await store.groups.state({ topic: "t.a", group: "g" }, { nowMs: Date.now() });
      return state?.leases[0]?.cursor.floor === 4;
    }, "everything is settled and committed");
    const attempts = (payload: string) => seen.filter((s) => s.payload === payload).map((s) => s.attempt);
    expect(payloads.map(attempts)).toEqual([[1, 2], [1, 2], [1, 2], [1]]);
    const letters: unknown[] = [];
    for await (const letter of bus.read("dlq.t.a")) letters.push(letter.key);
    expect(letters.sort()).toEqual(["hangs", "poison"]);
  });
});
