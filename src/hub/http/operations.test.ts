import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { as, type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { defineTopic } from "../../model/topic.js";

interface Letters {
  items: { id: string; status: string; event: { payload: unknown }; errorClass: string }[];
  next: string | null;
}

describe("dead letters, export, import and replay over HTTP", () => {
  let f: HubFixture;
  beforeEach(async () => {
    f = await hubFixture({
      bus: { topics: [defineTopic("orders", { partitions: 1 })] },
      tokens: { reader: ["read:orders"], importer: ["ops:import", "publish:copy"] },
    });
    for (let n = 0; n < 5; n++) await f.bus.publish("orders", n, { key: `k${n}` });
  });
  afterEach(() => f.close());

  const json = async <T = Record<string, unknown>>(path: string, init?: RequestInit): Promise<T> => {
    const response = await f.get(path, init);
    expect([path, response.status]).toEqual([path, 200]);
    return (await response.json()) as T;
  };
  const bury = async (): Promise<void> => {
    const fail = (): never => {
      throw new Error("cannot reach host 7");
    };
    const stop = await f.bus.subscribe("orders", "mailer", fail, { from: "earliest", maxAttempts: 1 });
    await expect.poll(async () => (await json<Letters>("/dlq/orders")).items.length).toBe(5);
    await stop();
  };

  it("P8: lists dead letters by page and kind, and redrives them once", async () => {
    await bury();
    expect(await json("/dlq", as("reader"))).toMatchObject({
      items: [{ topic: "orders", open: 5, byGroup: { mailer: 5 } }],
    });
    expect(await json("/overview")).toMatchObject({ deadLetters: { open: 5, topics: { orders: 5 } } });
    const first = await json<Letters>("/dlq/orders?limit=2");
    const second = await json<Letters>(`/dlq/orders?limit=10&after=${first.next}`);
    expect([...first.items, ...second.items].map(({ event }) => event.payload)).toEqual([0, 1, 2, 3, 4]);
    expect(second.next).toBeNull();
    const newest = await json<Letters>("/dlq/orders?order=newest&limit=2");
    const older = await json<Letters>(`/dlq/orders?order=newest&after=${newest.next}`);
    expect([...newest.items, ...older.items].map(({ event }) => event.payload)).toEqual([4, 3, 2, 1, 0]);
    const [letter] = first.items;
    expect(await json(`/dlq/orders/${letter?.id}`)).toMatchObject({
      status: "open",
      error: { message: "cannot reach host 7" },
    });
    expect((await json<Letters>("/dlq/orders?key=k3")).items).toHaveLength(1);
    const choice = { ids: [letter?.id], group: "mailer" };
    expect((await f.post("/dlq/orders/redrive", choice, as("reader"))).status).toBe(403);
    const dry = await f.post("/dlq/orders/redrive", { ...choice, dryRun: true });
    expect(await dry.json()).toMatchObject({ redriven: 1, preview: [{ letter: letter?.id }] });
    expect(await (await f.post("/dlq/orders/redrive", choice)).json()).toMatchObject({ redriven: 1 });
    expect(await (await f.post("/dlq/orders/redrive", choice)).json()).toMatchObject({ redriven: 0 });
    const rest = await json<Letters>(`/dlq/orders?after=${letter?.id}`);
    expect(rest.items.map(({ event }) => event.payload)).toEqual([1, 2, 3, 4]);
    expect((await json<{ events: number }>("/topics/orders")).events).toBe(6);
    expect((await f.post("/dlq/orders/discard", {})).status).toBe(400);
    const discarded = await f.post("/dlq/orders/discard", { reason: "test data", key: "k4" });
    expect(await discarded.json()).toEqual({ topic: "orders", discarded: 1 });
    expect(await json("/dlq")).toMatchObject({ items: [{ open: 3, redriven: 1, discarded: 1 }] });
    const actions = (await json<{ items: { action: string }[] }>("/audit")).items.map(({ action }) => action);
    expect(actions).toEqual(["dead-letters.discard", "dead-letters.redrive", "dead-letters.redrive"]);
    expect((await f.get("/dlq/orders/nothing")).status).toBe(404);
  });

  it("P3: what is exported can be imported, and again, without doubling", async () => {
    const exported = await f.get("/export?topic=orders&from=seq:2");
    expect(exported.headers.get("content-type")).toBe("application/x-ndjson");
    const lines = await exported.text();
    expect(lines.trim().split("\n")).toHaveLength(4);
    const elsewhere = await hubFixture({ tokens: { importer: ["ops:import", "publish:copy"] } });
    const send = (path: string, init: RequestInit = {}): Promise<Response> =>
      elsewhere.get(path, {
        method: "POST",
        body: lines,
        ...init,
        headers: { "content-type": "application/x-ndjson", ...init.headers },
      });
    expect(await (await send("/import?topic=copy", as("importer"))).json()).toMatchObject({
      imported: 4,
      duplicates: 0,
    });
    expect(await (await send("/import?topic=copy")).json()).toMatchObject({ imported: 0, duplicates: 4 });
    expect((await send("/import?topic=other", as("importer"))).status).toBe(403);
    expect((await elsewhere.post("/import", {})).status).toBe(415);
    expect((await (await elsewhere.get("/audit")).json()) as object).toMatchObject({
      items: [{ action: "import" }, { action: "import" }],
    });
    const news = [1, 2].map((payload) => `${JSON.stringify({ payload })}\n`).join("");
    for (const wrong of ["nonsense\n", `{"payload":3,"key":"${"k".repeat(2_000)}"}\n`]) {
      const broken = await send("/import?topic=copy", { body: news + wrong + news });
      expect(await broken.json()).toMatchObject({ line: 3, published: 2 });
      const { items } = (await (await elsewhere.get("/audit?limit=1")).json()) as { items: unknown[] };
      expect(items).toMatchObject([{ target: "copy", details: { imported: 2, complete: false } }]);
    }
    await elsewhere.close();
    expect((await (await f.get("/export?topic=orders&key=k3")).text()).trim().split("\n")).toHaveLength(1);
  });

  it("has in the audit what a replay copied before it failed", async () => {
    await f.bus.defineTopic(defineTopic("small", { schema: z.number().max(1) }));
    const refused = await f.post("/replay", { from: { topic: "orders" }, to: "small", rate: 19 });
    expect(refused.status).toBe(422);
    expect(await json("/audit")).toMatchObject({
      items: [{ action: "replay", target: "orders", details: { events: 2, to: "small", complete: false } }],
    });
  });

  it("replays a topic into another, after telling what that would do", async () => {
    expect(await json("/replay?from=orders&to=again")).toMatchObject({ events: 5 });
    expect(await f.bus.store.registry.topic("again")).toBeNull();
    const body = {
      from: { topic: "orders", position: { seq: 2 } },
      to: "again",
      filter: { keys: ["k1", "k2"] },
    };
    expect(await (await f.post("/replay", body)).json()).toMatchObject({
      read: 4,
      events: 2,
      complete: true,
    });
    expect((await json<{ events: number }>("/topics/again")).events).toBe(2);
    expect(await (await f.post("/replay", body)).json()).toMatchObject({ duplicates: 2 });
    expect((await f.post("/replay", body, as("reader"))).status).toBe(403);
    expect((await f.post("/replay", { from: "orders" })).status).toBe(400);
    expect((await f.get("/replay?to=x")).status).toBe(400);
  });
});
