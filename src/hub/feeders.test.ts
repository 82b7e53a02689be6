/** Views stay whole, whatever clients subscribe to. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { PromClient } from "../client/index.js";
import { startChangelogProjector } from "../project/views/changelog.js";
import { startTransactionalProjector } from "../project/views/transactional.js";

let f: HubFixture;
let client: PromClient;
const seen: unknown[] = [];
beforeEach(async () => {
  f = await hubFixture({ tokens: { narrow: ["subscribe:orders", "subscribe:orders.**"] } });
  await f.bus.defineTopic({ name: "orders", partitions: 4, keyed: true });
  client = new PromClient(f.hub.url, { token: "narrow" });
  await client.connect();
  seen.length = 0;
});
afterEach(async () => {
  await client.close();
  await f.close();
});

const join = (group: string, topic = "orders"): Promise<unknown> =>
  client.subscribe(topic, group, ({ payload }) => void seen.push(payload), { from: "earliest" });

async function publishAll(): Promise<void> {
  for (let n = 0; n < 20; n++) await f.bus.publish("orders", { n }, { key: `k${n}` });
}

const documents = async (view: string): Promise<number> =>
  (await f.bus.view(view).find({ limit: 100 })).items.length;

describe("P9: a client cannot take events from a view", () => {
  const refused = { code: "FORBIDDEN" };

  it("that a changelog projector feeds", async () => {
    await startChangelogProjector(f.bus, { topic: "orders", view: "totals" });
    for (const topic of ["orders", "orders.**"])
      await expect(join("changelog:totals", topic)).rejects.toMatchObject(refused);
    await expect(join("changelog:totals__2")).rejects.toMatchObject(refused);
    await publishAll();
    await expect.poll(() => documents("totals")).toBe(20);
    expect(seen).toEqual([]);
  });

  it("that a changelog projector feeds by a group of its own", async () => {
    await startChangelogProjector(f.bus, { topic: "orders", view: "totals", group: "own" });
    await expect(join("own")).rejects.toMatchObject(refused);
    await expect(join("changelog:totals__3")).rejects.toMatchObject(refused);
  });

  it("that a transactional projector feeds", async () => {
    await startTransactionalProjector(f.bus, {
      topic: "orders",
      group: "sums",
      from: "earliest",
      handler: async (events, tx) => {
        for (const { key, payload } of events) await tx.view("sums").upsert(key ?? "", payload as object);
      },
    });
    await publishAll();
    await expect.poll(() => documents("sums")).toBe(20);
    await expect(join("sums")).rejects.toMatchObject(refused);
  });

  it("nor can anybody move the group that feeds it: what it has counted it would count again", async () => {
    await startTransactionalProjector(f.bus, {
      topic: "orders",
      group: "sums",
      from: "earliest",
      handler: async (events, tx) => {
        for (const _ of events) await tx.view("sums").inc("all", { orders: 1 });
      },
    });
    await startChangelogProjector(f.bus, { topic: "orders", view: "totals" });
    await publishAll();
    const counted = (): Promise<unknown> => f.bus.view("sums").get("all");
    await expect.poll(counted).toMatchObject({ orders: 20 });
    await expect.poll(() => documents("totals")).toBe(20);
    for (const group of ["sums", "changelog:totals"])
      for (const dryRun of [true, false]) {
        const moved = await f.post(`/groups/${group}/cursor`, { topic: "orders", to: "earliest", dryRun });
        expect([moved.status, ((await moved.json()) as { detail: string }).detail]).toEqual([
          409,
          expect.stringContaining(`group ${group} of orders feeds a view`),
        ]);
      }
    await f.bus.publish("orders", { n: 20 }, { key: "k20" });
    await expect.poll(counted).toMatchObject({ orders: 21 });
  });

  it("and joins every other group, also one of that name on another topic", async () => {
    await startChangelogProjector(f.bus, { topic: "orders", view: "totals", group: "own" });
    await join("own-mails");
    await join("own", "orders.eu");
    await publishAll();
    await expect.poll(() => seen.length).toBe(20);
  });
});
