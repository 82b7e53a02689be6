/** Options that are wrong, each told in one clear message. */
import { describe, expect, it } from "vitest";
import { useBench } from "../../test/support/bus-bench.js";
import type { SubscribeOptions } from "../model/event-bus.js";
import { defineTopic } from "../model/topic.js";
import { memoryStore } from "../stores/memory/index.js";
import { createBus } from "./create-bus.js";
import type { BusOptions } from "./options.js";

const bench = useBench();
const handler = (): undefined => undefined;

describe("createBus refuses", () => {
  it("options it does not know, by name, and says which it takes", async () => {
    for (const name of ["stroe", "constructor", "toString"]) {
      const failing = createBus({ store: memoryStore(), [name]: 1 } as unknown as BusOptions);
      await expect(failing).rejects.toMatchObject({
        code: "INVALID_OPTION",
        message: expect.stringMatching(new RegExp(`"${name}".*leaseMs`)),
      });
    }
  });

  it("a store that is none, and says where to get one", async () => {
    for (const options of [undefined, null, {}, { store: null }, { store: {} }, { store: "memory" }, 5]) {
      await expect(createBus(options as never), JSON.stringify(options)).rejects.toMatchObject({
        code: "INVALID_OPTION",
        message: expect.stringContaining("memoryStore()"),
      });
    }
  });

  it("numbers that are none, limits it does not know, topics that are none", async () => {
    const bad: object[] = [
      { leaseMs: 0 },
      { leaseMs: "10" },
      { heartbeatMs: -1 },
      { drainMs: Number.NaN },
      { publishTimeoutMs: Number.POSITIVE_INFINITY },
      { limits: { maxPayloadBytes: 0 } },
      { limits: { maxPayloadBytes: "1" } },
      { limits: { nonsense: 1 } },
      { limits: { constructor: 1 } },
      { topics: "t.a" },
      { topics: [null] },
      { topics: ["t.a"] },
      { clock: {} },
      { onTrouble: "log" },
    ];
    for (const options of bad) {
      const failing = createBus({ store: memoryStore(), ...options } as BusOptions);
      await expect(failing, JSON.stringify(options)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    }
    const limits = { maxPayloadByte: 1 } as object;
    await expect(createBus({ store: memoryStore(), limits })).rejects.toThrow(
      'limits knows no option "maxPayloadByte"; it takes maxPayloadBytes, ',
    );
    const conflicting = [defineTopic("t.a", { partitions: 0 }), defineTopic("t.a", { partitions: 5_000 })];
    for (const topic of conflicting)
      await expect(createBus({ store: memoryStore(), topics: [topic] })).rejects.toMatchObject({
        code: "INVALID_OPTION",
      });
  });

  it("a layout of a topic that is none, and keeps one that a later definition says nothing of", async () => {
    const store = memoryStore();
    const odd = defineTopic("t.a", { layout: "rows" as never });
    await expect(createBus({ store, topics: [odd] })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: 't.a: layout must be "documents" or "batches"',
    });
    const bus = await createBus({ store, topics: [defineTopic("t.b", { layout: "batches" })] });
    await bus.close();
    const again = await createBus({ store, topics: [defineTopic("t.b", { keyed: true })] });
    expect(await store.registry.topic("t.b")).toMatchObject({ keyed: true, layout: "batches" });
    await again.close();
  });

  it("a heartbeat that comes too seldom to keep the lease", async () => {
    const failing = createBus({ store: memoryStore(), leaseMs: 1_000, heartbeatMs: 1_000 });
    await expect(failing).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });
});

describe("subscribe refuses", () => {
  it("options it does not know, by name, and says which it takes", async () => {
    const bus = await bench().bus();
    for (const name of ["maxInflight", "constructor", "hasOwnProperty"]) {
      const failing = bus.subscribe("t.a", "g", handler, { [name]: 1 } as SubscribeOptions);
      await expect(failing).rejects.toMatchObject({
        code: "INVALID_OPTION",
        message: expect.stringMatching(new RegExp(`"${name}".*maxInFlight`)),
      });
    }
    await expect(bus.subscribeBatch("t.a", "g", handler, { size: 1 } as never)).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
  });

  it("values of the wrong kind, by name, and says what they must be", async () => {
    const bus = await bench().bus();
    const bad: Record<string, unknown>[] = [
      { from: "now" },
      { from: "ts" },
      { from: "afterId" },
      { ts: 0 },
      { from: "earliest", afterId: "e1" },
      { ts: "yesterday" },
      { ts: -1 },
      { afterId: 7 },
      { batchSize: 0 },
      { batchSize: 1.5 },
      { maxInFlight: 0 },
      { maxInFlight: Number.POSITIVE_INFINITY },
      { ackTimeoutMs: "1s" },
      { maxAttempts: -1 },
      { retry: 5 },
      { retry: { base: 1 } },
      { retry: { constructor: 1 } },
      { retry: { baseMs: -1 } },
      { retry: { baseMs: "1" } },
      { retry: { jitter: 2 } },
      { deadLetter: "no" },
      { ordering: "random" },
      { manualAck: 1 },
      { filter: true },
      { signal: {} },
    ];
    for (const options of bad) {
      const failing = bus.subscribe("t.a", "g", handler, options as SubscribeOptions);
      await expect(failing, JSON.stringify(options)).rejects.toMatchObject({
        code: "INVALID_OPTION",
        message: expect.stringContaining(Object.keys(options)[0] as string),
      });
    }
    for (const options of [null, 5, [], "x"])
      await expect(bus.subscribe("t.a", "g", handler, options as never)).rejects.toMatchObject({
        code: "INVALID_OPTION",
      });
    expect(await bus.getCursor("t.a", "g")).toBeNull();
  });

  it("a handler, group or topic that is none", async () => {
    const bus = await bench().bus();
    for (const bad of [undefined, null, 5, "handler", {}]) {
      await expect(bus.subscribe("t.a", "g", bad as never)).rejects.toMatchObject({ code: "INVALID_OPTION" });
      await expect(bus.subscribeBatch("t.a", "g", bad as never)).rejects.toMatchObject({
        code: "INVALID_OPTION",
      });
    }
    for (const group of ["", "with space", "new\nline", "x".repeat(201), 5, null, undefined])
      await expect(bus.subscribe("t.a", group as never, handler)).rejects.toMatchObject({
        code: "INVALID_OPTION",
      });
    for (const topic of ["", "UPPER", "a..b", "a b", "a.**b", "***", 5, null, undefined, {}, [5], [null]])
      await expect(bus.subscribe(topic as never, "g", handler), String(topic)).rejects.toMatchObject({
        code: "INVALID_TOPIC",
      });
    await expect(bus.subscribe("t.a", handler as never, undefined as never)).rejects.toThrow("a group name");
    await expect(bus.subscribe([], "g", handler)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });
});
