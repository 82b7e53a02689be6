import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import { BusError } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import { memoryStore } from "../../stores/memory/index.js";
import { subscribeNormalized } from "../evolution/subscribe-normalized.js";
import { UpcastChain } from "../evolution/upcast.js";
import { SchemaRegistry } from "./registry.js";
import { type SchemaObservation, type ValidationOptions, withSchemaValidation } from "./validation-layer.js";

const topic = "orders.placed";
let bus: Bus;
let schemas: SchemaRegistry;

beforeEach(async () => {
  bus = await createBus({ store: memoryStore() });
  schemas = new SchemaRegistry();
  schemas.register({ topic, version: 1, schema: z.object({ order: z.number() }) });
});

afterEach(() => bus.close());

async function all(name = topic): Promise<EventRecord[]> {
  const found: EventRecord[] = [];
  for await (const event of bus.read(name)) found.push(event);
  return found;
}

async function refusal(work: Promise<unknown>): Promise<BusError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (BusError.is(error)) return error;
  throw new Error("it was not refused");
}

describe("a bus with schema validation", () => {
  const checked = (options?: ValidationOptions): Bus => withSchemaValidation(bus, schemas, options);

  it("publishes what fits, stamped with the version, without what is not declared", async () => {
    await checked().publish(topic, { order: 7, secret: "x" }, { key: "k", headers: { "x-a": "1" } });
    expect(await all()).toMatchObject([
      { key: "k", payload: { order: 7 }, headers: { "x-a": "1", "x-schema-version": "1" } },
    ]);
    expect((await all())[0]?.payload).not.toHaveProperty("secret");
  });

  it("publishes nothing of what does not fit", async () => {
    const error = await refusal(checked().publish(topic, { order: "seven" }));
    expect(error).toMatchObject({
      code: "SCHEMA_VIOLATION",
      details: { topic, version: 1, issues: [{ path: "payload.order", value: '"seven"' }] },
    });
    expect(await all()).toEqual([]);
    expect(
      (await refusal(checked().publishMany(topic, [{ payload: { order: 1 } }, { payload: {} }]))).code,
    ).toBe("SCHEMA_VIOLATION");
  });

  it("leaves the bus it was made from as it was", async () => {
    checked();
    await bus.publish(topic, "anything");
    expect((await all())[0]).not.toHaveProperty("headers");
  });

  it("takes nothing that every object has for the version of a topic of that name", async () => {
    schemas.register({ topic: "constructor", version: 1, schema: z.object({ order: z.number() }) });
    const dual = withSchemaValidation(bus, schemas, { versions: { [topic]: 1 } });
    expect((await dual.publish("constructor", { order: 1 })).headers).toEqual({ "x-schema-version": "1" });
  });

  it("checks against the version that the publisher names, if there is one", async () => {
    schemas.register({ topic, version: 2, compat: "none", schema: z.object({ order: z.string() }) });
    const publish = (payload: unknown, version?: string): Promise<unknown> =>
      checked().publish(
        topic,
        payload,
        version === undefined ? {} : { headers: { "x-schema-version": version } },
      );
    await publish({ order: 1 }, "1");
    await publish({ order: "1" });
    expect((await all()).map((event) => event.headers?.["x-schema-version"])).toEqual(["1", "2"]);
    expect((await refusal(publish({ order: 1 }, "9"))).code).toBe("NOT_FOUND");
    expect((await refusal(publish({ order: 1 }, "newest"))).code).toBe("SCHEMA_VIOLATION");
    await checked({ versions: { [topic]: 1 } }).publish(topic, { order: 1 });
    expect((await refusal(checked({ versions: { [topic]: 1 } }).publish(topic, { order: "1" }))).code).toBe(
      "SCHEMA_VIOLATION",
    );
  });

  it("lets topics without a schema pass, unless it is strict", async () => {
    await checked().publish("free.topic", "anything");
    expect((await all("free.topic"))[0]).not.toHaveProperty("headers");
    expect(await refusal(checked({ strict: true }).publish("free.topic", 1))).toMatchObject({
      code: "SCHEMA_VIOLATION",
    });
  });

  it("warns, or does not look, where it is told so", async () => {
    const seen: SchemaObservation[] = [];
    const lenient = checked({
      topics: { "orders.*": "warn", "other.**": "off" },
      observe: (each) => seen.push(each),
    });
    await lenient.publish(topic, { order: "seven" });
    await lenient.publish(topic, { order: 7 });
    await lenient.publish("other.topic", 1);
    expect((await all()).map((event) => event.headers?.["x-schema-version"])).toEqual([undefined, "1"]);
    expect(seen).toMatchObject([
      { topic, outcome: "warned", error: { code: "SCHEMA_VIOLATION" } },
      { topic, outcome: "valid", version: 1 },
      { topic: "other.topic", outcome: "unchecked" },
    ]);
  });

  it("tells of refusals too", async () => {
    const seen: SchemaObservation[] = [];
    await refusal(checked({ observe: (each) => seen.push(each) }).publish(topic, null));
    expect(seen).toMatchObject([{ topic, outcome: "rejected", error: { code: "SCHEMA_VIOLATION" } }]);
  });

  it("lets tombstones pass where they are ones", async () => {
    const compacted = checked({ tombstones: (name) => name === topic });
    await compacted.publish(topic, null, { key: "k" });
    expect(await all()).toMatchObject([{ payload: null }]);
    expect((await refusal(checked().publish(topic, null, { key: "k" }))).code).toBe("SCHEMA_VIOLATION");
  });
});

describe("a normalized subscription", () => {
  it("hands over the newest version only, whatever was published", async () => {
    const text = z.object({ order: z.string() });
    await withSchemaValidation(bus, schemas).publish(topic, { order: 1 });
    schemas.register({ topic, version: 2, compat: "none", schema: text });
    await withSchemaValidation(bus, schemas).publish(topic, { order: "2" });
    const upcasts = new UpcastChain().add(topic, 1, (v1: { order: number }) => ({ order: String(v1.order) }));
    const seen: unknown[] = [];
    await new Promise<void>((resolve, reject) => {
      const handler = (event: EventRecord): void => {
        seen.push(event.payload);
        if (seen.length === 2) resolve();
      };
      subscribeNormalized(bus, topic, "readers", handler, { schemas, upcasts, from: "earliest" }).catch(
        reject,
      );
    });
    expect(seen).toEqual([{ order: "1" }, { order: "2" }]);
  });

  it("fails an event that cannot be brought there, and it ends as a dead letter", async () => {
    await withSchemaValidation(bus, schemas).publish(topic, { order: 1 });
    schemas.register({ topic, version: 2, compat: "none", schema: z.object({ order: z.string() }) });
    const letter = new Promise<EventRecord>((resolve, reject) => {
      bus.subscribe(`dlq.${topic}`, "ops", (event) => resolve(event), { from: "earliest" }).catch(reject);
    });
    await subscribeNormalized(bus, topic, "readers", () => undefined, {
      schemas,
      from: "earliest",
      maxAttempts: 1,
    });
    expect((await letter).payload).toMatchObject({
      error: { message: expect.stringContaining("no upcast from version 1 to 2") },
    });
  });
});
