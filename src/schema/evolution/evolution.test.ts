import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { collected } from "../../../test/support/collected.js";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import type { EventRecord } from "../../model/event.js";
import { defineTopic } from "../../model/topic.js";
import { compactNow } from "../../project/history/compactor.js";
import { memoryStore } from "../../stores/memory/index.js";
import { SchemaRegistry } from "../registry/registry.js";
import { openSchemas } from "../registry/schema-following.js";
import type { StoredSchemaRegistry } from "../registry/stored-registry.js";
import { withSchemaValidation } from "../registry/validation-layer.js";
import { countVersions, type VersionCounts } from "../registry/version-counts.js";
import { versionedTopic } from "../registry/versioned-topic.js";
import { startDualWriteMirror, withDualWrite } from "./dual-write.js";
import { verifyDualWrite } from "./dual-write-check.js";
import { schemaStatus, type TopicSchemaStatus } from "./schema-status.js";
import { subscribeNormalized } from "./subscribe-normalized.js";
import { UpcastChain } from "./upcast.js";

const topic = "orders.placed";
const V1 = z.object({ order: z.number() });
const V2 = z.object({ order: z.string(), currency: z.string().default("EUR") });
const upcasts = new UpcastChain().add(topic, 1, (v1: { order: number }) => ({
  order: String(v1.order),
  currency: "EUR",
}));

let bus: Bus;
let schemas: StoredSchemaRegistry;
let counts: VersionCounts;

beforeEach(async () => {
  bus = await createBus({ store: memoryStore() });
  const declared = new SchemaRegistry();
  declared.register({ topic, version: 1, schema: V1 });
  schemas = await openSchemas(bus, { declared });
  counts = countVersions(bus);
});
afterEach(() => bus.close());

async function status(): Promise<TopicSchemaStatus> {
  const [first] = await schemaStatus(bus);
  if (first === undefined) throw new Error("there is no schema");
  return first;
}

