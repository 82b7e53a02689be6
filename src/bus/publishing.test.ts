/** Publishing: what comes back, where it goes, and what is refused. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { useBench } from "../../test/support/bus-bench.js";
import { settled } from "../../test/support/eventually.js";
import { BusError } from "../model/errors.js";
import type { PublishOptions } from "../model/event-bus.js";
import { jumpHash } from "../model/partition.js";
import { defineTopic } from "../model/topic.js";
import type { Bus } from "./bus.js";

const bench = useBench();

async function all(bus: Bus, topic: string): Promise<unknown[]> {
  const payloads: unknown[] = [];
  for await (const event of bus.read(topic)) payloads.push(event.payload);
  return payloads;
}

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
    expect(await all(bus, "t.a")).toEqual(["x"]);
  });

  it("P3: the same id with other content is ID_CONFLICT, and nothing changes", async () => {
    const bus = await bench().bus();
    await bus.publish("t.a", "x", { id: "one" });
    await expect(bus.publish("t.a", "y", { id: "one" })).rejects.toMatchObject({ code: "ID_CONFLICT" });
    await expect(bus.publish("t.b", "x", { id: "one" })).rejects.toMatchObject({ code: "ID_CONFLICT" });
    expect(await all(bus, "t.a")).toEqual(["x"]);
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
          expect(await all(bus, topic)).toEqual(waits.map((_, i) => i));
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
        expect(await all(bus, "t.a")).toEqual(waits.map((_, i) => i));
        await bus.close();
      }),
      { numRuns: 60 },
    );
  });
});

describe("publishMany", () => {
  it("publishes in order, each with its own options, and resolves with all of them", async () => {
    const bus = await bench().bus();
    const records = await bus.publishMany<unknown>("t.a", [
      { payload: "x", key: "k", id: "1" },
      { payload: "y", headers: { h: "1" } },
      { payload: "x", key: "k", id: "1" },
    ]);
    expect(records).toMatchObject([
      { seq: 1, payload: "x", key: "k" },
      { seq: 2, payload: "y", headers: { h: "1" } },
      { seq: 1, payload: "x", duplicate: true },
    ]);
  });

  it("of nothing is nothing", async () => {
    const bus = await bench().bus();
    expect(await bus.publishMany("t.a", [])).toEqual([]);
  });

  it("says which ones failed; the others are in the log", async () => {
    const bus = await bench().bus();
    await bus.publish("t.a", "old", { id: "taken" });
    const failed = bus.publishMany<unknown>("t.a", [
      { payload: 1 },
      { payload: "new", id: "taken" },
      { payload: 3 },
    ]);
    await expect(failed).rejects.toMatchObject({
      code: "ID_CONFLICT",
      details: { failed: [{ index: 1, code: "ID_CONFLICT", id: "taken" }] },
    });
    expect(await all(bus, "t.a")).toEqual(["old", 1, 3]);
  });

  it("says the same through a layer of middleware", async () => {
    const bus = await bench().bus();
    bus.use({ publish: async (request, next) => next(request) });
    await bus.publish("t.a", "old", { id: "taken" });
    const failed = bus.publishMany<unknown>("t.a", [
      { payload: 1 },
      { payload: "new", id: "taken" },
      { payload: 3 },
    ]);
    await expect(failed).rejects.toMatchObject({
      code: "ID_CONFLICT",
      details: { failed: [{ index: 1, code: "ID_CONFLICT" }] },
    });
    expect(await all(bus, "t.a")).toEqual(["old", 1, 3]);
  });

  it("one bad item refuses the call before anything is published", async () => {
    const bus = await bench().bus();
    const bad = [{ payload: 1 }, { payload: undefined }];
    await expect(bus.publishMany("t.a", bad)).rejects.toMatchObject({ code: "INVALID_PAYLOAD" });
    for (const items of ["nope", { payload: 1 }, [null], [undefined], [5]])
      await expect(bus.publishMany("t.a", items as never)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    expect(await all(bus, "t.a")).toEqual([]);
  });

  it("says which item is the bad one", async () => {
    const Numbers = defineTopic<number>("t.n", { key: (n) => (n > 2 ? `k${n}` : "k") });
    const bus = await bench().bus({ topics: [Numbers], limits: { maxPayloadBytes: 20, maxKeyBytes: 2 } });
    const bad: [code: string, item: object][] = [
      ["INVALID_PAYLOAD", { payload: 2n }],
      ["PAYLOAD_TOO_LARGE", { payload: "x".repeat(20) }],
      ["INVALID_OPTION", { payload: 1, kye: "k" }],
      ["INVALID_OPTION", { payload: 1, partition: 9 }],
      ["INVALID_OPTION", { payload: 100 }],
    ];
    for (const [code, item] of bad) {
      const items = [{ payload: 1 }, { payload: 2 }, item, { payload: 3 }];
      const refused = await bus.publishMany(Numbers, items as never).catch((error: unknown) => error);
      expect(refused).toMatchObject({
        code,
        message: expect.stringMatching(/^the event at index 2 of 4 is refused, and none is published: /),
        details: { index: 2 },
      });
    }
    expect(await all(bus, "t.n")).toEqual([]);
  });

  it("P13: more than the queue holds is refused, and nothing of it is published", async () => {
    const bus = await bench().bus({ limits: { maxQueuedEvents: 3 } });
    const items = [1, 2, 3, 4].map((payload) => ({ payload }));
    await expect(bus.publishMany("t.a", items)).rejects.toMatchObject({ code: "QUEUE_FULL" });
    expect(await all(bus, "t.a")).toEqual([]);
    await bus.publishMany("t.a", items.slice(0, 3));
  });
});

describe("what is refused", () => {
  it("unknown options, by name", async () => {
    const bus = await bench().bus();
    for (const name of ["partiton", "constructor", "toString"]) {
      await expect(bus.publish("t.a", 1, { [name]: 1 } as PublishOptions)).rejects.toMatchObject({
        code: "INVALID_OPTION",
        message: expect.stringContaining(`"${name}"`),
      });
    }
  });

  it("options of the wrong kind, one clear message each", async () => {
    const bus = await bench().bus();
    const bad: Record<string, unknown>[] = [
      { id: "" },
      { id: 7 },
      { id: "x".repeat(201) },
      { key: 7 },
      { key: "x".repeat(1_025) },
      { id: "half of a pair \ud83d" },
      { key: "\udd11" },
      { ts: -1 },
      { ts: "now" },
      { ts: Number.NaN },
      { ts: 8.64e15 + 1 },
      { ts: new Date() },
      { headers: "h" },
      { headers: { h: 1 } },
      { headers: null },
      { headers: ["h"] },
      { tags: "t" },
      { tags: [1] },
      { caused_by: [null] },
      { sid: 5 },
      { headers: { h: "x".repeat(20_000) } },
    ];
    for (const options of bad) {
      await expect(
        bus.publish("t.a", 1, options as never),
        JSON.stringify(options).slice(0, 60),
      ).rejects.toMatchObject({
        code: "INVALID_OPTION",
        message: expect.stringContaining(Object.keys(options)[0] as string),
      });
    }
    for (const options of [null, 5, "x", []])
      await expect(bus.publish("t.a", 1, options as never)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    expect(await all(bus, "t.a")).toEqual([]);
  });

  it("P15: keys of the wrong kind that a definition makes of a payload, which hold up nobody else's", async () => {
    const Order = defineTopic("order", { partitions: 1, key: ({ id }: { id: unknown }) => id as string });
    const bus = await bench().bus({ topics: [Order] });
    for (const id of [7, null, { a: 1 }, "x".repeat(1_025), "\ud83d"])
      await expect(bus.publish(Order, { id })).rejects.toMatchObject({
        code: "INVALID_OPTION",
        message: expect.stringMatching(/^key must/),
      });
    expect((await bus.publish(Order, { id: "o-7" })).seq).toBe(1);
  });

  it("topics that are none", async () => {
    const bus = await bench().bus();
    const bad = [
      "",
      "UPPER",
      "a..b",
      ".a",
      "a.",
      "a b",
      "a.*",
      "a/b",
      "é",
      "x".repeat(201),
      5,
      null,
      undefined,
      {},
    ];
    for (const topic of bad) {
      await expect(bus.publish(topic as never, 1), String(topic)).rejects.toMatchObject({
        code: "INVALID_TOPIC",
      });
    }
  });

  it("payloads that JSON cannot keep, with the path of what is wrong", async () => {
    const bus = await bench().bus();
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const bad: [unknown, string][] = [
      [undefined, "undefined"],
      [() => 1, "function"],
      [Symbol("s"), "symbol"],
      [1n, "bigint"],
      [Number.NaN, "NaN"],
      [Number.POSITIVE_INFINITY, "Infinity"],
      [{ a: [1, { b: () => 1 }] }, "payload.a[1].b"],
      [new Map([[1, 2]]), "Map"],
      [new Set([1]), "Set"],
      [{ bytes: new Uint8Array(2) }, "payload.bytes"],
      [circle, "payload.self"],
      [new Error("e"), "Error"],
      [Promise.resolve(1), "Promise"],
      [
        {
          toJSON: () => {
            throw new Error("no");
          },
        },
        "toJSON",
      ],
    ];
    for (const [payload, hint] of bad) {
      const error = await bus.publish("t.a", payload as never).catch((thrown: unknown) => thrown);
      expect(error, hint).toBeInstanceOf(BusError);
      expect(error).toMatchObject({ code: "INVALID_PAYLOAD", message: expect.stringContaining(hint) });
    }
    expect(await all(bus, "t.a")).toEqual([]);
  });

  it("keeps what JSON can keep, odd names included", async () => {
    const bus = await bench().bus();
    const payload = JSON.parse(
      '{"__proto__": {"x": 1}, "$where": "1", "a.b": null, "": [true, 0.5, "é"]}',
    ) as object;
    const record = await bus.publish("t.a", payload);
    expect(JSON.stringify(record.payload)).toBe(JSON.stringify(payload));
    const date = new Date(0);
    expect((await bus.publish("t.a", { date, gone: undefined })).payload).toEqual({ date: date.toJSON() });
  });

  it("P13: a payload over the limit, before anything is stored", async () => {
    const bus = await bench().bus({ limits: { maxPayloadBytes: 100 } });
    await bus.publish("t.a", "x".repeat(98));
    await expect(bus.publish("t.a", "x".repeat(99))).rejects.toMatchObject({
      code: "PAYLOAD_TOO_LARGE",
      details: { bytes: 101, maxBytes: 100 },
    });
    await expect(bus.publish("t.a", "é".repeat(50))).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
    expect((await all(bus, "t.a")).length).toBe(1);
  });

  it("P13: QUEUE_FULL while the store does not answer, and nothing is dropped in silence", async () => {
    const bus = await bench().bus({ limits: { maxQueuedEvents: 5 } });
    const results = await Promise.allSettled(Array.from({ length: 8 }, (_, i) => bus.publish("t.a", i)));
    const refused = results.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(3);
    for (const result of refused)
      expect(result).toMatchObject({ reason: { code: "QUEUE_FULL", retryable: true } });
    await settled();
    expect(await all(bus, "t.a")).toEqual([0, 1, 2, 3, 4]);
  });
});
