import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { collected } from "../../../test/support/collected.js";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import { BusError, Fatal } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import type { PublishedRecord } from "../../model/event-bus.js";
import { ManualClock } from "../../model/manual-clock.js";
import { redrive } from "../../project/letters/redrive.js";
import { memoryStore } from "../../stores/memory/index.js";
import { SchemaRegistry } from "../registry/registry.js";
import { type PublishRequest, withSchemaValidation } from "../registry/validation-layer.js";
import {
  type DualWriteOptions,
  dualWriteLayer,
  type Mirrorable,
  secondWrite,
  startDualWriteMirror,
  withDualWrite,
} from "./dual-write.js";
import { verifyDualWrite } from "./dual-write-check.js";
import { UpcastChain } from "./upcast.js";

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
      { key: "k", ts: 5, tags: ["t"], sid: "s" },
    );
    const [second] = await all(`${topic}.v2`);
    expect(first).toMatchObject({ topic, payload: { order: 7 }, headers: { "x-schema-version": "1" } });
    expect(second).toMatchObject({
      key: "k",
      ts: 5,
      tags: ["t"],
      sid: "s",
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

  it("takes an event for what its publisher says it is, whatever most publishers still write", async () => {
    const headers = { "x-schema-version": "2" };
    const first = await withDualWrite(bus, options).publish(topic, { order: "8" }, { headers });
    expect(first).toMatchObject({ payload: { order: "8" }, headers });
    expect(await all(`${topic}.v2`)).toMatchObject([{ payload: { order: "8" }, headers }]);
  });

  it("is told of where the second event has another key, which stands for somebody else there", async () => {
    const first = await bus.publish(topic, { order: 7 }, { key: "k" });
    const { id } = secondWrite(first, options).options;
    await bus.publish(`${topic}.v2`, { order: "7" }, { key: "other", ...(id !== undefined && { id }) });
    expect(await verifyDualWrite(bus, options)).toMatchObject({
      differing: [{ id: first.id }],
      complete: false,
    });
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

describe("what comes back from the dead letters of a topic written in two versions", () => {
  const second = `${topic}.v2`;
  const mirror = `dual-write:${second}`;
  const orders = async (name: string): Promise<unknown[]> =>
    (await all(name)).map(({ payload }) => (payload as { order: unknown }).order);
  const givenUp = (count: number): Promise<void> =>
    expect.poll(async () => (await all(`dlq.${topic}`)).length).toBe(count);

  it.each([1, 2])(
    "P3, P5: given up by the mirror %d times, it reaches the readers of the second topic, as the second form of the first event",
    async (times) => {
      let failures = times;
      const upcast = (v1: { order: number }): { order: string } => {
        if (failures-- > 0) throw new Error("no such currency");
        return { order: String(v1.order) };
      };
      const failing = { ...options, upcasts: new UpcastChain().add(topic, 1, upcast) };
      const { id } = await bus.publish(topic, { order: 7 }, { key: "k" });
      const read = collected<EventRecord>();
      await bus.subscribe(second, "readers", read.take, { from: "earliest" });
      const impatient: Mirrorable = {
        store: bus.store,
        publish: (name, payload, o) => bus.publish(name, payload, o),
        subscribe: (name, group, handler, o) => bus.subscribe(name, group, handler, { ...o, maxAttempts: 1 }),
      };
      const stop = await startDualWriteMirror(impatient, failing);
      for (let n = 1; n <= times; n++) {
        await givenUp(n);
        expect(await redrive(bus, { topic, group: mirror })).toMatchObject({ redriven: 1 });
      }
      const [event] = await read.first(1);
      expect(event).toMatchObject({ payload: { order: "7" }, key: "k", caused_by: [id] });
      expect(event?.headers).toEqual({ "x-schema-version": "2" });
      expect(await verifyDualWrite(bus, options)).toMatchObject({ checked: 1, complete: true });
      await stop();
    },
  );

  it("P3: for another group of the first topic, it is in the second topic once, and nothing is missing there", async () => {
    const dual = withDualWrite(bus, options);
    const took = collected<EventRecord>();
    let failures = 1;
    await bus.subscribe(topic, "mailer", (event) => {
      if (failures-- > 0) throw new Fatal("no such address");
      took.take(event);
    });
    await dual.publish(topic, { order: 7 }, { key: "k" });
    await givenUp(1);
    expect(await redrive(dual, { topic })).toMatchObject({ redriven: 1 });
    await took.first(1);
    const stop = await startDualWriteMirror(bus, options);
    await expect
      .poll(async () => (await bus.admin.lag({ topic })).find(({ group }) => group === mirror)?.lag)
      .toBe(0);
    await stop();
    expect(await orders(topic)).toEqual([7, 7]);
    expect(await orders(second)).toEqual(["7"]);
    expect(await verifyDualWrite(bus, options)).toMatchObject({ checked: 1, complete: true });
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
