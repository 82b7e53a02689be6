import { describe, expect, it } from "vitest";
import { hubFixture } from "../../test/support/hub-fixture.js";
import { PromClient } from "../client/index.js";
import { memoryStore } from "../stores/memory/index.js";
import { runOutboxDrainer } from "./outbox-drainer.js";

describe("an outbox that is drained through a hub", () => {
  it("P10: keeps the order of a key: nothing goes out before an entry that the hub refuses", async () => {
    const { hub, bus, close } = await hubFixture();
    const shop = memoryStore();
    await shop.open();
    const client = new PromClient(hub.url, { token: "all" });
    await bus.defineTopic({ name: "orders", partitions: 1 });
    // The outbox takes what is too deep for the hub's bus.
    const deep = JSON.parse(`${"[".repeat(100)}${"]".repeat(100)}`);
    for (const [id, key, payload] of [
      ["1", "a", 1],
      ["2", "a", deep],
      ["3", "a", 3],
      ["4", "b", 4],
    ] as const)
      await shop.outbox.add({ id: `order-${id}`, topic: "orders", key, payload });
    const drainer = runOutboxDrainer(shop.outbox, client, { maxAttempts: 1, everyMs: 5 });
    await expect.poll(() => shop.outbox.stats()).toMatchObject({ dead: 1, sent: 2, pending: 1 });
    await drainer.stop();
    const events: unknown[] = [];
    for await (const event of bus.read("orders")) events.push(event.id);
    expect(events.sort()).toEqual(["order-1", "order-4"]);
    await client.close();
    await shop.close();
    await close();
  });
});
