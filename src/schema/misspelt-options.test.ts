/** A name that is misspelt must not count as not given: payloads would be checked otherwise than was meant, or not at all. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import type { Bus } from "../bus/bus.js";
import { createBus } from "../bus/create-bus.js";
import { defineTopic } from "../model/topic.js";
import { memoryStore } from "../stores/memory/index.js";
import { startDualWriteMirror, withDualWrite } from "./evolution/dual-write.js";
import { verifyDualWrite } from "./evolution/dual-write-check.js";
import { schemaStatus } from "./evolution/schema-status.js";
import { subscribeNormalized } from "./evolution/subscribe-normalized.js";
import { UpcastChain } from "./evolution/upcast.js";
import { lintProject } from "./lint/lint.js";
import { SchemaRegistry } from "./registry/registry.js";
import { openSchemas } from "./registry/schema-following.js";
import { StoredSchemaRegistry } from "./registry/stored-registry.js";
import { withSchemaValidation } from "./registry/validation-layer.js";

const topic = "orders.placed";
let bus: Bus;
let schemas: SchemaRegistry;

beforeEach(async () => {
  bus = await createBus({ store: memoryStore() });
  schemas = new SchemaRegistry();
});
afterEach(() => bus.close());

/** As plain JavaScript would say it. */
const misspelt: object = { enforced: "warn" };
const upcasts = new UpcastChain();
const dual = () => ({ topic, to: 2, schemas, upcasts, ...misspelt });

it.each<[string, () => unknown]>([
  ["withSchemaValidation", () => withSchemaValidation(bus, schemas, misspelt)],
  ["withDualWrite", () => withDualWrite(bus, dual())],
  ["startDualWriteMirror", () => startDualWriteMirror(bus, dual())],
  ["verifyDualWrite", () => verifyDualWrite(bus, dual())],
  ["openSchemas", () => openSchemas(bus, misspelt)],
  ["StoredSchemaRegistry.open", () => StoredSchemaRegistry.open(bus.store.registry, misspelt)],
  ["schemaStatus", () => schemaStatus(bus, misspelt)],
  ["lintProject", () => lintProject({ root: ".", ...misspelt })],
  [
    "a schema to be registered",
    () => schemas.register({ topic, version: 1, schema: z.string(), ...misspelt }),
  ],
  ["subscribe", () => subscribeNormalized(bus, topic, "g", () => undefined, { schemas, ...misspelt })],
])("%s refuses an option that it does not know, and does nothing", async (call, doing) => {
  await expect((async () => doing())()).rejects.toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining(`${call} knows no option "enforced"; it takes `),
  });
  expect(await bus.topics()).toEqual([]);
  expect(schemas.topics()).toEqual([]);
  expect(bus.tasks.reports()).toEqual([]);
});

it.each<[string, object]>([
  ["an enforcement that is none", { enforce: "rejct" }],
  ["one that is none for some topics", { topics: { "legacy.**": "ignore" } }],
  ["a strictness that is none", { strict: "yes" }],
])("validation refuses %s", (_, options) => {
  expect(() => withSchemaValidation(bus, schemas, options)).toThrow(
    expect.objectContaining({ code: "INVALID_OPTION" }),
  );
});

it.each<[string, (registry: never) => unknown]>([
  ["withSchemaValidation", (registry) => withSchemaValidation(bus, registry)],
  ["withDualWrite", (registry) => withDualWrite(bus, { topic, to: 2, schemas: registry, upcasts })],
  [
    "subscribeNormalized",
    (registry) => subscribeNormalized(bus, topic, "g", () => undefined, { schemas: registry }),
  ],
])("%s refuses what is no registry, such as a promise of one", async (call, doing) => {
  for (const none of [openSchemas(bus), {}, undefined]) {
    await expect((async () => doing(none as never))()).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining(`${call} needs a registry of schemas`),
    });
  }
});

it("options that are none at all are refused by what takes them", async () => {
  for (const none of [null, "strict"] as never[]) {
    const refused = {
      code: "INVALID_OPTION",
      message: expect.stringContaining("takes an object with any of "),
    };
    expect(() => withSchemaValidation(bus, schemas, none)).toThrow(expect.objectContaining(refused));
    expect(() => withDualWrite(bus, none)).toThrow(expect.objectContaining(refused));
    await expect(openSchemas(bus, none)).rejects.toMatchObject(refused);
    expect(() => defineTopic(topic, none)).toThrow(expect.objectContaining(refused));
  }
});

it("what serves the layer, the mirror and the check of a dual write is taken by each", async () => {
  const all = { topic, to: 2, from: 1, schemas, upcasts, attempts: 2 };
  withDualWrite(bus, all);
  await startDualWriteMirror(bus, all);
  expect(await verifyDualWrite(bus, { ...all, newest: 10 })).toMatchObject({ complete: true });
});
