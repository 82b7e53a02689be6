/** Where groups stand, moving them, and reading outside any group. */
import { describe, expect, it } from "vitest";
import { forever, payloadsOf, recorder, useBench } from "../../test/support/bus-bench.js";
import { gate, settled } from "../../test/support/eventually.js";
import type { ReadPosition } from "../model/event-bus.js";
import { defineTopic } from "../model/topic.js";

const bench = useBench();

describe("getCursor", () => {
  it("is null for a group or topic that nobody knows", async () => {
    const bus = await bench().bus();
    expect(await bus.getCursor("t.a", "g")).toBeNull();
    expect(await bus.getCursor("NOT A TOPIC", "g")).toBeNull();
  });

  it("tells floor, head, lag, what is in flight, who owns it and under which epoch, per partition", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: 2 })] }, { member: "me" });
    const held = gate();
    await bus.subscribe("t.p", "g", (event) => (event.payload === "slow" ? held.passed : undefined));
    await bus.publish("t.p", "slow", { partition: 1 });
    const quick = await bus.publish("t.p", "quick", { partition: 1, ts: 77 });
    await settled();
    expect(await bus.getCursor("t.p", "g")).toEqual({
      topic: "t.p",
      partitions: [
        { partition: 0, floor: 0, head: 0, lag: 0, inFlight: 0, owner: "me", epoch: 1 },
        { partition: 1, floor: 0, head: 2, lag: 1, inFlight: 1, owner: "me", epoch: 1 },
      ],
    });
    held.open();
    await settled();
    const after = await bus.getCursor("t.p", "g");
    expect(after).toMatchObject({ lastId: quick.id, lastTs: 77 });
    expect(after?.partitions[1]).toMatchObject({ floor: 2, lag: 0, inFlight: 0 });
  });

  it("of another bus's partitions, tells what the store knows", async () => {
    const [owner, other] = [await bench().bus({}, { member: "owner" }), await bench().bus()];
    await owner.subscribe("t.a", "g", (event) => (event.payload === 2 ? forever() : undefined));
    await owner.publishMany(
      "t.a",
      [1, 2, 3].map((payload) => ({ payload })),
    );
    await bench().advance(100);
    expect((await other.getCursor("t.a", "g"))?.partitions).toEqual([
      { partition: 0, floor: 1, head: 3, lag: 1, inFlight: 0, owner: "owner", epoch: 1 },
    ]);
  });

  it("lag counts what a group has to do, from where it began", async () => {
    const bus = await bench().bus();
    await bus.publishMany(
      "t.a",
      Array.from({ length: 10 }, (_, payload) => ({ payload })),
    );
    const stop = await bus.subscribe("t.a", "late", () => undefined);
    await stop();
    await bus.publish("t.a", 11);
    expect((await bus.getCursor("t.a", "late"))?.partitions[0]).toMatchObject({
      floor: 10,
      head: 11,
      lag: 1,
      owner: null,
    });
  });
});

