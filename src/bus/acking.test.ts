/** Acks by hand, and batches. */
import { describe, expect, it } from "vitest";
import { forever, recorder, useBench } from "../../test/support/bus-bench.js";
import { gate, settled } from "../../test/support/eventually.js";
import { Fatal } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import type { BatchContext, DeliveryContext } from "../model/event-bus.js";
import { defineTopic } from "../model/topic.js";
import type { Bus } from "./bus.js";

const bench = useBench();
const RETRY = { baseMs: 100, maxMs: 1_000, factor: 2, jitter: 0 };

async function floor(bus: Bus, topic = "t.a"): Promise<number | undefined> {
  return (await bus.getCursor(topic, "g"))?.partitions[0]?.floor;
}

/** A handler that keeps its contexts, for acks from outside. */
function keeper(): { contexts: DeliveryContext[]; handler: (e: EventRecord, ctx: DeliveryContext) => void } {
  const contexts: DeliveryContext[] = [];
  return { contexts, handler: (_event, ctx) => void contexts.push(ctx) };
}

describe("manualAck", () => {
  it("the handler's return settles nothing; bus.ack does", async () => {
    const bus = await bench().bus();
    const { handler, seen } = recorder();
    await bus.subscribe("t.a", "g", handler, { manualAck: true });
    const { id } = await bus.publish("t.a", 1);
    await settled();
    expect(seen).toHaveLength(1);
    expect(await floor(bus)).toBe(0);
    expect(await bus.ack("t.a", "g", id)).toEqual({ id, ok: true });
    expect(await floor(bus)).toBe(1);
  });

  it("P4: the next of its key comes only after the ack", async () => {
    const bus = await bench().bus();
    const { handler, payloads } = recorder();
    await bus.subscribe("t.a", "g", handler, { manualAck: true });
    const { id } = await bus.publish("t.a", 1, { key: "k" });
    await bus.publish("t.a", 2, { key: "k" });
    await settled();
    expect(payloads()).toEqual([1]);
    await bus.ack("t.a", "g", id);
    await settled();
    expect(payloads()).toEqual([1, 2]);
  });

  it("P5, P8: bus.nack gives it back with a reason; the last one buries it", async () => {
    const bus = await bench().bus();
    const { handler, seen } = recorder();
    await bus.subscribe("t.a", "g", handler, { manualAck: true, maxAttempts: 2, retry: RETRY });
    const { id } = await bus.publish("t.a", 1);
    await settled();
    expect(await bus.nack("t.a", "g", id, "not now")).toEqual({ id, ok: true });
    await bench().advance(100);
    expect(seen.map(({ attempt }) => attempt)).toEqual([1, 2]);
    await bus.nack("t.a", "g", id, "not ever");
    await settled();
    const letters: unknown[] = [];
    for await (const { payload } of bus.read("dlq.t.a")) letters.push(payload);
    expect(letters).toMatchObject([{ attempts: 2, error: { message: "not ever" } }]);
  });

  it("P13: a reason is kept as one line of bounded length, whatever it is", async () => {
    const bus = await bench().bus();
    const reasons = ["no ".repeat(1_000_000), " ".repeat(1_000_000), "not\nnow", 7 as unknown as string];
    const retry = { ...RETRY, baseMs: 60_000, maxMs: 60_000 };
    const { handler } = recorder(({ payload }, { nack }) => nack(reasons[payload as number]));
    await bus.subscribe("t.a", "g", handler, { manualAck: true, retry });
    await bus.publishMany(
      "t.a",
      reasons.map((_, payload) => ({ payload })),
    );
    await bench().advance(100);
    const { blocked } = (await bus.admin.why({ topic: "t.a", group: "g" })) ?? {};
    const errors = (blocked ?? []).map(({ error }) => String(error));
    expect(errors.map((error) => error.length)).toEqual([500, 500, 7, 1]);
    expect(errors.slice(2)).toEqual(["not now", "7"]);
  });

  it("ctx.ack and ctx.nack settle their own attempt, with or without manualAck", async () => {
    const bus = await bench().bus();
    const answers: unknown[] = [];
    const { handler, seen } = recorder(async (_event, { ack, nack, attempt }) => {
      answers.push(attempt === 1 ? await nack("once more") : await ack());
    });
    await bus.subscribe("t.a", "g", handler, { manualAck: true, retry: RETRY });
    await bus.publish("t.a", 1);
    await bench().advance(100);
    expect(answers).toMatchObject([{ ok: true }, { ok: true }]);
    expect(seen).toHaveLength(2);
    expect(await floor(bus)).toBe(1);
    await bus.subscribe("t.b", "g", async (_event, ctx) => {
      answers.push(await ctx.ack(), await ctx.ack());
      throw new Error("too late to matter");
    });
    await bus.publish("t.b", 1);
    await bench().advance(1_000);
    expect(answers.slice(2)).toMatchObject([{ ok: true }, { ok: false }]);
    expect(await floor(bus, "t.b")).toBe(1);
  });

  it("P6: a stale ack or nack changes nothing and says LEASE_LOST", async () => {
    const bus = await bench().bus();
    const { contexts, handler } = keeper();
    await bus.subscribe("t.a", "g", handler, { manualAck: true, ackTimeoutMs: 1_000, retry: RETRY });
    const { id } = await bus.publish("t.a", 1);
    await bench().advance(1_100);
    const [first, second] = contexts;
    expect(second?.attempt).toBe(2);
    for (const answer of [await first?.ack(), await first?.nack("stale")]) {
      expect(answer).toMatchObject({ id, ok: false, err: expect.stringMatching(/^LEASE_LOST: /) });
    }
    expect(await bus.getCursor("t.a", "g")).toMatchObject({ partitions: [{ floor: 0, inFlight: 1 }] });
    expect(await second?.ack()).toEqual({ id, ok: true });
    expect(await second?.ack()).toMatchObject({ ok: false, err: expect.stringMatching(/^LEASE_LOST/) });
  });

  it("P6: an ack between the deadline and the next attempt is stale too", async () => {
    const bus = await bench().bus();
    const { contexts, handler } = keeper();
    await bus.subscribe("t.a", "g", handler, { manualAck: true, ackTimeoutMs: 1_000, retry: RETRY });
    const { id } = await bus.publish("t.a", 1);
    await bench().advance(1_010);
    expect(await contexts[0]?.ack()).toMatchObject({ ok: false });
    expect(await bus.ack("t.a", "g", id)).toMatchObject({
      ok: false,
      err: expect.stringMatching(/^LEASE_LOST/),
    });
    await bench().advance(100);
    expect(contexts).toHaveLength(2);
  });

  it("an ack of an unknown event, group or topic is a clear answer, not an error", async () => {
    const bus = await bench().bus();
    await bus.subscribe("t.a", "g", () => undefined);
    expect(await bus.ack("t.a", "g", "nobody-knows")).toEqual({
      id: "nobody-knows",
      ok: false,
      err: expect.stringMatching(/^LEASE_LOST: /),
    });
    for (const [topic, group] of [
      ["t.a", "other"],
      ["t.other", "g"],
    ] as const) {
      expect(await bus.nack(topic, group, "x")).toEqual({
        id: "x",
        ok: false,
        err: expect.stringMatching(/^NOT_FOUND: /),
      });
    }
  });

  it("P6: an ack after the subscription was stopped is stale; the event was given back", async () => {
    const bus = await bench().bus();
    const { contexts, handler } = keeper();
    const stop = await bus.subscribe("t.a", "g", handler, { manualAck: true });
    await bus.publish("t.a", 1);
    await settled();
    const stopping = stop();
    await bench().advance(30_000);
    await stopping;
    expect(contexts[0]?.signal.aborted).toBe(true);
    expect(await contexts[0]?.ack()).toMatchObject({ ok: false, err: expect.stringMatching(/^LEASE_LOST/) });
    const again = recorder();
    await bus.subscribe("t.a", "g", again.handler);
    await settled();
    expect(again.seen).toMatchObject([{ payload: 1, attempt: 2 }]);
  });
});

