import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { as, type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { defineTopic } from "../../model/topic.js";
import { DrainEstimator } from "./drain.js";

const Placed = defineTopic("orders.placed", { partitions: 2, keyed: true });

describe("looking at topics and groups over HTTP", () => {
  let f: HubFixture;
  beforeEach(async () => {
    f = await hubFixture({
      bus: { topics: [Placed, defineTopic("secret")] },
      tokens: {
        reader: ["read:orders.*"],
        mover: ["read:orders.*", "ops:cursor"],
        shop: ["read:orders.*", "ops:*", "group:shop"],
      },
    });
    for (let n = 0; n < 6; n++) await f.bus.publish(Placed, { n }, { key: `k${n % 3}`, ts: n + 1 });
    await f.bus.publish("secret", 1);
    const stop = await f.bus.subscribe(Placed, "mailer", () => undefined, { from: "earliest" });
    const spy = await f.bus.subscribe("secret", "spy", () => undefined, { from: "earliest" });
    await expect.poll(async () => (await f.bus.admin.lag()).every(({ lag }) => lag === 0)).toBe(true);
    await stop();
    await spy();
  });
  afterEach(() => f.close());

  interface Answer {
    readonly [name: string]: unknown;
    readonly items: readonly Record<string, unknown>[];
  }
  const json = async (path: string, init?: RequestInit): Promise<Answer> => {
    const response = await f.get(path, init);
    expect([path, response.status]).toEqual([path, 200]);
    return (await response.json()) as Answer;
  };
  const names = (list: Answer, field: string): unknown[] => list.items.map((item) => item[field]);

  it("lists what the caller may read, and nothing else", async () => {
    const reader = as("reader");
    expect(names(await json("/topics", reader), "name")).toEqual(["orders.placed"]);
    expect(names(await json("/topics"), "name")).toEqual(["orders.placed", "secret"]);
    expect(names(await json("/groups", reader), "group")).toEqual(["mailer"]);
    expect(names(await json("/cursors", reader), "group")).toEqual(["mailer"]);
    expect((await json("/lag", reader)).groups).toHaveLength(1);
    expect((await json("/lag")).groups).toHaveLength(2);
  });

  it("403 before 404: whether a topic exists shows only to those who may read it", async () => {
    for (const path of [
      "/topics/TOPIC",
      "/partitions?topic=TOPIC",
      "/latest-by-key?topic=TOPIC&keys=a",
      "/lag?topic=TOPIC",
      "/groups/spy/why?topic=TOPIC",
      "/groups/spy/verify?topic=TOPIC",
      "/events?topic=TOPIC",
      "/export?topic=TOPIC",
      "/dlq/TOPIC",
      "/dlq/TOPIC/x",
      "/schemas?topic=TOPIC",
      "/snap/TOPIC/x",
      "/snap/TOPIC",
    ]) {
      const answers = await Promise.all(
        ["secret", "nowhere"].map(async (topic) => {
          const response = await f.get(path.replace("TOPIC", topic), as("reader"));
          return [response.status, (await response.text()).replaceAll(topic, "TOPIC")];
        }),
      );
      expect([path, answers[0]?.[0]]).toEqual([path, 403]);
      expect(answers[0]).toEqual(answers[1]);
      if (!path.startsWith("/snap")) {
        expect([path, (await f.get(path.replace("TOPIC", "orders.none"))).status]).toEqual([path, 404]);
      }
    }
    expect(await f.bus.store.registry.topic("orders.none")).toBeNull();
    expect((await f.get("/groups/spy", as("reader"))).status).toBe(404);
  });

  it("describes a topic with its partitions and groups", async () => {
    const topic = await json("/topics/orders.placed");
    expect(topic).toMatchObject({
      config: { partitions: 2, keyed: true },
      events: 6,
      groups: [{ group: "mailer", lag: 0 }],
    });
    expect(topic.partitions).toEqual((await json("/partitions?topic=orders.placed")).items);
    expect(topic.partitions).toMatchObject([{ partition: 0, low: 1 }, { partition: 1 }]);
  });

  it("tells the lag in events and in seconds, per partition and in total, and says why", async () => {
    await f.bus.publish(Placed, { n: 7 }, { key: "k0", ts: f.bus.clock.now() - 5_000 });
    const lag = await json("/lag?topic=orders.placed&group=mailer");
    expect(lag).toMatchObject({ lag: 1, drainSeconds: null, groups: [{ lag: 1 }] });
    expect(lag.lagSeconds).toBeGreaterThanOrEqual(5);
    const behind = (lag.partitions as { lag: number; lagSeconds: number }[]).filter((p) => p.lag > 0);
    expect(behind).toMatchObject([{ lag: 1, group: "mailer" }]);
    expect(behind[0]?.lagSeconds).toBeGreaterThanOrEqual(5);
    const why = await json("/groups/mailer/why");
    expect(why.sentence).toContain("mailer is 1 event behind on orders.placed because nobody is subscribed");
    expect(await json("/groups/mailer")).toMatchObject({ lag: 1, topics: [{ topic: "orders.placed" }] });
    expect((await f.get("/lag?topic=orders.placed&group=nobody")).status).toBe(404);
    expect(await json("/groups/mailer/verify?topic=orders.placed")).toMatchObject({ ok: true });
  });

  it("estimates when a group has caught up from how it did lately", () => {
    const drain = new DrainEstimator();
    expect(drain.estimate("g", { atMs: 0, lag: 100 })).toBeNull();
    expect(drain.estimate("g", { atMs: 500, lag: 90 })).toBeNull();
    expect(drain.estimate("g", { atMs: 2_000, lag: 60 })).toBe(3);
    expect(drain.estimate("g", { atMs: 3_000, lag: 120 })).toBeNull();
    expect(drain.estimate("g", { atMs: 4_000, lag: 0 })).toBe(0);
    expect(drain.estimate("g", { atMs: 100_000, lag: 5 })).toBeNull();
  });

  it("gives the newest event of each key", async () => {
    const { events } = await json("/latest-by-key?topic=orders.placed&keys=k0,k1&key=none&key=k2");
    expect(events).toMatchObject({
      k0: { payload: { n: 3 } },
      k1: { payload: { n: 4 } },
      none: null,
      k2: {},
    });
    expect((await f.get("/latest-by-key?topic=orders.placed")).status).toBe(400);
  });

  it("moves, pauses and removes no group that the token may not act for", async () => {
    const topic = "orders.placed";
    const shop = as("shop");
    const asked: [path: string, body: object][] = [
      ["cursor", { topic, to: "earliest" }],
      ["pause", { topic }],
      ["resume", { topic }],
      ["remove", { topic, dryRun: true }],
    ];
    for (const [path, body] of asked) {
      const refused = await f.post(`/groups/mailer/${path}`, body, shop);
      expect([refused.status, await refused.json()]).toMatchObject([
        403,
        { code: "FORBIDDEN", detail: "this token lacks group:mailer" },
      ]);
      expect((await f.post(`/groups/shop/${path}`, body, shop)).status).not.toBe(403);
    }
    const ofTopic = await f.post(`/topics/${topic}/remove`, {}, shop);
    expect([ofTopic.status, await ofTopic.json()]).toMatchObject([
      403,
      { detail: "this token lacks group:mailer" },
    ]);
    const move = { topic, group: "mailer", to: "earliest" };
    expect((await f.post("/replay", move, shop)).status).toBe(403);
    expect((await f.get(`/replay?topic=${topic}&group=mailer&to=earliest`, shop)).status).toBe(403);
    expect(await json("/groups", shop)).toMatchObject({ items: [{ group: "mailer", lag: 0 }] });
  });

  it("moves a group, after telling what it would mean; only for those who may", async () => {
    const body = { topic: "orders.placed", to: "earliest" };
    const mover = as("mover");
    expect((await f.post("/groups/mailer/cursor", body, as("reader"))).status).toBe(403);
    const preview = await f.post("/groups/mailer/cursor", { ...body, dryRun: true }, mover);
    expect(await preview.json()).toMatchObject({ moved: false, redelivered: 6 });
    expect(await json("/lag?topic=orders.placed&group=mailer")).toMatchObject({ lag: 0 });
    expect(await (await f.post("/groups/mailer/cursor", body, mover)).json()).toMatchObject({ moved: true });
    expect(await json("/lag?topic=orders.placed&group=mailer")).toMatchObject({ lag: 6 });
    expect((await json("/audit")).items).toMatchObject([{ action: "group.move", actor: expect.any(String) }]);
    expect((await f.post("/groups/mailer/cursor", { ...body, to: "noon" }, mover)).status).toBe(400);
    expect((await f.get("/replay?topic=orders.placed&group=mailer&to=latest")).status).toBe(200);
  });

  it("400: a filter that is misspelt or no number", async () => {
    for (const path of [
      "/lag?topik=x",
      "/events?topic=orders.placed&from=noon",
      "/events?topic=orders.placed&partition=x",
      "/audit?limit=0",
      "/dlq/orders.placed?status=lost",
      "/export?topic=orders.placed&until=soon",
    ]) {
      expect([path, (await f.get(path)).status]).toEqual([path, 400]);
    }
  });

  it("shows everything at a glance", async () => {
    expect(await json("/overview")).toMatchObject({
      store: expect.any(String),
      topics: 2,
      events: 7,
      groups: 2,
      lag: 0,
      deadLetters: { open: 0 },
      tasks: [],
    });
    expect((await f.get("/overview", as("reader"))).status).toBe(403);
    expect((await f.get("/tasks", as("reader"))).status).toBe(403);
    expect((await f.get("/audit", as("reader"))).status).toBe(403);
    expect(await json("/tasks")).toEqual({ items: [] });
    expect(await json("/schemas")).toEqual({ items: [] });
  });
});