describe("setCursor", () => {
  it("moves a running group back: it handles everything again, as if for the first time", async () => {
    const bus = await bench().bus();
    const { handler, seen } = recorder();
    await bus.subscribe("t.a", "g", handler, { from: "earliest" });
    await bus.publishMany(
      "t.a",
      [1, 2, 3].map((payload) => ({ payload })),
    );
    await settled();
    await bus.setCursor("t.a", "g", "earliest");
    await bench().advance(500);
    expect(seen.map(({ payload }) => payload)).toEqual([1, 2, 3, 1, 2, 3]);
    expect(seen.every(({ attempt }) => attempt === 1)).toBe(true);
  });

  it("to the latest: what was waiting is skipped", async () => {
    const bus = await bench().bus();
    await bus.publishMany(
      "t.a",
      [1, 2].map((payload) => ({ payload })),
    );
    await bus.setCursor("t.a", "g", "earliest");
    await bus.setCursor("t.a", "g", "latest");
    const { handler, payloads } = recorder();
    await bus.subscribe("t.a", "g", handler, { from: "earliest" });
    await bus.publish("t.a", 3);
    await settled();
    expect(payloads()).toEqual([3]);
  });

  it("to an event, or to a time", async () => {
    const bus = await bench().bus();
    const records = [];
    for (const ts of [10, 20, 30, 40]) records.push(await bus.publish("t.a", ts, { ts }));
    await bus.setCursor("t.a", "by-id", { lastId: records[1]?.id ?? "" });
    await bus.setCursor("t.a", "by-time", { lastTs: 30 });
    const [byId, byTime] = [recorder(), recorder()];
    await bus.subscribe("t.a", "by-id", byId.handler);
    await bus.subscribe("t.a", "by-time", byTime.handler);
    await settled();
    expect(byId.payloads()).toEqual([30, 40]);
    expect(byTime.payloads()).toEqual([30, 40]);
  });

  it("P7: fences whoever works on the group: what runs is told, and its ack comes too late", async () => {
    const bus = await bench().bus();
    const held = gate();
    let answer: Promise<unknown> | undefined;
    let signal: AbortSignal | undefined;
    await bus.subscribe("t.a", "g", async (event, ctx) => {
      if (event.payload !== 1 || ctx.fence.epoch > 1) return;
      signal = ctx.signal;
      await held.passed;
      answer = ctx.ack();
    });
    await bus.publishMany(
      "t.a",
      [1, 2].map((payload) => ({ payload })),
    );
    await settled();
    await bus.setCursor("t.a", "g", "latest");
    await bench().advance(500);
    expect(signal?.aborted).toBe(true);
    held.open();
    await settled();
    expect(await answer).toMatchObject({ ok: false });
    expect((await bus.getCursor("t.a", "g"))?.partitions[0]).toMatchObject({ floor: 2, lag: 0 });
  });

  it("P2: back to where getCursor said it stood, in each partition, however far it was behind the others", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: 2 })] });
    for (let n = 1; n <= 4; n++) await bus.publish("t.p", n, { partition: n % 2, ts: n });
    // Partition 1 has settled nothing, although its events are older than the newest one of partition 0.
    await bus.setCursor("t.p", "g", {
      partitions: [
        { partition: 0, floor: 2 },
        { partition: 1, floor: 0 },
      ],
    });
    const stood = await bus.getCursor("t.p", "g");
    expect(stood).toMatchObject({ lastTs: 4, partitions: [{ floor: 2 }, { floor: 0 }] });
    await bus.setCursor("t.p", "g", "latest");
    await bus.setCursor("t.p", "g", stood ?? "latest");
    expect((await bus.getCursor("t.p", "g"))?.partitions).toEqual(
      stood?.partitions.map((p) => ({ ...p, epoch: expect.any(Number) })),
    );
    const again: unknown[] = [];
    await bus.subscribe("t.p", "g", ({ payload }) => void again.push(payload));
    await settled();
    expect(again).toEqual([1, 3]);
  });

  it("to where a group stood that had settled nothing", async () => {
    const bus = await bench().bus();
    await bus.publish("t.a", 1);
    await bus.setCursor("t.a", "g", "earliest");
    const stood = await bus.getCursor("t.a", "g");
    await bus.setCursor("t.a", "g", "latest");
    for (const place of [stood, { topic: "t.a" }]) {
      await bus.setCursor("t.a", "g", place ?? "latest");
      expect(await bus.getCursor("t.a", "g")).toMatchObject({ partitions: [{ floor: 0, lag: 1 }] });
      await bus.setCursor("t.a", "g", "latest");
    }
  });

  it("not beyond the end of a partition, as of a copy that has more of it", async () => {
    const bus = await bench().bus();
    await bus.publish("t.a", 1);
    await bus.setCursor("t.a", "g", { partitions: [{ partition: 0, floor: 7 }] });
    expect(await bus.getCursor("t.a", "g")).toMatchObject({ partitions: [{ floor: 1, head: 1 }] });
  });

  it("refuses a place that is none", async () => {
    const bus = await bench().bus();
    await bus.publish("t.a", 1);
    const none = [
      ...["nowhere", {}, null, 5, { lastId: 5 }, { lastTs: Number.NaN }, { topic: "t.b" }],
      ...[{ topic: "t.a", lastId: null }, { partitions: [] }, { partitions: 1 }, { partitions: [null] }],
      ...[{ partitions: [{ partition: 0 }] }, { partitions: [{ partition: 1, floor: 0 }] }],
      { topic: "t.b", partitions: [{ partition: 0, floor: 0 }] },
    ];
    for (const to of none)
      await expect(bus.setCursor("t.a", "g", to as never)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await expect(bus.setCursor("t.a", "g", { lastId: "nope" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(bus.setCursor("t.a", "bad group", "latest")).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
    await expect(bus.setCursor("NO", "g", "latest")).rejects.toMatchObject({ code: "INVALID_TOPIC" });
    expect(await bus.getCursor("t.a", "g")).toBeNull();
  });
});

describe("read", () => {
  it("gives everything there is, partitions merged by time, each in its own order", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: 3 })] });
    for (let i = 0; i < 30; i++) await bus.publish("t.p", i, { partition: i % 3, ts: 1_000 + i });
    expect(await payloadsOf(bus, "t.p")).toEqual(Array.from({ length: 30 }, (_, i) => i));
    expect(await payloadsOf(bus, "t.p", { partition: 1 })).toEqual([1, 4, 7, 10, 13, 16, 19, 22, 25, 28]);
  });

  it("from a place, up to a limit, through a filter", async () => {
    const bus = await bench().bus();
    const records = [];
    for (const n of [1, 2, 3, 4, 5, 6]) records.push(await bus.publish("t.a", n, { ts: n * 10 }));
    const cases: [ReadPosition, unknown[]][] = [
      [{ limit: 2 }, [1, 2]],
      [{ from: "earliest", limit: 1 }, [1]],
      [{ from: "latest" }, []],
      [{ from: "ts", ts: 35 }, [4, 5, 6]],
      [{ from: "afterId", afterId: records[4]?.id ?? "" }, [6]],
      [{ filter: ({ payload }) => (payload as number) % 2 === 0, limit: 2 }, [2, 4]],
      [{ limit: 0 }, []],
    ];
    for (const [position, expected] of cases)
      expect(await payloadsOf(bus, "t.a", position), JSON.stringify(position)).toEqual(expected);
  });

  it("ends at what was there when it began, and reads no further than it must", async () => {
    const bus = await bench().bus();
    await bus.publishMany(
      "t.a",
      [1, 2].map((payload) => ({ payload })),
    );
    const seen: unknown[] = [];
    for await (const { payload } of bus.read("t.a")) {
      seen.push(payload);
      if (seen.length < 5) await bus.publish("t.a", "new");
    }
    expect(seen).toEqual([1, 2]);
  });

  it("crosses what was removed, and more than one page", async () => {
    const bus = await bench().bus();
    await bus.publishMany(
      "t.a",
      Array.from({ length: 1_300 }, (_, payload) => ({ payload })),
    );
    await bench().store.log.trim("t.a", 0, 100);
    await bench().store.log.remove(
      "t.a",
      0,
      Array.from({ length: 600 }, (_, i) => 201 + i),
    );
    const payloads = await payloadsOf(bus, "t.a");
    expect(payloads).toHaveLength(600);
    expect(payloads[0]).toBe(100);
    expect(payloads[100]).toBe(800);
  });

  it("refuses what it does not know", async () => {
    const bus = await bench().bus();
    await bus.publish("t.a", 1);
    const bad: object[] = [
      { from: "middle" },
      { from: "ts" },
      { from: "afterId" },
      { limit: -1 },
      { limit: 1.5 },
      { partition: 3 },
      { partition: "x" },
      { filter: 5 },
      { nonsense: 1 },
    ];
    for (const position of bad)
      await expect(
        payloadsOf(bus, "t.a", position as ReadPosition),
        JSON.stringify(position),
      ).rejects.toMatchObject({
        code: "INVALID_OPTION",
      });
    await expect(payloadsOf(bus, "t.a", { from: "afterId", afterId: "nope" })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    await expect(payloadsOf(bus, "BAD", {})).rejects.toMatchObject({ code: "INVALID_TOPIC" });
  });
});

