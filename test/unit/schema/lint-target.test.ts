import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { hubTarget, storeTarget } from "../../../src/schema/lint/targets.js";
import { StoredSchemaRegistry } from "../../../src/schema/registry/stored-registry.js";
import { type HubFixture, hubFixture } from "../../support/hub-fixture.js";

const topic = "orders.placed";

describe("what the lint is held against", () => {
  let f: HubFixture;
  beforeEach(async () => {
    f = await hubFixture();
    const schemas = await StoredSchemaRegistry.open(f.bus.store.registry);
    await schemas.register({ topic, version: 1, schema: z.object({ n: z.number() }) });
    const items = Array.from({ length: 600 }, (_, n) => ({ payload: { n }, ts: 1_000 + n }));
    await f.bus.publishMany(topic, items);
  });
  afterEach(() => f.close());

  it("is the same over HTTP and on the store", async () => {
    const hub = hubTarget({
      name: f.hub.url,
      get: async (path, query = {}) => {
        const search = new URLSearchParams(
          Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
        );
        const response = await f.get(`${path}?${search}`);
        if (!response.ok) throw Object.assign(new Error(path), await response.json());
        return response.json() as Promise<never>;
      },
    });
    const store = storeTarget(f.bus.store);
    expect(await hub.schemas()).toEqual(await store.schemas());
    for (const limit of [1, 550, 1_000]) {
      const [there, here] = [await hub.newest(topic, limit), await store.newest(topic, limit)];
      expect(there.map(({ id }) => id)).toEqual(here.map(({ id }) => id));
      expect([here.length, here[0]?.payload]).toEqual([Math.min(limit, 600), { n: 599 }]);
    }
    expect([await hub.newest("no.such", 5), await store.newest("no.such", 5)]).toEqual([[], []]);
  });
});
