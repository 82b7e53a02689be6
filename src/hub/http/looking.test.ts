import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { as, type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { defineTopic } from "../../model/topic.js";
import { browseLog } from "./browse-log.js";

interface Page {
  items: { seq: number; partition: number; payload: number; key?: string }[];
  next: string | null;
  scanned: number;
}

describe("looking into topics over HTTP", () => {
  let f: HubFixture;
  beforeEach(async () => {
    f = await hubFixture({
      bus: { topics: [defineTopic("orders", { partitions: 3, keyed: true })] },
      tokens: { reader: ["read:orders"], other: ["read:elsewhere"] },
    });
    for (let n = 0; n < 60; n++) {
      await f.bus.publish("orders", n, {
        key: `k${n % 5}`,
        ts: 1_000 + n,
        headers: n % 10 === 0 ? { "x-kind": "round" } : { "x-kind": "odd" },
        tags: n === 7 ? ["lucky"] : [],
      });
    }
  });
  afterEach(() => f.close());

  const json = async <T>(path: string, init?: RequestInit): Promise<T> => {
    const response = await f.get(path, init);
    expect([path, response.status]).toEqual([path, 200]);
    return (await response.json()) as T;
  };
  const walk = async (query: string): Promise<number[]> => {
    const seen: number[] = [];
    for (let after = ""; ; ) {
      const page = await json<Page>(`/topics/orders/events?${query}${after}`);
      seen.push(...page.items.map(({ payload }) => payload));
      if (page.next === null) return seen;
      after = `&after=${page.next}`;
    }
  };
  const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

  it.each(["newest", "oldest"] as const)(
    "P13: a page that somebody made up, %s first, leads no further than there is something",
    async (order) => {
      const all = await walk(`order=${order}`);
      const reads = vi.spyOn(f.bus.store.log, "read");
      const made = (...stretches: number[][]): string =>
        Buffer.from(JSON.stringify(["orders", order, ...stretches])).toString("base64url");
      const after = made(...[0, 1, 2].map((partition) => [partition, 0, 1_000_000]));
      expect(await walk(`order=${order}&limit=500&after=${after}`)).toEqual(all);
      expect(reads.mock.calls.length).toBeLessThan(30);
      const none = await f.get(`/topics/orders/events?order=${order}&after=${made([3, 0, 10])}`);
      expect(none.status).toBe(400);
    },
  );

  it.each(["newest", "oldest"] as const)(
    "P13: where nothing is left of a log, %s first, a page ends when enough was looked at",
    async (order) => {
      const { log } = f.bus.store;
      const stretches = [{ partition: 0, after: 1_000, before: 1_000_000 }];
      const options = { topic: "orders", order, stretches, limit: 10, matches: () => true };
      const page = await browseLog(log, { ...options, maxScan: 5 });
      expect(page).toMatchObject({ events: [], scanned: 5, rest: [{ partition: 0 }] });
      const gone = AbortSignal.abort();
      expect(await browseLog(log, { ...options, maxScan: 5, signal: gone })).toMatchObject({ scanned: 0 });
    },
  );

  it("lets others have their turn while a topic is looked through", async () => {
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const heads = await f.bus.store.log.heads("orders");
    const stretches = heads.map(({ partition, head }) => ({ partition, after: 0, before: head + 1 }));
    const options = { topic: "orders", order: "newest", limit: 1, maxScan: 100 } as const;
    const page = await browseLog(f.bus.store.log, { ...options, stretches, matches: () => false });
    isOver = true;
    expect(page.scanned).toBe(60);
    expect(turns).toBeGreaterThanOrEqual(heads.length);
  });

  it("P2: pages through a topic from either end, every event once, partitions merged by time", async () => {
    expect(await walk("order=oldest&limit=7")).toEqual(upTo(60));
    expect(await walk("limit=7")).toEqual(upTo(60).reverse());
    expect(await walk("limit=500&scan=11")).toEqual(upTo(60).reverse());
  });

  it("finds by time, key, header, tag, text and partition", async () => {
    expect(await walk("order=oldest&from=1010&until=1014")).toEqual([10, 11, 12, 13]);
    expect(await walk("order=newest&from=1010&until=1014")).toEqual([13, 12, 11, 10]);
    expect(await walk("order=oldest&header.x-kind=round")).toEqual([0, 10, 20, 30, 40, 50]);
    expect(await walk("tag=lucky")).toEqual([7]);
    expect(await walk("order=oldest&key=k3&limit=2")).toEqual(upTo(60).filter((n) => n % 5 === 3));
    expect(await walk("text=LUCKY")).toEqual([7]);
    const one = await json<Page>("/topics/orders/events?partition=1&limit=500");
    expect(new Set(one.items.map(({ partition }) => partition))).toEqual(new Set([1]));
  });

  it("goes on over holes that retention and compaction left", async () => {
    const heads = await f.bus.store.log.heads("orders");
    for (const { partition, head } of heads) {
      await f.bus.store.log.trim("orders", partition, 2);
      await f.bus.store.log.remove("orders", partition, [head - 1, head - 2, head - 3]);
    }
    const left = (await f.bus.store.log.heads("orders")).reduce((sum, { events }) => sum + events, 0);
    expect(await walk("limit=3")).toHaveLength(left);
    expect((await walk("order=oldest&limit=3")).reverse()).toEqual(await walk("limit=500"));
  });

  it("refuses filters it does not know, foreign cursors, partitions that are not there, and strangers", async () => {
    for (const query of [
      "hedaer.x=1",
      "toString=1",
      "after=abc",
      "partition=9",
      "limit=0",
      "from=when",
      "scan=x",
    ])
      expect([query, (await f.get(`/topics/orders/events?${query}`)).status]).toEqual([query, 400]);
    for (const asked of ["/export?topic=orders&until=seq:5", "/trace?correlation=c&from=earliest"])
      expect(await (await f.get(asked)).json()).toMatchObject({
        status: 400,
        detail: expect.stringMatching(/^"[a-z:5]+" is no time \(milliseconds or ISO 8601\)$/),
      });
    expect((await f.get("/topics/orders/events", as("other"))).status).toBe(403);
    expect((await f.get("/topics/nowhere/events")).status).toBe(404);
  });

  it("tells the history of a key, and an event by its id to those who may read it", async () => {
    const newest = await json<Page>("/topics/orders/keys/k2?limit=2");
    expect(newest.items.map(({ payload }) => payload)).toEqual([57, 52]);
    const oldest = await json<Page>("/topics/orders/keys/k2?order=oldest&limit=2");
    expect(oldest.items.map(({ payload }) => payload)).toEqual([2, 7]);
    const { id } = await f.bus.publish("orders", 99);
    expect(await json(`/events/${id}`, as("reader"))).toMatchObject({ id, payload: 99 });
    const hidden = await f.get(`/events/${id}`, as("other"));
    const absent = await f.get("/events/nothing", as("other"));
    expect([hidden.status, absent.status]).toEqual([404, 404]);
    expect((await hidden.text()).replace(id, "X")).toBe((await absent.text()).replace("nothing", "X"));
  });

  it("finds every key there can be, also one that no path holds", async () => {
    for (const key of [".", "..", "", "a/b", "%2F", "?", "\u0000", "__proto__", "é"]) {
      await f.bus.publish("orders", key, { key });
      const encoded = encodeURIComponent(key);
      const { items } = await json<Page>(`/topics/orders/keys?key=${encoded}&limit=1`);
      expect(items).toMatchObject([{ key, payload: key }]);
      const { events } = await json<{ events: object }>(`/latest-by-key?topic=orders&key=${encoded}`);
      expect(Object.entries(events)).toMatchObject([[key, { payload: key }]]);
    }
    expect((await f.get("/topics/orders/keys")).status).toBe(400);
    expect((await f.get("/topics/orders/keys?key=a", as("other"))).status).toBe(403);
  });

  it("follows causes and effects through topics, as far as the caller may see", async () => {
    const root = await f.bus.publish("orders", 1, { headers: { correlationId: "c-1" } });
    const mail = await f.bus.publish("mails", 2, { caused_by: [root.id] });
    const sent = await f.bus.publish("orders", 3, { caused_by: [mail.id] });
    await f.bus.publish("orders", 4, { caused_by: ["unrelated"] });
    interface Traced {
      events: { id: string }[];
      edges: { from: string; to: string }[];
      missing: string[];
      complete: boolean;
    }
    for (const { id } of [root, mail, sent]) {
      const traced = await json<Traced>(`/trace/${id}`);
      expect(traced.events.map((event) => event.id).sort()).toEqual([root.id, mail.id, sent.id].sort());
      expect(traced.edges).toContainEqual({ from: mail.id, to: sent.id });
      expect(traced).toMatchObject({ complete: true, missing: [] });
    }
    const partial = await json<Traced>(`/trace/${sent.id}`, as("reader"));
    expect(partial).toMatchObject({ missing: [mail.id], events: [{ id: sent.id }] });
    const correlated = await json<Traced>("/trace?correlation=c-1&from=0");
    expect(correlated.events.map((event) => event.id)).toContain(sent.id);
    expect((await json<Traced>(`/trace/${root.id}?scan=1`)).complete).toBe(false);
    expect((await f.get(`/trace/${root.id}`, as("other"))).status).toBe(404);
  });
});