describe("batches", () => {
  it("hands arrays to the handler, in log order, up to the batch's size, each settled by its return", async () => {
    const bus = await bench().bus();
    const batches: unknown[][] = [];
    await bus.subscribeBatch(
      "t.a",
      "g",
      (events) => void batches.push(events.map(({ payload }) => payload)),
      {
        from: "earliest",
        batchSize: 3,
      },
    );
    await bus.publishMany(
      "t.a",
      [1, 2, 3, 4, 5].map((payload) => ({ payload, key: "k" })),
    );
    await settled();
    expect(batches.flat()).toEqual([1, 2, 3, 4, 5]);
    expect(Math.max(...batches.map(({ length }) => length))).toBe(3);
    expect(await floor(bus)).toBe(5);
  });

  it("never mixes partitions in a batch, nor lets a key overtake itself", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: 3 })] });
    const byKey = new Map<string, unknown[]>();
    await bus.subscribeBatch(
      "t.p",
      "g",
      async (events, ctx) => {
        expect(new Set(events.map(({ partition }) => partition))).toEqual(new Set([ctx.fence.partition]));
        await null;
        for (const { key = "", payload } of events) byKey.set(key, [...(byKey.get(key) ?? []), payload]);
      },
      { batchSize: 7 },
    );
    await bus.publishMany(
      "t.p",
      Array.from({ length: 200 }, (_, i) => ({ payload: i, key: `k${i % 11}` })),
    );
    await settled(20);
    for (let k = 0; k < 11; k++)
      expect(byKey.get(`k${k}`)).toEqual(
        Array.from({ length: 200 }, (_, i) => i).filter((i) => i % 11 === k),
      );
  });

  it("P8: a batch that fails comes again in halves, down to one by one; only the one at fault is buried, the others counted once", async () => {
    const bus = await bench().bus();
    const calls: { payloads: unknown[]; attempts: readonly number[] }[] = [];
    await bus.subscribeBatch(
      "t.a",
      "g",
      (events, ctx) => {
        calls.push({ payloads: events.map(({ payload }) => payload), attempts: ctx.attempts });
        if (events.some(({ payload }) => payload === "bad")) throw new Error("poison");
      },
      { maxAttempts: 2, retry: RETRY },
    );
    await bus.publishMany(
      "t.a",
      ["a", "bad", "b"].map((payload) => ({ payload, key: "k" })),
    );
    await bench().advance(1_000);
    expect(calls[0]).toEqual({ payloads: ["a", "bad", "b"], attempts: [1, 1, 1] });
    expect(calls.slice(1)).toEqual([
      { payloads: ["a", "bad"], attempts: [2, 2] },
      { payloads: ["a"], attempts: [3] },
      { payloads: ["bad"], attempts: [3] },
      { payloads: ["bad"], attempts: [4] },
      { payloads: ["b"], attempts: [2] },
    ]);
    const letters: unknown[] = [];
    for await (const { payload } of bus.read("dlq.t.a")) letters.push(payload);
    expect(letters).toMatchObject([{ event: { payload: "bad" }, error: { message: "poison" } }]);
    expect(await floor(bus)).toBe(3);
  });

  it("P8: Fatal buries nobody but the one that throws it alone", async () => {
    const bus = await bench().bus();
    await bus.subscribeBatch("t.a", "g", (events) => {
      if (events.some(({ payload }) => payload === "bad")) throw new Fatal("no use");
    });
    await bus.publishMany(
      "t.a",
      ["a", "bad"].map((payload) => ({ payload })),
    );
    await bench().advance(1_000);
    const letters: unknown[] = [];
    for await (const { payload } of bus.read("dlq.t.a")) letters.push(payload);
    expect(letters).toMatchObject([{ event: { payload: "bad" } }]);
  });

  it("P8: a batch that never ends is lost as one, and no event pays for the others", async () => {
    const bus = await bench().bus();
    const calls: unknown[][] = [];
    const signals: AbortSignal[] = [];
    await bus.subscribeBatch(
      "t.a",
      "g",
      (events, ctx) => {
        calls.push(events.map(({ payload }) => payload));
        signals.push(ctx.signal);
        return events.some(({ payload }) => payload === "hangs") ? forever() : undefined;
      },
      { ackTimeoutMs: 1_000, maxAttempts: 1 },
    );
    await bus.publishMany(
      "t.a",
      ["a", "hangs", "b"].map((payload) => ({ payload })),
    );
    await bench().advance(3_000);
    expect(signals[0]?.aborted).toBe(true);
    expect(calls).toEqual([["a", "hangs", "b"], ["a", "hangs"], ["b"], ["a"], ["hangs"]]);
    const letters: unknown[] = [];
    for await (const { payload } of bus.read("dlq.t.a")) letters.push(payload);
    expect(letters).toMatchObject([{ event: { payload: "hangs" } }]);
  });

  it("filters take events out of a batch and settle them", async () => {
    const bus = await bench().bus();
    const batches: unknown[][] = [];
    await bus.subscribeBatch(
      "t.a",
      "g",
      (events) => void batches.push(events.map(({ payload }) => payload)),
      {
        filter: ({ payload }) => payload !== "no",
      },
    );
    await bus.publishMany(
      "t.a",
      ["no", "yes", "no"].map((payload) => ({ payload })),
    );
    await bus.publishMany("t.a", [{ payload: "no" }]);
    await settled();
    expect(batches).toEqual([["yes"]]);
    expect(await floor(bus)).toBe(4);
  });

  it("P9: emitFor belongs to one event of the batch, however batches are cut", async () => {
    const bus = await bench().bus();
    let calls = 0;
    await bus.subscribeBatch(
      "t.a",
      "g",
      async (events, ctx) => {
        for (const event of events) await ctx.emitFor(event, "t.out", event.payload);
        if (++calls === 1) throw new Error("after the fact");
      },
      { retry: RETRY },
    );
    await bus.publishMany(
      "t.a",
      [1, 2, 3].map((payload) => ({ payload })),
    );
    await bench().advance(1_000);
    const out: unknown[] = [];
    for await (const { payload } of bus.read("t.out")) out.push(payload);
    expect(out).toEqual([1, 2, 3]);
    expect(calls).toBe(3);
  });

  it("emitFor refuses an event that is not in the batch; extend moves the whole batch's deadline", async () => {
    const bus = await bench().bus();
    const held = gate();
    let ctx: BatchContext | undefined;
    let strange: unknown;
    const stranger = await bus.publish("t.b", 1);
    await bus.subscribeBatch(
      "t.a",
      "g",
      async (_events, c) => {
        ctx = c;
        try {
          await c.emitFor(stranger, "t.out", 1);
        } catch (error) {
          strange = error;
        }
        await held.passed;
      },
      { ackTimeoutMs: 1_000 },
    );
    await bus.publishMany(
      "t.a",
      [1, 2].map((payload) => ({ payload })),
    );
    await bench().advance(900);
    expect(strange).toMatchObject({ code: "NOT_FOUND" });
    ctx?.extend(5_000);
    await bench().advance(4_000);
    expect(ctx?.signal.aborted).toBe(false);
    held.open();
    await settled();
    expect(await floor(bus)).toBe(2);
  });
});
