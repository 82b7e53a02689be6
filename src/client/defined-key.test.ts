import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { defineTopic } from "../model/topic.js";
import { PromClient } from "./index.js";

const Plain = defineTopic<{ customer: string } | null>("orders", {
  compaction: true,
  key: (order) => (order as { customer: string }).customer,
});
const Checked = defineTopic("orders.checked", {
  schema: z.object({ customer: z.string().default("nobody") }),
  key: ({ customer }) => customer,
});

let f: HubFixture;
let client: PromClient;
beforeEach(async () => {
  f = await hubFixture();
  client = new PromClient(f.hub.url, { token: "all" });
  await client.connect();
});
afterEach(async () => {
  await client.close();
  await f.close();
});

async function keysOf(topic: string): Promise<unknown[]> {
  const keys: unknown[] = [];
  for await (const { key } of f.bus.read(topic, { from: "earliest" })) keys.push(key);
  return keys;
}

it("P4: a topic's definition makes the keys of what is published through a client, too", async () => {
  await client.publish(Plain, { customer: "ada" });
  await client.publish(Plain, { customer: "ada" }, { key: "own" });
  await client.publish(Plain, null, { key: "gone" });
  await client.publishMany(Plain, [{ payload: { customer: "bob" } }]);
  await client.publishTogether(Plain, [{ payload: { customer: "eve" } }, { payload: null, key: "gone" }]);
  expect(await keysOf("orders")).toEqual(["ada", "own", "gone", "bob", "eve", "gone"]);
});

it("what a schema makes of a payload has the key; of one that does not fit there is none", async () => {
  await client.publish(Checked, {});
  expect(await keysOf("orders.checked")).toEqual(["nobody"]);
  const wrong = [{ payload: { customer: 7 as never } }];
  for (const refused of [client.publishMany(Checked, wrong), client.publishTogether(Checked, wrong)])
    await expect(refused).rejects.toMatchObject({
      code: "SCHEMA_VIOLATION",
      details: { issues: [{ path: "payload.customer" }] },
    });
  expect(await keysOf("orders.checked")).toHaveLength(1);
});
