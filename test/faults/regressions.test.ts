/** What the fault runs found once, each in its smallest form. Damage of store files is in test/stores/embedded. */
import { afterEach, describe, expect, it } from "vitest";
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import { Acl } from "../../src/hub/auth/acl.js";
import { SchemaRegistry } from "../../src/schema/registry/registry.js";
import { withSchemaValidation } from "../../src/schema/registry/validation-layer.js";
import { memoryStore } from "../../src/stores/memory/index.js";

describe("rights on patterns", () => {
  it("a pattern of dead letters or snapshots needs rights on what they were made of", () => {
    const odd = new Acl({ scopes: ["subscribe:dlq.*", "subscribe:*.snapshot"] });
    expect(odd.allows("subscribe", "dlq.orders")).toBe(false);
    expect(odd.allowsPattern("subscribe", "dlq.*")).toBe(false);
    expect(odd.allowsPattern("subscribe", "*.snapshot")).toBe(false);
    const right = new Acl({ scopes: ["subscribe:orders.*"] });
    expect(right.allowsPattern("subscribe", "dlq.orders.*")).toBe(true);
    expect(right.allowsPattern("subscribe", "orders.*.snapshot")).toBe(true);
    expect(right.allowsPattern("subscribe", "orders.*")).toBe(true);
  });
});

describe("schemas", () => {
  it("names of members that nobody could write are compared, not made up", () => {
    const schemas = new SchemaRegistry();
    schemas.register({ topic: "orders", version: 1, schema: {}, compat: "backward" });
    const schema = { items: { propertyNames: { minLength: 1e308 } } };
    const register = (): unknown =>
      schemas.register({ topic: "orders", version: 2, schema, compat: "backward" });
    expect(register).toThrowError(expect.objectContaining({ code: "SCHEMA_INCOMPATIBLE" }));
  });
});

describe("a bus", () => {
  let bus: Bus;
  afterEach(() => bus.close());

  it("a pattern takes snapshots in only if it asks for them", async () => {
    bus = await createBus({ store: memoryStore() });
    for (const topic of ["orders", "orders.snapshot", "orders.placed"])
      await bus.defineTopic({ name: topic, partitions: 1 });
    const taken: string[] = [];
    await bus.subscribe("orders.*", "all", ({ topic }) => void taken.push(topic), { from: "earliest" });
    await bus.subscribe("orders.snapshot", "own", ({ topic }) => void taken.push(`own ${topic}`), {
      from: "earliest",
    });
    await bus.publish("orders.snapshot", 1);
    await bus.publish("orders.placed", 1);
    await expect.poll(() => taken.toSorted()).toEqual(["orders.placed", "own orders.snapshot"]);
  });

  it("a payload whose members hide methods is refused by its schema, not a failure", async () => {
    bus = await createBus({ store: memoryStore() });
    const schemas = new SchemaRegistry();
    schemas.register({ topic: "orders", version: 1, schema: { const: { n: 1 } }, compat: "none" });
    const checked = withSchemaValidation(bus, schemas);
    for (const payload of [{ toString: 1 }, { valueOf: 1 }])
      await expect(checked.publish("orders", payload)).rejects.toMatchObject({ code: "SCHEMA_VIOLATION" });
    await expect(checked.publish("orders", { n: 1 })).resolves.toMatchObject({ seq: 1 });
  });

  it("a schema that refers to itself without end refuses payloads, it does not overflow", async () => {
    bus = await createBus({ store: memoryStore() });
    const schemas = new SchemaRegistry();
    const schema = { if: false, else: { type: "string", $ref: "#" } };
    schemas.register({ topic: "orders", version: 1, schema, compat: "none" });
    const checked = withSchemaValidation(bus, schemas);
    await expect(checked.publish("orders", "x")).rejects.toMatchObject({ code: "SCHEMA_VIOLATION" });
  });
});
