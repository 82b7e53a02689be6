import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { collected } from "../../../test/support/collected.js";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import type { EventRecord } from "../../model/event.js";
import { subscribeNormalized } from "../../schema/evolution/subscribe-normalized.js";
import { SchemaRegistry } from "../../schema/registry/registry.js";
import { withSchemaValidation } from "../../schema/registry/validation-layer.js";

describe("metrics of schemas", () => {
  let f: HubFixture;
  beforeEach(async () => {
    f = await hubFixture();
  });
  afterEach(() => f.close());

  it("count what is written and read, by version", async () => {
    const schemas = new SchemaRegistry();
    const topic = "orders.placed";
    schemas.register({ topic, version: 1, schema: z.object({ order: z.number() }) });
    const checked = withSchemaValidation(f.bus, schemas);
    await checked.publish(topic, { order: 1 });
    await checked.publish(topic, { order: 2 });
    await expect(checked.publish(topic, { order: "3" })).rejects.toMatchObject({ code: "SCHEMA_VIOLATION" });
    await checked.publish("free.topic", {});
    const read = collected<EventRecord>();
    await subscribeNormalized(f.bus, topic, "billing", read.take, { schemas, from: "earliest" });
    await read.first(2);
    const text = await (await f.get("/metrics")).text();
    expect(text.split("\n").filter((line) => /^events_(validated|normalized)_total/.test(line))).toEqual([
      'events_validated_total{topic="orders.placed",version="1",outcome="valid"} 2',
      'events_validated_total{topic="orders.placed",version="none",outcome="rejected"} 1',
      'events_validated_total{topic="free.topic",version="none",outcome="unchecked"} 1',
      'events_normalized_total{topic="orders.placed",group="billing",version="1"} 2',
    ]);
  });
});
