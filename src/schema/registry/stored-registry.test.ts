import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../../test/support/eventually.js";
import { BusError } from "../../model/errors.js";
import type { Registry } from "../../ports/registry.js";
import type { Store } from "../../ports/store.js";
import { memoryStore } from "../../stores/memory/index.js";
import { SchemaRegistry } from "./registry.js";
import { StoredSchemaRegistry } from "./stored-registry.js";

const topic = "orders.placed";
const V1 = z.object({ order: z.number() });
const clock = { now: () => 1_000 };

async function opened(): Promise<Store> {
  const store = memoryStore();
  await store.open();
  return store;
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "ok",
    (error: unknown) => BusError.from(error).code,
  );
}

describe("a registry in a store", () => {
  it("persists versions as JSON Schema, and another process validates by them", async () => {
    const { registry } = await opened();
    const here = await StoredSchemaRegistry.open(registry, { clock });
    await here.register({ topic, version: 1, schema: V1.extend({ mail: z.email().optional() }) });
    expect(await registry.schemas(topic)).toMatchObject([
      { topic, version: 1, compat: "backward", createdMs: 1_000 },
    ]);

    const there = await StoredSchemaRegistry.open(registry);
    expect(there.validate(topic, { order: 1, mail: "a@example.org", more: 1 })).toEqual({
      version: 1,
      payload: { order: 1, mail: "a@example.org" },
      value: { order: 1, mail: "a@example.org" },
    });
    for (const side of [here, there]) {
      expect(() => side.validate(topic, { order: "1", mail: "b" })).toThrow(
        expect.objectContaining({
          code: "SCHEMA_VIOLATION",
          details: expect.objectContaining({ version: 1 }),
        }),
      );
    }
  });

  it("keeps a version that is registered while a look that began before is under way", async () => {
    const slow = slowly((await opened()).registry);
    const schemas = await StoredSchemaRegistry.open(slow.registry);
    await schemas.register({ topic, version: 1, schema: V1 });
    const looked = await slow.hold(() => schemas.refresh());
    await schemas.register({ topic, version: 2, schema: V1.extend({ mail: z.email().optional() }) });
    await looked();
    expect(schemas.current(topic)).toMatchObject({ version: 2, declared: true });
    await schemas.refresh();
    expect(schemas.current(topic)).toMatchObject({ version: 2, declared: true });
  });

  it("changes nothing if the version breaks its compat", async () => {
    const { registry } = await opened();
    const schemas = await StoredSchemaRegistry.open(registry);
    await schemas.register({ topic, version: 1, schema: V1 });
    const before = await registry.schemas();
    expect(
      await codeOf(schemas.register({ topic, version: 2, schema: z.object({ order: z.string() }) })),
    ).toBe("SCHEMA_INCOMPATIBLE");
    expect(await registry.schemas()).toEqual(before);
    expect(schemas.latest(topic)?.version).toBe(1);
  });

  it("compares with what others stored, not with what it saw last", async () => {
    const { registry } = await opened();
    const [a, b] = await Promise.all([
      StoredSchemaRegistry.open(registry),
      StoredSchemaRegistry.open(registry),
    ]);
    await a.register({ topic, version: 1, schema: V1 });
    expect(await codeOf(b.register({ topic, version: 2, schema: z.object({ order: z.string() }) }))).toBe(
      "SCHEMA_INCOMPATIBLE",
    );
    expect(b.latest(topic)?.version).toBe(1);
  });

  it("lets one of two win that register different schemas under one number at once", async () => {
    const { registry } = await opened();
    const processes = await Promise.all(Array.from({ length: 8 }, () => StoredSchemaRegistry.open(registry)));
    const outcomes = await Promise.all(
      processes.map((process, i) =>
        codeOf(process.register({ topic, version: 1, schema: z.object({ [`member${i}`]: z.string() }) })),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === "ok")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "SCHEMA_CONFLICT")).toHaveLength(7);
    expect(await registry.schemas(topic)).toHaveLength(1);
  });

  it("lets all win that register the same at once, and stores it once", async () => {
    const { registry } = await opened();
    const processes = await Promise.all(Array.from({ length: 8 }, () => StoredSchemaRegistry.open(registry)));
    await Promise.all(processes.map((process) => process.register({ topic, version: 1, schema: V1 })));
    expect(await registry.schemas(topic)).toHaveLength(1);
    expect(processes.map((process) => process.versions(topic).length)).toEqual(Array(8).fill(1));
  });

  it("decides again when another version came first", async () => {
    const { registry } = await opened();
    const slow = await StoredSchemaRegistry.open(
      overtaken(registry, { topic, version: 1, schema: z.object({ order: z.string() }) }),
    );
    expect(await codeOf(slow.register({ topic, version: 2, schema: V1 }))).toBe("SCHEMA_INCOMPATIBLE");
    expect((await registry.schemas(topic)).map(({ version }) => version)).toEqual([1]);
  });

  it("registers what the program declared, and takes it as it is at the next start", async () => {
    const { registry } = await opened();
    const declared = new SchemaRegistry();
    const refined = V1.refine(({ order }) => order > 0);
    declared.register({ topic, version: 1, schema: refined });
    declared.register({ topic, version: 2, schema: refined.safeExtend({ note: z.string().optional() }) });
    for (let start = 1; start <= 2; start++) {
      const schemas = await StoredSchemaRegistry.open(registry, { declared });
      expect(schemas.current(topic)).toMatchObject({ version: 2, declared: true });
      // The refinement is code: it counts here, where the schema was declared.
      expect(() => schemas.validate(topic, { order: -1 })).toThrow(
        expect.objectContaining({ code: "SCHEMA_VIOLATION" }),
      );
    }
    expect(await registry.schemas(topic)).toHaveLength(2);
  });

  it("writes and reads the version it declared, though others are ahead", async () => {
    const { registry } = await opened();
    const old = await StoredSchemaRegistry.open(registry);
    await old.register({ topic, version: 1, schema: V1 });
    const ahead = await StoredSchemaRegistry.open(registry);
    await ahead.register({ topic, version: 2, compat: "none", schema: z.object({ id: z.string() }) });
    await old.refresh();
    expect(old.latest(topic)?.version).toBe(2);
    expect(old.current(topic)?.version).toBe(1);
    expect(old.validate(topic, { order: 1 })?.version).toBe(1);
    expect(ahead.current(topic)?.version).toBe(2);
    const onlooker = await StoredSchemaRegistry.open(registry);
    expect(onlooker.current(topic)?.version).toBe(2);
  });

  it("says so when a newer release stored something else", async () => {
    const { registry } = await opened();
    await registry.putSchema(
      { topic, version: 1, compat: "quantum", document: { schema: {} }, createdMs: 0 },
      { expectedLatest: 0 },
    );
    expect(await codeOf(StoredSchemaRegistry.open(registry))).toBe("STORE_INCOMPATIBLE");
  });

  it("passes on what the store says", async () => {
    const { registry } = await opened();
    const failing: Registry = Object.assign(Object.create(registry) as Registry, {
      schemas: async () => [],
      putSchema: async () => {
        throw new BusError("STORE_UNAVAILABLE", "no connection");
      },
    });
    const schemas = await StoredSchemaRegistry.open(failing);
    expect(await codeOf(schemas.register({ topic, version: 1, schema: V1 }))).toBe("STORE_UNAVAILABLE");
    expect(schemas.latest(topic)).toBeUndefined();
  });
});

