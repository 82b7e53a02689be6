import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import { BusError } from "../../model/errors.js";
import { ManualClock } from "../../model/manual-clock.js";
import { TaskBoard } from "../../model/task.js";
import type { Registry } from "../../ports/registry.js";
import type { Store } from "../../ports/store.js";
import { memoryStore } from "../../stores/memory/index.js";
import { openSchemas } from "./schema-following.js";
import { StoredSchemaRegistry } from "./stored-registry.js";
import { withSchemaValidation } from "./validation-layer.js";

const topic = "orders.placed";
const V1 = z.object({ order: z.number() });
let clock: ManualClock;
let store: Store;
let bus: Bus;

beforeEach(async () => {
  clock = new ManualClock();
  store = memoryStore();
  bus = await createBus({ store, clock });
});
afterEach(() => bus.close());

describe("schemas that are kept up to date", () => {
  it("know what another process registered within the time they are given, and not before they look", async () => {
    const schemas = await openSchemas(bus, { everyMs: 1_000 });
    const checked = withSchemaValidation(bus, schemas);
    const { registry } = store;
    const another = {
      schemas: (name?: string) => registry.schemas(name),
      putSchema: (...args: Parameters<Registry["putSchema"]>) => registry.putSchema(...args),
    };
    const elsewhere = await StoredSchemaRegistry.open(another as Registry);
    await elsewhere.register({ topic, version: 1, schema: V1 });
    await clock.advance(999);
    expect(schemas.latest(topic)).toBeUndefined();
    await clock.advance(1);
    expect(schemas.latest(topic)?.version).toBe(1);
    await expect(checked.publish(topic, { order: "one" })).rejects.toMatchObject({
      code: "SCHEMA_VIOLATION",
    });

    await elsewhere.register({ topic, version: 2, schema: V1.extend({ note: z.string().optional() }) });
    await clock.advance(1_000);
    expect((await checked.publish(topic, { order: 1, note: "n" })).headers).toEqual({
      "x-schema-version": "2",
    });
  });

  it("know at once what is registered through the same store, until they end", async () => {
    const tasks = new TaskBoard();
    const schemas = await openSchemas({ store, clock, tasks });
    const checked = withSchemaValidation(bus, schemas);
    const here = await StoredSchemaRegistry.open(store.registry);
    await here.register({ topic, version: 1, schema: V1 });
    await expect(checked.publish(topic, { order: "one" })).rejects.toMatchObject({
      code: "SCHEMA_VIOLATION",
    });
    // Not as one that this process declared: publishers write the newest.
    await schemas.register({ topic, version: 2, schema: V1.extend({ note: z.string().optional() }) });
    await here.register({
      topic,
      version: 3,
      schema: V1.extend({ note: z.string().optional(), at: z.number().optional() }),
    });
    expect(schemas.versions(topic).map(({ version, declared }) => [version, declared])).toEqual([
      [1, false],
      [2, true],
      [3, false],
    ]);

    await tasks.stopAll();
    await here.register({ topic, version: 4, schema: V1 });
    expect(schemas.latest(topic)?.version).toBe(3);
  });

  it("hear of a topic that was removed and came back with another schema", async () => {
    const schemas = await openSchemas(bus);
    const here = await StoredSchemaRegistry.open(store.registry, { clock });
    await bus.defineTopic({ name: topic });
    await here.register({ topic, version: 1, schema: V1 });
    await bus.admin.removeTopic(topic);
    await clock.advance(1);
    await here.register({ topic, version: 1, schema: z.object({ order: z.string() }) });
    expect(schemas.validate(topic, { order: "one" })?.version).toBe(1);
  });

  it("keep what they know while the store is away, and say so", async () => {
    let away = false;
    const { registry } = store;
    const failing: Registry = Object.assign(Object.create(registry) as Registry, {
      schemas: async (name?: string) => {
        if (away) throw new BusError("STORE_UNAVAILABLE", "no connection");
        return registry.schemas(name);
      },
    });
    const host = { store: { registry: failing }, clock, tasks: bus.tasks };
    await (await StoredSchemaRegistry.open(registry)).register({ topic, version: 1, schema: V1 });
    const schemas = await openSchemas(host);
    away = true;
    await clock.advance(5_000);
    expect(schemas.latest(topic)?.version).toBe(1);
    expect(bus.tasks.reports()).toMatchObject([
      { name: "schemas", state: "retrying", restarts: 1, lastError: "no connection" },
    ]);
    away = false;
    await clock.advance(5_000);
    expect(bus.tasks.reports()).toMatchObject([{ state: "running", stats: { reads: 1 } }]);
  });

  it("end with the bus", async () => {
    await openSchemas(bus);
    await bus.close();
    expect(bus.tasks.reports()).toEqual([]);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it("take a time above 0", async () => {
    await expect(openSchemas(bus, { everyMs: 0 })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });
});