describe("latestByKey", () => {
  it("gives the newest event of each key, and undefined for keys that have none", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.k", { partitions: 4, keyed: true })] });
    for (const n of [1, 2, 3]) await bus.publish("t.k", n, { key: "a" });
    await bus.publish("t.k", 9, { key: "__proto__" });
    const found = await bus.latestByKey("t.k", ["a", "b", "__proto__"]);
    expect(found.a?.payload).toBe(3);
    expect(Object.hasOwn(found, "b")).toBe(true);
    expect(found.b).toBeUndefined();
    expect(Object.getOwnPropertyDescriptor(found, "__proto__")?.value).toMatchObject({ payload: 9 });
  });
});

describe("a topic that is not there", () => {
  it("is empty for those who read it, by name or definition, and does not come into being by that", async () => {
    const bus = await bench().bus();
    for (const topic of ["t.none", defineTopic("t.none", { partitions: 3 })]) {
      expect(await bus.read(topic).next()).toEqual({ done: true, value: undefined });
      expect(await bus.latestByKey(topic, ["k"])).toEqual({ k: undefined });
    }
    expect(await bus.topics()).toEqual([]);
    expect(await bus.admin.lag()).toEqual([]);
    await expect(bus.read("no topic!").next()).rejects.toMatchObject({ code: "INVALID_TOPIC" });
  });

  it("is found as soon as another bus has made it", async () => {
    const [reader, writer] = [await bench().bus(), await bench().bus()];
    expect(await reader.read("t.p").next()).toMatchObject({ done: true });
    await writer.publish("t.p", 1);
    expect(await reader.read("t.p").next()).toMatchObject({ value: { payload: 1 } });
  });
});