describe("the way of a topic from one version to the next", () => {
  it("register, dual write, normalise, verify, cut over, stop", async () => {
    const writing = (version: number): Bus =>
      withSchemaValidation(bus, schemas, { versions: { [topic]: version } });
    expect(await status()).toMatchObject({ stage: "unused", versions: [{ version: 1 }] });
    await writing(1).publish(topic, { order: 1 }, { key: "a" });
    expect(await status()).toMatchObject({ stage: "settled", counts: { 1: 1 } });

    // 1. Register the next version. Publishers go on as before.
    await schemas.register({ topic, version: 2, compat: "none", schema: V2 });
    await writing(1).publish(topic, { order: 2 }, { key: "b" });
    expect(await status()).toMatchObject({ stage: "registered", counts: { 1: 2 } });

    // 2. Write both: the mirror brings what was there, then publishers get the layer.
    const dual = { topic, to: 2, schemas, upcasts };
    const stopMirror = await startDualWriteMirror(bus, dual);
    await expect.poll(async () => (await verifyDualWrite(bus, dual)).complete).toBe(true);
    const publisher = (version: number): Bus => withDualWrite(writing(version), { ...dual, from: version });
    await publisher(1).publish(topic, { order: 3 }, { key: "a" });
    expect(await status()).toMatchObject({
      stage: "dual-writing",
      sentence: expect.stringContaining("orders.placed.v2 is complete"),
      dualWrite: [{ topic: "orders.placed.v2", version: 2, events: 3, missing: 0 }],
    });

    // 3. Readers normalise: whatever is written, they see the newest version.
    const normal = collected<EventRecord>();
    await subscribeNormalized(bus, topic, "billing", normal.take, { schemas, upcasts, from: "earliest" });
    const second = collected<EventRecord>();
    await bus.subscribe("orders.placed.v2", "shipping", second.take, { from: "earliest" });
    const payloads = (events: readonly EventRecord[]): unknown[] => events.map(({ payload }) => payload);
    expect(payloads(await normal.first(3))).toEqual(
      ["1", "2", "3"].map((order) => ({ order, currency: "EUR" })),
    );
    expect(payloads(await second.first(3))).toEqual(payloads(normal.all));

    // 4. Verify: counts per version, and that nothing is missing.
    expect(counts.written(topic)).toEqual({ 1: 3 });
    expect(counts.read(topic, "billing")).toEqual({ 1: 3 });
    expect(await verifyDualWrite(bus, dual)).toEqual({
      checked: 3,
      missing: [],
      differing: [],
      complete: true,
    });
    expect((await status()).readers.map(({ topic: read, group }) => `${group} ${read}`).sort()).toEqual([
      "billing orders.placed",
      "dual-write:orders.placed.v2 orders.placed",
      "shipping orders.placed.v2",
    ]);

    // 5. Cut over: publishers write the newest version, and readers do not notice.
    await publisher(2).publish(topic, { order: "4" }, { key: "b" });
    expect((await normal.first(4))[3]?.payload).toEqual({ order: "4", currency: "EUR" });
    expect((await second.first(4))[3]?.payload).toEqual({ order: "4" });
    expect(counts.written(topic)).toEqual({ 1: 3, 2: 1 });
    expect(counts.read(topic, "billing")).toEqual({ 1: 3, 2: 1 });
    expect(await status()).toMatchObject({
      stage: "cut-over",
      sentence: expect.stringContaining("move the readers of orders.placed.v2 and stop the dual write"),
    });

    // 6. Stop the dual write.
    await stopMirror();
    await writing(2).publish(topic, { order: "5", currency: "USD" }, { key: "a" });
    expect((await normal.first(5))[4]?.payload).toEqual({ order: "5", currency: "USD" });
    expect(second.all).toHaveLength(4);
    expect(await status()).toMatchObject({ stage: "cut-over", counts: { 1: 3, 2: 2 }, sampled: 5 });
    expect(await schemaStatus(bus, { sample: 2 })).toMatchObject([{ stage: "settled", counts: { 2: 2 } }]);
  });

  it("shows when some publishers are not there yet, and what a dual write lacks", async () => {
    await schemas.register({ topic, version: 2, compat: "none", schema: V2 });
    await bus.defineTopic({ name: topic, partitions: 2 });
    const checked = withSchemaValidation(bus, schemas);
    const write = (payload: unknown, version: string, partition: number): Promise<EventRecord> =>
      checked.publish(topic, payload, { partition, headers: { "x-schema-version": version } });
    const first = await write({ order: 1 }, "1", 0);
    await write({ order: "2" }, "2", 1);
    expect(await status()).toMatchObject({ stage: "cutting-over", counts: { 1: 1, 2: 1 } });

    const dual = { topic, to: 2, schemas, upcasts };
    const { missing, complete } = await verifyDualWrite(bus, { ...dual, newest: 10 });
    expect([missing.map(({ id }) => id).includes(first.id), complete]).toEqual([true, false]);
    await bus.publish("orders.placed.v2", { order: "other", currency: "EUR" }, { id: "elsewhere" });
    await write({ order: 3 }, "1", 1);
    expect(await status()).toMatchObject({
      stage: "dual-writing",
      sentence: expect.stringContaining("lacks 3 of the newest events: start the mirror"),
    });
  });

  it("is gone by the topic's definition as by its name", async () => {
    const Placed = defineTopic(topic, { partitions: 2 });
    await schemas.register({ topic: Placed, version: 2, compat: "none", schema: V2 });
    await schemas.refresh(Placed);
    const dual = { topic: Placed, to: 2, schemas, upcasts };
    const stop = await startDualWriteMirror(bus, dual);
    expect(await bus.topics()).toContainEqual({ name: topic, partitions: 2 });
    await withSchemaValidation(withDualWrite(bus, dual), schemas).publish(Placed, { order: 1 });
    expect(await verifyDualWrite(bus, dual)).toMatchObject({ checked: 1, complete: true });
    expect(await verifyDualWrite(bus, { ...dual, newest: 5 })).toMatchObject({ checked: 1, complete: true });
    expect(await schemaStatus(bus, { topic: Placed })).toMatchObject([{ topic, stage: "dual-writing" }]);
    expect(counts.written(Placed)).toEqual(counts.written(topic));
    expect(upcasts.missing(Placed, 1, 3)).toEqual([2]);
    expect(upcasts.upcast(Placed, { order: 1 }, 1, 2)).toEqual({ order: "1", currency: "EUR" });
    expect(versionedTopic(Placed, 2)).toBe("orders.placed.v2");
    await stop();
  });

  it("misses nothing that compaction took out of the second topic alone, and all that is newer than what is there", async () => {
    await schemas.register({ topic, version: 2, compat: "none", schema: V2 });
    await bus.defineTopic({ name: "orders.placed.v2", compaction: true });
    const checked = withSchemaValidation(bus, schemas, { versions: { [topic]: 1 } });
    const dual = { topic, to: 2, schemas, upcasts };
    const stop = await startDualWriteMirror(bus, dual);
    for (const order of [1, 2, 3]) await checked.publish(topic, { order }, { key: "a" });
    await expect.poll(async () => (await verifyDualWrite(bus, dual)).complete).toBe(true);
    await compactNow(bus, { topic: "orders.placed.v2", snapshot: false });
    expect(await bus.store.log.heads("orders.placed.v2")).toMatchObject([{ events: 1 }]);
    expect(await verifyDualWrite(bus, dual)).toMatchObject({ checked: 3, missing: [], complete: true });
    expect((await status()).dualWrite).toMatchObject([{ missing: 0 }]);
    await stop();
    const [newer, other] = await checked.publishMany(topic, [
      { payload: { order: 4 }, key: "a" },
      { payload: { order: 5 }, key: "b" },
    ]);
    const missing = [{ id: newer?.id }, { id: other?.id }];
    expect(await verifyDualWrite(bus, dual)).toMatchObject({ checked: 5, missing, complete: false });
    expect((await status()).dualWrite).toMatchObject([{ missing: 2 }]);
  });

  it("counts what was refused in no version, and tells what one group has read from what all have", async () => {
    const checked = withSchemaValidation(bus, schemas);
    await checked.publish(topic, { order: 1 });
    await expect(checked.publish(topic, { order: "one" })).rejects.toMatchObject({
      code: "SCHEMA_VIOLATION",
    });
    expect(counts.written(topic)).toEqual({ 1: 1 });
    for (const group of ["billing", "shipping"]) {
      const reader = collected<EventRecord>();
      await subscribeNormalized(bus, topic, group, reader.take, { schemas, upcasts, from: "earliest" });
      await reader.first(1);
    }
    expect(counts.read(topic, "billing")).toEqual({ 1: 1 });
    expect(counts.read(topic, "nobody")).toEqual({});
    expect(counts.read(topic)).toEqual({ 1: 2 });
  });

  it("counts tombstones in no version", async () => {
    await bus.defineTopic({ name: topic, compaction: true });
    const checked = withSchemaValidation(bus, schemas);
    await checked.publish(topic, { order: 1 }, { key: "a" });
    await checked.publish(topic, null, { key: "a" });
    expect(await status()).toMatchObject({ stage: "settled", counts: { 1: 1 }, sampled: 2 });
  });

  it("finds a second form that says something else", async () => {
    await schemas.register({ topic, version: 2, compat: "none", schema: V2 });
    await withSchemaValidation(bus, schemas, { versions: { [topic]: 1 } }).publish(topic, { order: 1 });
    const other = new UpcastChain().add(topic, 1, () => ({ order: "other", currency: "EUR" }));
    const stop = await startDualWriteMirror(bus, { topic, to: 2, schemas, upcasts: other });
    await expect
      .poll(async () => (await verifyDualWrite(bus, { topic, to: 2, schemas, upcasts })).differing.length)
      .toBe(1);
    await stop();
  });
});
