/** Publishing: what comes back, and where it goes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { payloadsOf, useBench } from "../../test/support/bus-bench.js";
import { jumpHash } from "../model/partition.js";
import { defineTopic } from "../model/topic.js";

const bench = useBench();

describe("publish", () => {
  it("resolves with the event as it stands in the log", async () => {
    const bus = await bench().bus();
    const record = await bus.publish(
      "t.a",
      { n: 1 },
      { key: "k", headers: { "x-h": "1" }, tags: ["red"], caused_by: ["cause"], sid: "s", ts: 5 },
    );
    expect(record).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      topic: "t.a",
      partition: 0,
      seq: 1,
      ts: 5,
      key: "k",
      headers: { "x-h": "1" },
      tags: ["red"],
      caused_by: ["cause"],
      sid: "s",
      payload: { n: 1 },
    });
    expect(record).not.toHaveProperty("duplicate");
  });

  it("takes the time from the bus's clock and makes ids that grow", async () => {
    const bus = await bench().bus();
    const first = await bus.publish("t.a", 1);
    const second = await bus.publish("t.a", 2);
    expect(first.ts).toBe(bench().clock.now());
    expect(first).not.toHaveProperty("key");
    expect(second.id > first.id).toBe(true);
  });

  it("P3: the same id again gives the first record back, marked as a duplicate", async () => {
    const bus = await bench().bus();
    const first = await bus.publish("t.a", "x", { id: "one" });
    const again = await bus.publish("t.a", "x", { id: "one" });
    expect(again).toEqual({ ...first, duplicate: true });
    expect(await payloadsOf(bus, "t.a")).toEqual(["x"]);
  });

  it("P3: the same id with other content is ID_CONFLICT, and nothing changes", async () => {
    const bus = await bench().bus();
    await bus.publish("t.a", "x", { id: "one" });
    await expect(bus.publish("t.a", "y", { id: "one" })).rejects.toMatchObject({ code: "ID_CONFLICT" });
    await expect(bus.publish("t.b", "x", { id: "one" })).rejects.toMatchObject({ code: "ID_CONFLICT" });
    expect(await payloadsOf(bus, "t.a")).toEqual(["x"]);
  });

  it("chooses the partition by key, by id, or as told; one that does not exist is refused", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: 8 })] });
    expect((await bus.publish("t.p", 1, { key: "k" })).partition).toBe(jumpHash("k", 8));
    expect((await bus.publish("t.p", 1, { id: "i" })).partition).toBe(jumpHash("i", 8));
    expect((await bus.publish("t.p", 1, { key: "k", partition: 7 })).partition).toBe(7);
    for (const partition of [8, -1, 1.5]) {
      await expect(bus.publish("t.p", 1, { partition })).rejects.toMatchObject({ code: "INVALID_OPTION" });
    }
  });

  it("brings no topic into being by an event for a partition that it would not have", async () => {
    const bus = await bench().bus();
    const refused = { code: "INVALID_OPTION", message: expect.stringContaining("would have 1 partition, 0") };
    for (const partition of [3, -1, 0.5])
      await expect(bus.publish("t.new", 1, { partition })).rejects.toMatchObject(refused);
    await expect(
      bus.publishMany("t.new", [{ payload: 1 }, { payload: 2, partition: 1 }]),
    ).rejects.toMatchObject({ code: "INVALID_OPTION", details: { index: 1 } });
    const Wide = defineTopic("t.wide", { partitions: 4 });
    await expect(bus.publish(Wide, 1, { partition: 4 })).rejects.toThrow("would have partitions 0 to 3");
    expect(await bus.topics()).toEqual([]);
    expect((await bus.publish(Wide, 1, { partition: 3 })).partition).toBe(3);
    expect((await bus.publish("t.new", 1, { partition: 0 })).seq).toBe(1);
  });

  it("nor is one brought back by it that was removed, which keeps the partitions it had", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: 4 })] });
    await bus.admin.removeTopic("t.p");
    const other = await bench().bus();
    await expect(other.publish("t.p", 1, { partition: 4 })).rejects.toThrow("would have partitions 0 to 3");
    expect(await other.topics()).toEqual([]);
    expect((await other.publish("t.p", 1, { partition: 3 })).partition).toBe(3);
  });

  it("by a definition: checks the schema, takes the key from the payload, stores what was given less what the schema leaves out", async () => {
    const bus = await bench().bus();
    const Order = defineTopic("t.order", {
      schema: z.object({ id: z.string(), count: z.number().default(1) }),
      key: (order) => order.id,
      partitions: 4,
    });
    const given = { id: "o-7", more: true } as unknown as { id: string; count: number };
    const record = await bus.publish(Order, given);
    expect(record).toMatchObject({ key: "o-7", partition: jumpHash("o-7", 4) });
    expect(record.payload).toEqual({ id: "o-7" });
    await expect(bus.publish(Order, { id: 7 } as never)).rejects.toMatchObject({
      code: "SCHEMA_VIOLATION",
      details: { issues: [{ path: "payload.id", value: "7" }] },
    });
    expect((await bus.publish(Order, { id: "o-7", count: 2 }, { key: "mine" })).key).toBe("mine");
  });

  it("by a definition, of a topic that was used by name before: the definition is stored, or told to conflict", async () => {
    const bus = await bench().bus();
    await bus.publish("t.plain", 1);
    await bus.publish(defineTopic("t.plain", { retentionMs: 1_000 }), 2);
    expect(await bus.topics()).toEqual([{ name: "t.plain", partitions: 1, retentionMs: 1_000 }]);
    await bus.publish("t.other", 1);
    const wider = bus.publish(defineTopic("t.other", { partitions: 4 }), 2);
    await expect(wider).rejects.toMatchObject({
      code: "TOPIC_CONFLICT",
      message:
        'topic "t.other" was created with 1 partition, for life; this definition says 4. Say 1, or nothing of partitions, or give the topic another name',
      details: { topic: "t.other", partitions: 1 },
    });
  });

  it("P3: payloads are frozen, and what the caller does to its own objects afterwards changes nothing", async () => {
    const bus = await bench().bus();
    const payload = { list: [1, 2], inner: { a: 1 } };
    const headers = { h: "1" };
    const tags = ["t"];
    const publishing = bus.publish<typeof payload>("t.a", payload, { headers, tags });
    payload.inner.a = 2;
    payload.list.push(3);
    headers.h = "2";
    tags.push("u");
    const record = await publishing;
    expect(record).toMatchObject({
      payload: { list: [1, 2], inner: { a: 1 } },
      headers: { h: "1" },
      tags: ["t"],
    });
    expect(Object.isFrozen(record)).toBe(true);
    expect(Object.isFrozen(record.payload.inner)).toBe(true);
    expect(() => record.payload.list.push(9)).toThrow(TypeError);
  });

  it("P2: publishes to a topic nobody knows yet keep their order, whenever the caller's other work lets them go", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(12), { minLength: 2, maxLength: 12 }),
        fc.nat(1_000_000),
        async (waits, n) => {
          const bus = await bench().bus();
          const topic = `t.fresh-${n}-${waits.join("-")}`;
          const published: Promise<unknown>[] = [];
          for (const [i, hops] of waits.entries()) {
            published.push(bus.publish(topic, i, { key: "k" }));
            for (let hop = 0; hop < hops; hop++) await null;
          }
          await Promise.all(published);
          expect(await payloadsOf(bus, topic)).toEqual(waits.map((_, i) => i));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("P2: so do the first publishes on a bus that is still opening", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(8), { minLength: 2, maxLength: 8 }), async (waits) => {
        const { InMemoryEventBus } = await import("../in-memory.js");
        const bus = new InMemoryEventBus();
        const published: Promise<unknown>[] = [];
        for (const [i, hops] of waits.entries()) {
          published.push(bus.publish("t.a", i));
          for (let hop = 0; hop < hops; hop++) await null;
        }
        await Promise.all(published);
        expect(await payloadsOf(bus, "t.a")).toEqual(waits.map((_, i) => i));
        await bus.close();
      }),
      { numRuns: 60 },
    );
  });
});
