import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Bus } from "../bus/bus.js";
import { createBus } from "../bus/create-bus.js";
import { BusError } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import type { PublishedRecord } from "../model/event-bus.js";
import { ManualClock } from "../model/manual-clock.js";
import { memoryStore } from "../stores/memory/index.js";
import { type DualWriteOptions, dualWriteLayer, startDualWriteMirror, withDualWrite } from "./dual-write.js";
import { SchemaRegistry } from "./registry.js";
import { UpcastChain } from "./upcast.js";
import { type PublishRequest, withSchemaValidation } from "./validation-layer.js";

const topic = "orders.placed";
const schemas = new SchemaRegistry();
schemas.register({ topic, version: 1, schema: z.object({ order: z.number() }) });
schemas.register({ topic, version: 2, compat: "none", schema: z.object({ order: z.string().max(3) }) });
const upcasts = new UpcastChain().add(topic, 1, (v1: { order: number }) => ({ order: String(v1.order) }));
const options: DualWriteOptions = { topic, to: 2, schemas, upcasts };

let bus: Bus;

beforeEach(async () => {
  bus = await createBus({ store: memoryStore() });
});

afterEach(() => bus.close());

async function all(name: string): Promise<EventRecord[]> {
  const found: EventRecord[] = [];
  for await (const event of bus.read(name)) found.push(event);
  return found;
}

describe("a topic written in two versions", () => {
  it("has both events, the second with an id of its own and the same key", async () => {
    const first = await withDualWrite(bus, options).publish(
      topic,
      { order: 7 },
      { key: "k", ts: 5, tags: ["t"] },
    );
    const [second] = await all(`${topic}.v2`);
    expect(first).toMatchObject({ topic, payload: { order: 7 }, headers: { "x-schema-version": "1" } });
    expect(second).toMatchObject({
      key: "k",
      ts: 5,
      tags: ["t"],
      payload: { order: "7" },
      caused_by: [first.id],
      headers: { "x-schema-version": "2" },
    });
    expect(second?.id).not.toBe(first.id);
  });

  it("P3: published again under its id, it is in neither topic twice", async () => {
    const dual = withDualWrite(bus, options);
    await dual.publish(topic, { order: 7 }, { id: "order-7" });
    expect(await dual.publish(topic, { order: 7 }, { id: "order-7" })).toMatchObject({ duplicate: true });
    expect(await all(topic)).toHaveLength(1);
    expect(await all(`${topic}.v2`)).toHaveLength(1);
  });

  it("checks both with validation, in whichever order the two are added", async () => {
    const inner = withSchemaValidation(withDualWrite(bus, options), schemas);
    const outer = withDualWrite(withSchemaValidation(bus, schemas, { versions: { [topic]: 1 } }), options);
    for (const dual of [inner, outer]) {
      await dual.publish(topic, { order: 7, extra: 1 });
      await expect(dual.publish(topic, { order: "7" })).rejects.toMatchObject({ code: "SCHEMA_VIOLATION" });
    }
    expect((await all(topic)).map((event) => event.payload)).toEqual([{ order: 7 }, { order: 7 }]);
    expect((await all(`${topic}.v2`)).map((event) => event.payload)).toEqual([
      { order: "7" },
      { order: "7" },
    ]);
  });

  it("is refused whole if the payload has no second form", async () => {
    await expect(withDualWrite(bus, options).publish(topic, { order: 1234 })).rejects.toMatchObject({
      code: "SCHEMA_VIOLATION",
    });
    expect(await all(topic)).toEqual([]);
  });

  it("leaves other topics alone", async () => {
    await withDualWrite(bus, options).publish("other.topic", 1);
    expect(await all("other.topic")).toHaveLength(1);
  });

  it("has a mirror that brings over what came before and what was left out, and doubles nothing", async () => {
    await bus.publish(topic, { order: 1 });
    await withDualWrite(bus, options).publish(topic, { order: 2 });
    const stop = await startDualWriteMirror(bus, options);
    const copies = new Promise<unknown[]>((resolve, reject) => {
      const seen: unknown[] = [];
      const take = (event: EventRecord): void => {
        seen.push((event.payload as { order: string }).order);
        if (seen.length === 3) resolve(seen);
      };
      bus
        .subscribe(`${topic}.v2`, "readers", take, { from: "earliest", ordering: "partition" })
        .catch(reject);
    });
    await bus.publish(topic, { order: 3 });
    expect((await copies).sort()).toEqual(["1", "2", "3"]);
    await stop();
    expect(await all(`${topic}.v2`)).toHaveLength(3);
  });
});

describe("the second of two writes", () => {
  const record: PublishedRecord = { id: "e1", topic, partition: 0, seq: 1, ts: 0, payload: { order: 7 } };
  const request: PublishRequest = { topic, payload: { order: 7 }, options: {} };

  /** Publishes on a bus whose second write fails with these errors, one after the other. */
  function publish(
    failures: readonly BusError[],
    clock: ManualClock,
  ): { done: Promise<PublishedRecord>; ids: (string | undefined)[] } {
    const left = [...failures];
    const ids: (string | undefined)[] = [];
    const next = async ({ topic: name, options: sent }: PublishRequest): Promise<PublishedRecord> => {
      if (name === topic) return record;
      ids.push(sent.id);
      const failure = left.shift();
      if (failure !== undefined) throw failure;
      return { ...record, topic: name };
    };
    return { done: dualWriteLayer({ ...options, attempts: 3, clock }).publish(request, next), ids };
  }

  const unavailable = new BusError("STORE_UNAVAILABLE", "no connection");

  it("is tried again, under the same id, until it is there", async () => {
    const clock = new ManualClock();
    const { done, ids } = publish([unavailable, unavailable], clock);
    await clock.advance(10_000);
    expect(await done).toBe(record);
    expect(new Set(ids).size).toBe(1);
    expect(ids).toHaveLength(3);
  });

  it("that fails for good fails the publish, which may be made again with the id", async () => {
    const clock = new ManualClock();
    const { done } = publish([unavailable, unavailable, unavailable], clock);
    const failed = expect(done).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      retryable: true,
      details: { id: "e1", missing: `${topic}.v2` },
    });
    await clock.advance(10_000);
    await failed;
  });

  it("is not tried again where that would not help", async () => {
    const { done, ids } = publish([new BusError("PAYLOAD_TOO_LARGE", "too large")], new ManualClock());
    await expect(done).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(ids).toHaveLength(1);
  });
});