/** The registry, of which the answer to one look at the schemas comes when it is asked for. */
function slowly(registry: Registry): {
  readonly registry: Registry;
  hold(look: () => Promise<void>): Promise<() => Promise<void>>;
} {
  let isHeld = false;
  const found = gate();
  const opened = gate();
  const slow = Object.assign(Object.create(registry) as Registry, {
    schemas: async (name?: string) => {
      const schemas = await registry.schemas(name);
      if (!isHeld) return schemas;
      isHeld = false;
      found.open();
      await opened.passed;
      return schemas;
    },
    putSchema: registry.putSchema.bind(registry),
  });
  const hold = async (look: () => Promise<void>): Promise<() => Promise<void>> => {
    isHeld = true;
    const looking = look();
    await found.passed;
    return () => {
      opened.open();
      return looking;
    };
  };
  return { registry: slow, hold };
}

/** The registry, with somebody else registering between our look and our write. */
function overtaken(
  registry: Registry,
  first: { topic: string; version: number; schema: z.ZodType },
): Registry {
  return Object.assign(Object.create(registry) as Registry, {
    schemas: (name?: string) => registry.schemas(name),
    putSchema: async (...args: Parameters<Registry["putSchema"]>) => {
      await (await StoredSchemaRegistry.open(registry)).register(first);
      return registry.putSchema(...args);
    },
  });
}

describe("schemas of a topic that was removed", () => {
  it("are forgotten where they were found in the store, and are what they are anew", async () => {
    const { registry } = await opened();
    await registry.defineTopic({ name: topic, partitions: 1 });
    let nowMs = 1;
    const here = await StoredSchemaRegistry.open(registry, { clock: { now: () => nowMs++ } });
    const there = await StoredSchemaRegistry.open(registry);
    await here.register({ topic, version: 1, schema: V1 });
    await here.register({ topic, version: 2, schema: V1 });
    await there.refresh();
    expect(there.versions(topic)).toHaveLength(2);

    await registry.removeTopic(topic, [0]);
    await there.refresh();
    expect(there.validate(topic, "anything")).toBeUndefined();
    await here.refresh();
    expect(here.versions(topic), "what this process brought itself").toHaveLength(2);

    await here.register({ topic, version: 1, schema: z.object({ text: z.string() }) });
    expect(here.versions(topic)).toHaveLength(1);
    await there.refresh();
    expect(there.validate(topic, { text: "a" })).toMatchObject({ version: 1 });
  });

  it("stay if they are registered again here while a look that found none is under way", async () => {
    const { registry } = await opened();
    await registry.defineTopic({ name: topic, partitions: 1 });
    await (await StoredSchemaRegistry.open(registry)).register({ topic, version: 1, schema: V1 });
    const slow = slowly(registry);
    const schemas = await StoredSchemaRegistry.open(slow.registry);
    await registry.removeTopic(topic, [0]);
    const looked = await slow.hold(() => schemas.refresh());
    await schemas.register({ topic, version: 1, schema: V1 });
    await looked();
    expect(schemas.current(topic)).toMatchObject({ version: 1, declared: true });
    expect(() => schemas.validate(topic, { order: "1" })).toThrow(
      expect.objectContaining({ code: "SCHEMA_VIOLATION" }),
    );
  });

  it("are followed through a removal that was not noticed", async () => {
    const { registry } = await opened();
    let nowMs = 1;
    const here = await StoredSchemaRegistry.open(registry, { clock: { now: () => nowMs++ } });
    await registry.defineTopic({ name: topic, partitions: 1 });
    await here.register({ topic, version: 1, schema: V1 });
    const there = await StoredSchemaRegistry.open(registry);
    await registry.removeTopic(topic, [0]);
    await here.register({ topic, version: 1, schema: z.object({ text: z.string() }) });
    await there.refresh();
    expect(() => there.validate(topic, { order: 1 })).toThrow(
      expect.objectContaining({ code: "SCHEMA_VIOLATION" }),
    );
  });
});
