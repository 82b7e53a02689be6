import { describe, expect, it } from "vitest";
import { hubFixture } from "../../test/support/hub-fixture.js";
import { type ClientTrouble, PromClient } from "../client/index.js";
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

  it("P10: tells the client's listener what is refused and what is dead, by default as a warning", async () => {
    const { hub, close } = await hubFixture();
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", listen);
    const troubles: ClientTrouble[] = [];
    const shop = memoryStore();
    await shop.open();
    const clients = [
      new PromClient(hub.url, { token: "all", onTrouble: (trouble) => troubles.push(trouble) }),
      new PromClient(hub.url, { token: "all" }),
    ];
    for (const [n, client] of clients.entries()) {
      await shop.outbox.add({ id: `order-${n}`, topic: "Not A Topic", key: "a", payload: 1 });
      const options = { maxAttempts: 2 - n, retry: { maxMs: 1 }, everyMs: 5 };
      const drainer = runOutboxDrainer(shop.outbox, client, options);
      await expect.poll(() => drainer.stats().dead).toBe(1);
      await drainer.stop();
      await shop.outbox.discardDead([`order-${n}`]);
      await client.close();
    }
    process.off("warning", listen);
    const waits = 'entries of its key ("a") wait';
    expect(troubles).toMatchObject([
      {
        topic: "Not A Topic",
        error: { code: "INVALID_TOPIC", message: expect.stringContaining("is refused") },
      },
      { givenUp: true, error: { message: `entry order-0 of the outbox is dead; ${waits}` } },
    ]);
    expect(warnings.filter((text) => text.startsWith("entry"))).toEqual([
      expect.stringMatching(/^entry order-1 of the outbox is dead; .*: "Not A Topic" is not a topic name/),
    ]);
    await shop.close();
    await close();
  });
});
