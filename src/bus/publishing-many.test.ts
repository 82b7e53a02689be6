import { describe, expect, it } from "vitest";
import { payloadsOf, useBench } from "../../test/support/bus-bench.js";
import { defineTopic } from "../model/topic.js";

const bench = useBench();

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
    expect(await payloadsOf(bus, "t.a")).toEqual(["old", 1, 3]);
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
    expect(await payloadsOf(bus, "t.a")).toEqual(["old", 1, 3]);
  });

  it("one bad item refuses the call before anything is published", async () => {
    const bus = await bench().bus();
    const bad = [{ payload: 1 }, { payload: undefined }];
    await expect(bus.publishMany("t.a", bad)).rejects.toMatchObject({ code: "INVALID_PAYLOAD" });
    for (const items of ["nope", { payload: 1 }, [null], [undefined], [5]])
      await expect(bus.publishMany("t.a", items as never)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    expect(await payloadsOf(bus, "t.a")).toEqual([]);
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
    expect(await payloadsOf(bus, "t.n")).toEqual([]);
  });

  it("P13: more than the queue holds is refused, and nothing of it is published", async () => {
    const bus = await bench().bus({ limits: { maxQueuedEvents: 3 } });
    const items = [1, 2, 3, 4].map((payload) => ({ payload }));
    await expect(bus.publishMany("t.a", items)).rejects.toMatchObject({ code: "QUEUE_FULL" });
    expect(await payloadsOf(bus, "t.a")).toEqual([]);
    await bus.publishMany("t.a", items.slice(0, 3));
  });
});
