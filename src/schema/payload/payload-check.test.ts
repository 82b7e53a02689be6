import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createBus } from "../../bus/create-bus.js";
import { defineTopic, type PayloadSchema } from "../../model/topic.js";
import { memoryStore } from "../../stores/memory/index.js";
import { normalizeEvent } from "../evolution/upcast.js";
import { toJsonSchema } from "../reading/normalize.js";
import { SchemaRegistry } from "../registry/registry.js";
import { withSchemaValidation } from "../registry/validation-layer.js";
import { definitionCheck, payloadCheck } from "./payload-check.js";

const Order = z.object({
  id: z.string().trim(),
  count: z.number().default(1),
  lines: z.array(z.object({ sku: z.string() })).optional(),
});
const given = { id: " o-7 ", more: 1, lines: [{ sku: "a", price: 2 }] };
const stored = { id: " o-7 ", lines: [{ sku: "a" }] };

describe("what is stored of a payload", () => {
  it("is what was given less what the schema leaves out, by Zod and by JSON Schema alike", () => {
    expect(payloadCheck(Order)(given)).toEqual({
      fits: true,
      stored,
      value: { id: "o-7", count: 1, lines: [{ sku: "a" }] },
    });
    expect(payloadCheck(toJsonSchema(Order))(given)).toEqual({ fits: true, stored, value: stored });
    expect(payloadCheck(z.looseObject({ id: z.string() }))(given)).toMatchObject({ stored: given });
  });

  it("is the same through a definition and through the registry, and a reader gets the defaults", async () => {
    const bus = await createBus({ store: memoryStore() });
    const schemas = new SchemaRegistry();
    schemas.register({ topic: "orders.checked", version: 1, schema: Order });
    const defined = await bus.publish(defineTopic("orders.defined", { schema: Order }), given as never);
    const checked = await withSchemaValidation(bus, schemas).publish("orders.checked", given);
    expect([defined.payload, checked.payload]).toEqual([stored, stored]);
    expect(normalizeEvent(checked, { schemas }).payload).toEqual({ ...stored, id: "o-7", count: 1 });
    await bus.close();
  });

  it("P3: does not change between two tries because a default is made by code", async () => {
    let made = 0;
    const Ticket = defineTopic("tickets.opened", {
      schema: z.object({ title: z.string(), number: z.number().default(() => ++made) }),
    });
    const bus = await createBus({ store: memoryStore() });
    const first = await bus.publish(Ticket, { title: "a" } as never, { id: "one" });
    const again = await bus.publish(Ticket, { title: "a" } as never, { id: "one" });
    expect(made).toBeGreaterThan(1);
    expect(again).toMatchObject({ duplicate: true, seq: first.seq, payload: { title: "a" } });
    await bus.close();
  });

  it("is what toJSON makes of it, if that fits too, less what the schema leaves out", async () => {
    const Total = defineTopic("totals", { schema: z.object({ total: z.number(), at: z.any().optional() }) });
    const List = defineTopic("lists", { schema: z.array(z.string()) });
    class Order {
      readonly total = 5;
      readonly #form: unknown;
      constructor(form: unknown) {
        this.#form = form;
      }
      toJSON(): unknown {
        return this.#form;
      }
    }
    const bus = await createBus({ store: memoryStore() });
    const refused = { code: "SCHEMA_VIOLATION", message: expect.stringContaining("toJSON") };
    await expect(bus.publish(Total, new Order({ total: "five" }))).rejects.toMatchObject(refused);
    const list = Object.assign(["a"], { toJSON: () => ["a", 1] });
    await expect(bus.publish(List, list)).rejects.toMatchObject(refused);
    const order = await bus.publish(Total, new Order({ total: 6, secret: 1 }));
    const dated = await bus.publish(Total, { total: 7, at: new Date(0) });
    expect([order.payload, dated.payload]).toEqual([
      { total: 6 },
      { total: 7, at: "1970-01-01T00:00:00.000Z" },
    ]);
    await expect(bus.publish(Total, { total: 8, at: [new Date(0), Number.NaN] })).rejects.toMatchObject({
      code: "INVALID_PAYLOAD",
    });
    await bus.close();
  });

  it("is all of it where a validator of another kind decides", () => {
    const positive: PayloadSchema<number> = {
      safeParse: (value) =>
        typeof value === "number" && value > 0
          ? { success: true, data: value * 2 }
          : { success: false, error: { issues: [{ path: ["n", 0], message: "too small" }] } },
    };
    expect(definitionCheck(positive)(3)).toEqual({ fits: true, stored: 3, value: 6 });
    expect(definitionCheck(positive)(-3)).toEqual({
      fits: false,
      violations: [{ path: "payload.n[0]", message: "too small" }],
    });
  });

  it.each([
    ["dates", z.object({ at: z.date() }), { at: new Date(0) }],
    ["maps of any", z.record(z.string(), z.unknown()), { __proto__x: 1 }],
    ["code", z.custom<string>((value) => value === "x"), "x"],
    ["refinements", z.object({ a: z.number() }).refine(({ a }) => a > 0), { a: 1 }],
    ["transforms", z.string().transform(Number), "7"],
    ["any", z.any(), { a: 1 }],
  ])("can be told of %s", (_, schema, payload) => {
    const form = JSON.parse(JSON.stringify(payload));
    expect(payloadCheck(schema)(payload)).toMatchObject({ fits: true, stored: form });
  });
});
