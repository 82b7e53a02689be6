import { describe, expect, it } from "vitest";
import { payloadsOf, useBench } from "../../test/support/bus-bench.js";
import { settled } from "../../test/support/eventually.js";
import { BusError } from "../model/errors.js";
import type { PublishOptions } from "../model/event-bus.js";
import { defineTopic } from "../model/topic.js";

const bench = useBench();

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
    expect(await payloadsOf(bus, "t.a")).toEqual([]);
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
    expect(await payloadsOf(bus, "t.a")).toEqual([]);
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
    expect((await payloadsOf(bus, "t.a")).length).toBe(1);
  });

  it("P13: QUEUE_FULL while the store does not answer, and nothing is dropped in silence", async () => {
    const bus = await bench().bus({ limits: { maxQueuedEvents: 5 } });
    const results = await Promise.allSettled(Array.from({ length: 8 }, (_, i) => bus.publish("t.a", i)));
    const refused = results.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(3);
    for (const result of refused)
      expect(result).toMatchObject({ reason: { code: "QUEUE_FULL", retryable: true } });
    await settled();
    expect(await payloadsOf(bus, "t.a")).toEqual([0, 1, 2, 3, 4]);
  });
});
