/** Subscribing: where a group begins, and what it gets. */
import { describe, expect, it } from "vitest";
import { recorder, useBench } from "../../test/support/bus-bench.js";
import { settled } from "../../test/support/eventually.js";
import { defineTopic } from "../model/topic.js";

const bench = useBench();

describe("where a group begins", () => {
  it("at the latest event by default: only what comes after the subscription", async () => {
    const bus = await bench().bus();
    await bus.publish("t.a", "before");
    const { handler, payloads } = recorder();
    await bus.subscribe("t.a", "g", handler);
    await bus.publish("t.a", "after");
    await settled();
    expect(payloads()).toEqual(["after"]);
  });

  it("at the earliest, if it says so", async () => {
    const bus = await bench().bus();
    await bus.publishMany("t.a", [{ payload: 1 }, { payload: 2 }]);
    const { handler, payloads } = recorder();
    await bus.subscribe("t.a", "g", handler, { from: "earliest" });
    await bus.publish("t.a", 3);
    await settled();
    expect(payloads()).toEqual([1, 2, 3]);
  });

  it("at a time: with the first event that is no older", async () => {
    const bus = await bench().bus();
    for (const ts of [100, 200, 300]) await bus.publish("t.a", ts, { ts });
    const { handler, payloads } = recorder();
    await bus.subscribe("t.a", "g", handler, { from: "ts", ts: 150 });
    await settled();
    expect(payloads()).toEqual([200, 300]);
  });

  it("after an event: in its own partition right behind it, in others from its time on", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: 2 })] });
    const plan = [
      [0, 1],
      [1, 1],
      [0, 5],
      [1, 5],
      [0, 5],
    ] as const;
    const records = [];
    for (const [partition, ts] of plan)
      records.push(await bus.publish("t.p", `${partition}@${ts}`, { partition, ts }));
    const { handler, payloads } = recorder();
    await bus.subscribe("t.p", "g", handler, { from: "afterId", afterId: records[2]?.id ?? "" });
    await settled();
    expect(payloads().sort()).toEqual(["0@5", "1@5"]);
  });

  it("after an event that is not there is NOT_FOUND, and no group comes of it", async () => {
    const bus = await bench().bus();
    await bus.publish("t.a", 1);
    const failing = bus.subscribe("t.a", "g", () => undefined, { from: "afterId", afterId: "nope" });
    await expect(failing).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await bus.getCursor("t.a", "g")).toBeNull();
    // And the failure does not stand in the way of a better try.
    const { handler, payloads } = recorder();
    await bus.subscribe("t.a", "g", handler, { from: "earliest" });
    await settled();
    expect(payloads()).toEqual([1]);
  });

  it("after an event of one of several topics: in the others from its time on", async () => {
    const bus = await bench().bus();
    await bus.publish("t.a", "a1", { ts: 10 });
    const { id } = await bus.publish("t.a", "a2", { ts: 20 });
    await bus.publish("t.a", "a3", { ts: 30 });
    for (const ts of [15, 25]) await bus.publish("t.b", `b${ts}`, { ts });
    const { handler, payloads } = recorder();
    await bus.subscribe(["t.a", "t.b"], "g", handler, { from: "afterId", afterId: id });
    await settled();
    expect(payloads().sort()).toEqual(["a3", "b25"]);
  });

  it("only the first time: a group that has a cursor goes on from there, whatever is wished for", async () => {
    const bus = await bench().bus();
    await bus.publishMany("t.a", [{ payload: 1 }, { payload: 2 }]);
    const first = recorder();
    const stop = await bus.subscribe("t.a", "g", first.handler, { from: "earliest" });
    await settled();
    await stop();
    await bus.publish("t.a", 3);
    const second = recorder();
    await bus.subscribe("t.a", "g", second.handler, { from: "earliest" });
    await settled();
    expect(first.payloads()).toEqual([1, 2]);
    expect(second.seen).toMatchObject([{ payload: 3, attempt: 1 }]);
  });

  it("each group has its own place", async () => {
    const bus = await bench().bus();
    const groups = ["g1", "g2", "g3"].map((name) => ({ name, ...recorder() }));
    for (const { name, handler } of groups) await bus.subscribe("t.a", name, handler);
    await bus.publish("t.a", "x");
    await settled();
    for (const { payloads } of groups) expect(payloads()).toEqual(["x"]);
  });
});

