import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { as, type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { StoredSchemaRegistry } from "../../schema/registry/stored-registry.js";
import { withSchemaValidation } from "../../schema/registry/validation-layer.js";

describe("the status of schemas over HTTP", () => {
  let f: HubFixture;
  beforeEach(async () => {
    f = await hubFixture({ tokens: { orders: ["read:orders.*"] } });
    const schemas = await StoredSchemaRegistry.open(f.bus.store.registry);
    const schema = z.object({ n: z.number() });
    await schemas.register({ topic: "orders.placed", version: 1, schema });
    await schemas.register({ topic: "users.moved", version: 1, schema });
    await withSchemaValidation(f.bus, schemas).publish("orders.placed", { n: 1 });
  });
  afterEach(() => f.close());

  it("tells of each topic that one may read", async () => {
    const all = (await (await f.get("/schema-status")).json()) as { items: { topic: string }[] };
    expect(all.items).toMatchObject([
      { topic: "orders.placed", stage: "settled", counts: { 1: 1 }, versions: [{ version: 1 }] },
      { topic: "users.moved", stage: "unused" },
    ]);
    const some = (await (await f.get("/schema-status", as("orders"))).json()) as typeof all;
    expect(some.items.map(({ topic }) => topic)).toEqual(["orders.placed"]);
    expect((await f.get("/schema-status?topic=users.moved", as("orders"))).status).toBe(403);
    expect((await f.get("/schema-status?sample=0")).status).toBe(400);
  });
});
