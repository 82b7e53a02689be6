/** When handlers fail: retries, deadlines, and what the context offers meanwhile. */
import { describe, expect, it } from "vitest";
import { forever, recorder, useBench } from "../../test/support/bus-bench.js";
import { gate, settled } from "../../test/support/eventually.js";
import { fail, lettersOf, RETRY } from "../../test/support/failing-handlers.js";
import type { BusError } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import type { DeliveryContext } from "../model/event-bus.js";

const bench = useBench();

describe("a handler that throws", () => {
  it("P5: gets the event again, each time with the next attempt, each time after a longer wait", async () => {
    const bus = await bench().bus();
    const times: number[] = [];
    const { handler, seen } = recorder(() => {
      times.push(bench().clock.now());
      fail();
    });
    await bus.subscribe("t.a", "g", handler, { maxAttempts: 5, retry: RETRY });
    await bus.publish("t.a", 1);
    await bench().advance(10_000);
    expect(seen.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
    expect(times.map((t, i) => t - (times[i - 1] ?? t))).toEqual([0, 100, 200, 400, 800]);
  });

  it("is explained in a sentence whose nouns and verbs agree, for one event and for many", async () => {
    const bus = await bench().bus();
    await bus.subscribe("t.a", "g", fail, {
      maxAttempts: 5,
      retry: { ...RETRY, baseMs: 60_000, maxMs: 60_000 },
    });
    await bus.publishMany(
      "t.a",
      ["a", "a", "b"].map((key) => ({ payload: 1, key })),
    );
    await bench().advance(100);
    const early = await bus.admin.why({ topic: "t.a", group: "g" });
    expect(early?.sentence).toMatch(/; 1 event waits behind it\. 1 other event is failing too\.$/);
    await bus.publishMany(
      "t.a",
      ["a", "c"].map((key) => ({ payload: 1, key })),
    );
    await bench().advance(100);
    const later = await bus.admin.why({ topic: "t.a", group: "g" });
    expect(later?.sentence).toMatch(/; 2 events wait behind it\. 2 other events are failing too\.$/);
  });

  it("is explained by a bus that does not own the partition as by the one that does, with what waits behind it", async () => {
    const owner = await bench().bus();
    const other = await bench().bus();
    const late = (event: EventRecord): void => {
      if (event.key !== "c") fail();
    };
    await owner.subscribe("t.a", "g", late, { retry: { ...RETRY, baseMs: 60_000, maxMs: 60_000 } });
    await owner.publishMany(
      "t.a",
      ["a", "b", "a", "c", "a"].map((key) => ({ payload: 1, key })),
    );
    await bench().advance(5_000);
    for (const bus of [owner, other]) {
      const why = await bus.admin.why({ topic: "t.a", group: "g" });
      expect(why?.blocked.map(({ key, behind }) => [key, behind])).toEqual([
        ["a", 2],
        ["b", 0],
      ]);
      expect(why?.sentence).toContain("; 2 events wait behind it.");
    }
  });

  it("is explained with the wait that is left, also when the machine's clock was set", async () => {
    const bus = await bench().bus();
    await bus.subscribe("t.a", "g", fail, { retry: { ...RETRY, baseMs: 60_000, maxMs: 60_000 } });
    await bus.publish("t.a", 1, { key: "a" });
    await bench().advance(100);
    for (const seconds of [4, -8]) {
      bench().clock.jump(seconds * 1_000);
      const why = await bus.admin.why({ topic: "t.a", group: "g" });
      expect(why?.sentence).toContain("; next try in 60 s.");
    }
  });

  it("P8: counts as one that throws if what it returns cannot be looked at", async () => {
    const bus = await bench().bus();
    const unreadable = new Proxy({}, { get: fail });
    const { handler, seen } = recorder((_event, ctx) => (ctx.attempt === 1 ? unreadable : undefined));
    await bus.subscribe("t.a", "g", handler, { retry: RETRY });
    await bus.publishMany("t.a", [{ payload: 1 }, { payload: 2 }]);
    await bench().advance(1_000);
    expect(seen.map(({ attempt }) => attempt)).toEqual([1, 1, 2, 2]);
  });

  it("spreads its retries by jitter", async () => {
    const bus = await bench().bus();
    const times: number[] = [];
    await bus.subscribe(
      "t.a",
      "g",
      (event) => {
        if (times.push(bench().clock.now() - event.ts) <= 20) fail();
      },
      { retry: { ...RETRY, jitter: 0.5 } },
    );
    await bus.publishMany(
      "t.a",
      Array.from({ length: 20 }, (_, payload) => ({ payload })),
    );
    await bench().advance(100);
    const waits = times.slice(20);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(50);
    expect(new Set(waits).size).toBeGreaterThan(5);
  });

  it("succeeds later: the event is settled and nothing is left of the failure", async () => {
    const bus = await bench().bus();
    const { handler, seen } = recorder((_event, ctx) => {
      if (ctx.attempt < 3) fail();
    });
    await bus.subscribe("t.a", "g", handler, { retry: RETRY });
    await bus.publish("t.a", 1);
    await bench().advance(1_000);
    expect(seen).toHaveLength(3);
    expect(await bus.getCursor("t.a", "g")).toMatchObject({
      partitions: [{ floor: 1, lag: 0, inFlight: 0 }],
    });
    expect(await lettersOf(bus, "t.a")).toEqual([]);
  });

  it("whatever it throws, errors or not, sync or not, one clear line is kept of it", async () => {
    const bus = await bench().bus();
    const thrown: unknown[] = [
      new Error("an error"),
      "a string",
      undefined,
      null,
      42,
      { code: 7 },
      "",
      Object.assign(new TypeError("gone"), { message: "" }),
    ];
    for (const sync of [true, false]) {
      await bus.subscribe(
        `t.${sync ? "sync" : "async"}`,
        "g",
        (event) => {
          const what = thrown[event.payload as number];
          if (sync) throw what;
          return Promise.reject(what);
        },
        { maxAttempts: 1 },
      );
      const topic = sync ? "t.sync" : "t.async";
      await bus.publishMany(
        topic,
        thrown.map((_, payload) => ({ payload })),
      );
      await settled();
      const messages = (await lettersOf(bus, topic)).map(({ payload }) => payload.error.message);
      expect(messages).toEqual([
        "an error",
        "a string",
        "undefined",
        "null",
        "42",
        '{"code":7}',
        "an empty string was thrown",
        "TypeError",
      ]);
    }
  });

  it("a thenable that is no promise counts like one", async () => {
    const bus = await bench().bus();
    const { handler, seen } = recorder(() => ({
      // biome-ignore lint/suspicious/noThenProperty: a thenable that is no promise is what this is about.
      then: (_ok: unknown, failed: (e: unknown) => void) => failed(new Error("late")),
    }));
    await bus.subscribe("t.a", "g", handler, { maxAttempts: 1 });
    await bus.publish("t.a", 1);
    await settled();
    expect(seen).toHaveLength(1);
    expect(await lettersOf(bus, "t.a")).toHaveLength(1);
  });
});

describe("deadlines", () => {
  it("P5: a handler that never ends loses the event, which comes again with the next attempt", async () => {
    const bus = await bench().bus();
    const signals: AbortSignal[] = [];
    const { handler, seen } = recorder((_event, ctx) => {
      signals.push(ctx.signal);
      return ctx.attempt === 1 ? forever() : undefined;
    });
    await bus.subscribe("t.a", "g", handler, { ackTimeoutMs: 1_000, retry: RETRY });
    await bus.publish("t.a", 1);
    await bench().advance(999);
    expect(signals[0]?.aborted).toBe(false);
    await bench().advance(200);
    expect(signals[0]?.aborted).toBe(true);
    expect(signals[0]?.reason).toMatchObject({ code: "ACK_TIMEOUT" });
    expect(seen.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(signals[1]?.aborted).toBe(false);
    expect(await bus.getCursor("t.a", "g")).toMatchObject({ partitions: [{ floor: 1, inFlight: 0 }] });
  });

  it("P8: one that never ends, ever, ends in the dead letters", async () => {
    const bus = await bench().bus();
    await bus.subscribe("t.a", "g", forever, { ackTimeoutMs: 500, maxAttempts: 2, retry: RETRY });
    await bus.publish("t.a", 1);
    await bench().advance(5_000);
    expect(await lettersOf(bus, "t.a")).toMatchObject([
      { payload: { attempts: 2, error: { message: "not acknowledged within 500 ms" } } },
    ]);
  });

  it("P6: what a handler returns after its deadline changes nothing", async () => {
    const bus = await bench().bus();
    const late = gate();
    const second = gate();
    const { handler, seen } = recorder((_event, ctx) => (ctx.attempt === 1 ? late.passed : second.passed));
    await bus.subscribe("t.a", "g", handler, { ackTimeoutMs: 1_000, retry: RETRY });
    await bus.publish("t.a", 1);
    await bench().advance(1_100);
    expect(seen).toHaveLength(2);
    late.open();
    await settled();
    expect(await bus.getCursor("t.a", "g")).toMatchObject({ partitions: [{ floor: 0, inFlight: 1 }] });
    second.open();
    await settled();
    expect(await bus.getCursor("t.a", "g")).toMatchObject({ partitions: [{ floor: 1, inFlight: 0 }] });
  });

  it("ctx.extend moves the deadline, from now on, and is refused once it has passed", async () => {
    const bus = await bench().bus();
    const contexts: DeliveryContext[] = [];
    const { handler } = recorder((_event, ctx) => {
      contexts.push(ctx);
      return forever();
    });
    await bus.subscribe("t.a", "g", handler, { ackTimeoutMs: 1_000, retry: RETRY });
    await bus.publish("t.a", 1);
    await bench().advance(900);
    contexts[0]?.extend(2_000);
    await bench().advance(1_999);
    expect(contexts[0]?.signal.aborted).toBe(false);
    await bench().advance(1);
    expect(contexts[0]?.signal.aborted).toBe(true);
    expect(() => contexts[0]?.extend(1_000)).toThrow(expect.objectContaining({ code: "LEASE_LOST" }));
    for (const ms of [0, -5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => contexts[0]?.extend(ms)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
  });

  it("a short extension brings it nearer", async () => {
    const bus = await bench().bus();
    const { handler, seen } = recorder((_event, ctx) => {
      if (ctx.attempt > 1) return undefined;
      ctx.extend(50);
      return forever();
    });
    await bus.subscribe("t.a", "g", handler, { ackTimeoutMs: 60_000, retry: RETRY });
    await bus.publish("t.a", 1);
    await bench().advance(200);
    expect(seen).toHaveLength(2);
  });

  it("a place that a lost event held is free for others", async () => {
    const bus = await bench().bus();
    const { handler, payloads } = recorder((event) => (event.payload === 1 ? forever() : undefined));
    await bus.subscribe("t.a", "g", handler, { maxInFlight: 1, ackTimeoutMs: 1_000, maxAttempts: 1 });
    await bus.publishMany("t.a", [{ payload: 1 }, { payload: 2 }]);
    await bench().advance(1_000);
    expect(payloads()).toEqual([1, 2]);
  });
});

describe("the context", () => {
  it("tells the attempt, the most there may be, the place and the lease", async () => {
    const bus = await bench().bus();
    const seen: Record<string, unknown>[] = [];
    await bus.subscribe("t.a", "g", (_event, { topic, group, attempt, maxAttempts, fence, cursor }) => {
      seen.push({ topic, group, attempt, maxAttempts, fence, cursor });
    });
    const first = await bus.publish("t.a", 1);
    await settled();
    await bus.publish("t.a", 2);
    await settled();
    const common = {
      topic: "t.a",
      group: "g",
      attempt: 1,
      maxAttempts: 5,
      fence: { partition: 0, epoch: 1 },
    };
    expect(seen).toEqual([
      { ...common, cursor: { topic: "t.a" } },
      { ...common, cursor: { topic: "t.a", lastId: first.id, lastTs: first.ts } },
    ]);
  });

  it("its cursor is the newest event below which everything is settled, not just any that is", async () => {
    const bus = await bench().bus();
    const held = gate();
    const cursors: (string | undefined)[] = [];
    await bus.subscribe("t.a", "g", (event, ctx) => {
      cursors.push(ctx.cursor.lastId);
      return event.payload === 1 ? held.passed : undefined;
    });
    for (const payload of [1, 2]) await bus.publish("t.a", payload);
    const third = await bus.publish("t.a", 3);
    await settled();
    expect(cursors).toEqual([undefined, undefined, undefined]);
    held.open();
    await settled();
    await bus.publish("t.a", 4);
    await settled();
    expect(cursors.at(-1)).toBe(third.id);
  });

  it("P9: emit gives ids that a redelivery repeats, so that nothing is emitted twice", async () => {
    const bus = await bench().bus();
    const emitted: unknown[] = [];
    const { handler, seen } = recorder(async (event, { emit, attempt }) => {
      emitted.push(await emit("t.out", { of: event.payload, part: 1 }, { key: "k" }));
      if (attempt === 1) fail();
      emitted.push(await emit("t.out", { of: event.payload, part: 2 }));
      if (attempt === 2) fail();
    });
    await bus.subscribe("t.a", "g", handler, { retry: RETRY });
    const source = await bus.publish("t.a", "x");
    await bench().advance(1_000);
    expect(seen).toHaveLength(3);
    const out: EventRecord[] = [];
    for await (const event of bus.read("t.out")) out.push(event);
    expect(out).toMatchObject([
      { payload: { part: 1 }, key: "k", caused_by: [source.id] },
      { payload: { part: 2 }, caused_by: [source.id] },
    ]);
    expect(emitted).toMatchObject([{}, { duplicate: true }, {}, { duplicate: true }, { duplicate: true }]);
  });

  it("P9: two groups that emit for the same event emit two events", async () => {
    const bus = await bench().bus();
    for (const group of ["g1", "g2"]) await bus.subscribe("t.a", group, (_e, ctx) => ctx.emit("t.out", 1));
    await bus.publish("t.a", "x");
    await settled();
    const out: string[] = [];
    for await (const event of bus.read("t.out")) out.push(event.id);
    expect(new Set(out).size).toBe(2);
  });

  it("emit refuses what publish refuses, and the handler sees it", async () => {
    const bus = await bench().bus();
    const codes: string[] = [];
    await bus.subscribe("t.a", "g", async (_event, ctx) => {
      for (const attempt of [() => ctx.emit("NOT A TOPIC", 1), () => ctx.emit("t.out", undefined)])
        await attempt().catch((error: unknown) => codes.push((error as BusError).code));
    });
    await bus.publish("t.a", 1);
    await settled();
    expect(codes).toEqual(["INVALID_TOPIC", "INVALID_PAYLOAD"]);
  });
});