describe("what a group gets", () => {
  it("several topics in one subscription", async () => {
    const bus = await bench().bus();
    const { handler, seen } = recorder();
    const stop = await bus.subscribe(["t.a", "t.b", "t.a"], "g", handler);
    for (const topic of ["t.a", "t.b", "t.c"]) await bus.publish(topic, 1);
    await settled();
    expect(seen.map(({ topic }) => topic).sort()).toEqual(["t.a", "t.b"]);
    await stop();
    await bus.publish("t.b", 2);
    await settled();
    expect(seen).toHaveLength(2);
  });

  it("topics that fit a pattern, also those created later, from their first event on", async () => {
    const bus = await bench().bus();
    await bus.publish("shop.a", "old");
    const { handler, seen } = recorder();
    const stop = await bus.subscribe("shop.*", "g", handler);
    await bus.publish("shop.a", 1);
    await bus.publish("shop.b", 2);
    await bus.publish("shop.b.c", 3);
    await bus.publish("other.a", 4);
    await settled();
    expect(seen.map(({ topic, payload }) => [topic, payload])).toEqual([
      ["shop.a", 1],
      ["shop.b", 2],
    ]);
    await stop();
    await bus.publish("shop.d", 5);
    await bench().advance(5_000);
    expect(seen).toHaveLength(2);
  });

  it("a topic that comes into being is joined once, although several signals tell of it", async () => {
    const bus = await bench().bus();
    const { handler, seen } = recorder();
    const stop = await bus.subscribe("shop.**", "g", handler);
    await Promise.all([bus.publish("shop.x", 1), bus.defineTopic(defineTopic("shop.x", { keyed: true }))]);
    await bench().advance(2_500);
    await bus.publish("shop.x", 2);
    await settled();
    expect(seen.map(({ payload }) => payload)).toEqual([1, 2]);
    await stop();
    expect(bus.owned("shop.x", "g")).toEqual([]);
  });

  it("no dead letters by a pattern, unless it asks for them, and then not those of its own making", async () => {
    const bus = await bench().bus();
    const everything = recorder(() => {
      throw new Error("no");
    });
    const options = { maxAttempts: 1, from: "earliest" } as const;
    await bus.subscribe("**", "all", everything.handler, options);
    await bus.subscribe("*.t.a", "sly", everything.handler, options);
    const letters = recorder(() => {
      throw new Error("no");
    });
    await bus.subscribe("dlq.**", "letters", letters.handler, options);
    await bus.publish("t.a", 1);
    await bench().advance(60_000);
    expect(everything.seen.map(({ topic }) => topic)).toEqual(["t.a"]);
    expect(letters.seen.map(({ topic }) => topic)).toEqual(["dlq.t.a"]);
    expect((await bus.topics()).map(({ name }) => name)).toEqual(["dlq.dlq.t.a", "dlq.t.a", "t.a"]);
  });

  it("only what its filter lets through; the rest counts as settled, so that the cursor moves", async () => {
    const bus = await bench().bus();
    const { handler, payloads } = recorder();
    await bus.subscribe("t.a", "g", handler, {
      from: "earliest",
      filter: (e) => (e.payload as number) % 2 === 0,
    });
    await bus.publishMany(
      "t.a",
      [1, 2, 3, 4, 5].map((payload) => ({ payload })),
    );
    await bench().advance(100);
    expect(payloads()).toEqual([2, 4]);
    expect(await bus.getCursor("t.a", "g")).toMatchObject({ partitions: [{ floor: 5, lag: 0 }] });
  });

  it("P8: a filter that throws counts as a handler that throws", async () => {
    const bus = await bench().bus();
    const { handler, seen } = recorder();
    await bus.subscribe("t.a", "g", handler, {
      maxAttempts: 2,
      filter: () => {
        throw new Error("bad filter");
      },
    });
    await bus.publish("t.a", 1);
    await bench().advance(1_000);
    expect(seen).toEqual([]);
    const letters = [];
    for await (const letter of bus.read("dlq.t.a")) letters.push(letter.payload);
    expect(letters).toMatchObject([{ attempts: 2, error: { message: "bad filter" } }]);
  });

  it("P5: every event exactly once, where nothing fails: 5,000 events, 4 partitions, 3 groups", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: 4 })] });
    const groups = ["g1", "g2", "g3"].map((name) => ({ name, ...recorder() }));
    for (const { name, handler } of groups) await bus.subscribe("t.p", name, handler, { from: "earliest" });
    await bus.publishMany(
      "t.p",
      Array.from({ length: 5_000 }, (_, i) => ({ payload: i, key: `k${i % 100}` })),
    );
    await settled();
    for (const { seen, payloads } of groups) {
      expect(new Set(payloads()).size).toBe(5_000);
      expect(seen).toHaveLength(5_000);
      expect(seen.every(({ attempt }) => attempt === 1)).toBe(true);
    }
  });

  it("the same frozen event for every group", async () => {
    const bus = await bench().bus();
    const events: unknown[] = [];
    for (const group of ["g1", "g2"]) await bus.subscribe("t.a", group, (event) => void events.push(event));
    await bus.publish("t.a", { list: [1] });
    await settled();
    expect(events[0]).toBe(events[1]);
    expect(Object.isFrozen(events[0])).toBe(true);
    expect(() => (events[0] as { payload: { list: number[] } }).payload.list.push(2)).toThrow(TypeError);
  });
});
