import { createParser } from "eventsource-parser";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { holdTrim } from "../../../test/support/held-trim.js";
import { as, type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { defineTopic } from "../../model/topic.js";
import { startChangelogProjector } from "../../project/views/changelog.js";
import { drafts } from "../../testing/conformance/samples.js";
import { startHub } from "../server.js";

interface Job {
  id: string;
  state: string;
  progress: Record<string, unknown>;
  result?: Record<string, unknown>;
}

describe("running a hub over HTTP", () => {
  let f: HubFixture;
  beforeEach(async () => {
    f = await hubFixture({
      bus: { topics: [defineTopic("orders", { partitions: 2, keyed: true })] },
      tokens: { reader: ["read:orders", "ops:stats"] },
    });
  });
  afterEach(() => f.close());

  const json = async <T = Record<string, unknown>>(path: string, init?: RequestInit): Promise<T> => {
    const response = await f.get(path, init);
    expect([path, response.status]).toEqual([path, 200]);
    return (await response.json()) as T;
  };
  const ended = async (id: string): Promise<Job> => {
    await expect.poll(async () => (await json<Job>(`/jobs/${id}`)).state).not.toBe("running");
    return json<Job>(`/jobs/${id}`);
  };

  it("says who one is and what one may do", async () => {
    expect(await json("/whoami", as("reader"))).toMatchObject({
      subject: "token-2",
      expiresMs: null,
      rules: [
        { effect: "allow", verbs: ["read"], resources: ["orders"] },
        { effect: "allow", verbs: ["ops"], resources: ["stats"] },
      ],
    });
  });

  it("lists the hubs of a store and its members, and a hub that closed no more", async () => {
    const stop = await f.bus.subscribe("orders", "g", () => undefined);
    interface Hubs {
      self: string;
      items: { id: string; url: string; pid: number }[];
      members: { pid: number }[];
    }
    await expect.poll(async () => (await json<Hubs>("/hubs")).items.length).toBe(1);
    const { self, items, members } = await json<Hubs>("/hubs");
    expect(items).toMatchObject([{ id: self, url: f.hub.url, pid: process.pid }]);
    expect(members).toMatchObject([{ pid: process.pid }]);
    await stop();
    await f.hub.close();
    expect((await f.bus.store.registry.tokens("hub:")).size).toBe(0);
  });

  it("pauses a group everywhere and lets it go on; why says so; the audit has both", async () => {
    const seen: unknown[] = [];
    await f.bus.subscribe("orders", "mailer", (event) => void seen.push(event.payload), { from: "earliest" });
    await f.bus.publish("orders", 1);
    await expect.poll(() => seen).toEqual([1]);
    const pause = await f.post("/groups/mailer/pause", { topic: "orders" });
    expect(await pause.json()).toEqual({ topic: "orders", group: "mailer", paused: true, changed: true });
    await f.bus.publish("orders", 2);
    expect(await json("/groups/mailer/why")).toMatchObject({
      sentence: expect.stringContaining("token-1 paused it"),
    });
    expect(await json("/groups")).toMatchObject({ items: [{ paused: { by: "token-1" }, lag: 1 }] });
    expect(seen).toEqual([1]);
    expect((await f.post("/groups/mailer/pause", { topic: "orders" }, as("reader"))).status).toBe(403);
    expect((await f.post("/groups/nobody/pause", { topic: "orders" })).status).toBe(404);
    expect(await (await f.post("/groups/mailer/pause", { topic: "orders" })).json()).toMatchObject({
      changed: false,
    });
    await f.post("/groups/mailer/resume", { topic: "orders" });
    await expect.poll(() => seen).toEqual([1, 2]);
    const audit = await json<{ items: { action: string; actor: string }[] }>("/audit");
    expect(audit.items.map(({ action, actor }) => [action, actor])).toEqual([
      ["group.resume", "token-1"],
      ["group.pause", "token-1"],
    ]);
  });

  it("removes a group once nobody is subscribed with it; the audit says who did", async () => {
    const stop = await f.bus.subscribe("orders", "mailer", () => undefined, { from: "earliest" });
    const remove = (o: object = {}, init?: RequestInit): Promise<Response> =>
      f.post("/groups/mailer/remove", { topic: "orders", ...o }, init);
    expect((await remove()).status).toBe(409);
    await stop();
    await f.bus.publish("orders", 1);
    expect((await remove({}, as("reader"))).status).toBe(403);
    expect(await (await remove({ dryRun: true })).json()).toMatchObject({ removed: false, unsettled: 1 });
    expect(await (await remove()).json()).toMatchObject({ removed: true, unsettled: 1 });
    expect((await remove()).status).toBe(404);
    expect(await json("/groups")).toEqual({ items: [] });
    expect(await json("/audit")).toMatchObject({ items: [{ action: "group.remove", actor: "token-1" }] });
  });

  it("removes a topic once nobody is subscribed to it; the audit says who did", async () => {
    const stop = await f.bus.subscribe("orders", "mailer", () => undefined, { from: "earliest" });
    const remove = (o: object = {}, init?: RequestInit): Promise<Response> =>
      f.post("/topics/orders/remove", o, init);
    for (const o of [{}, { background: true }])
      expect(await (await remove(o)).json()).toMatchObject({ status: 409, code: "WRITE_CONFLICT" });
    expect(await (await remove({ dryRun: true })).json()).toMatchObject({
      ...{ removed: false, groups: ["mailer"] },
      obstacles: [expect.stringContaining("group mailer is in use on orders")],
    });
    await stop();
    await f.bus.publish("orders", 1);
    expect((await remove({}, as("reader"))).status).toBe(403);
    const means = { topic: "orders", events: 1, deadLetters: 0, groups: ["mailer"], others: [] };
    expect(await (await remove({ dryRun: true })).json()).toEqual({ ...means, removed: false });
    expect(await (await remove()).json()).toEqual({ ...means, removed: true });
    expect((await remove()).status).toBe(404);
    expect((await f.get("/topics/orders")).status).toBe(404);
    expect(await json("/topics")).toEqual({ items: [] });
    expect(await json("/groups")).toEqual({ items: [] });
    expect(await json("/audit")).toMatchObject({ items: [{ action: "topic.remove", actor: "token-1" }] });
  });

  it("removes a topic in the background, and tells how that goes", async () => {
    for (let n = 0; n < 3; n++) await f.bus.publish("orders", n);
    const asked = await f.post("/topics/orders/remove", { background: true });
    expect(asked.status).toBe(202);
    const { job } = (await asked.json()) as { job: Job };
    expect(await ended(job.id)).toMatchObject({
      ...{ kind: "remove", target: "orders", state: "done", progress: { events: 3, total: 3 } },
      result: { topic: "orders", removed: true, events: 3 },
    });
    expect((await f.get("/topics/orders")).status).toBe(404);
    expect((await f.post("/topics/orders/remove", { background: true })).status).toBe(404);
  });

  it.each(["the hub that does it", "another hub"])(
    "a removal in the background is stopped through %s, and taken up again",
    async (through) => {
      const { log, registry } = f.bus.store;
      await log.append("orders", 0, drafts(3));
      await log.append("orders", 1, drafts(2));
      const other = await startHub({ bus: f.bus, auth: { tokens: { all: { scopes: ["*:*"] } } } });
      const held = holdTrim(f.bus.store);
      const asked = await f.post("/topics/orders/remove", { background: true });
      const { job } = (await asked.json()) as { job: Job };
      await held.reached;
      const path = `/jobs/${job.id}/stop`;
      expect((await f.post(path, {}, as("reader"))).status).toBe(403);
      const stop = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
      const url = through === "another hub" ? other.url : f.hub.url;
      const asker = { ...stop, headers: { ...stop.headers, authorization: "Bearer all" } };
      expect(await (await fetch(url + path, asker)).json()).toMatchObject({
        state: "running",
        stopping: true,
      });
      // Whoever runs it has seen that once it has noted something since.
      const { revision } = (await registry.token(`hub-job:${job.id}`)) as { revision: number };
      await expect
        .poll(async () => (await registry.token(`hub-job:${job.id}`))?.revision)
        .toBeGreaterThan(revision);
      held.letGo();
      expect(await ended(job.id)).toMatchObject({
        ...{ state: "stopped", progress: { events: 3, total: 5 } },
        error: { code: "ABORTED", detail: expect.stringContaining("stopped after 3 events") as string },
      });
      expect(await json("/partitions?topic=orders")).toMatchObject({ items: [{ events: 0 }, { events: 2 }] });
      expect(await json("/audit")).toMatchObject({
        items: [{ action: "topic.remove", details: { unfinished: true } }],
      });
      const again = (await (await f.post("/topics/orders/remove", { background: true })).json()) as {
        job: Job;
      };
      expect(await ended(again.job.id)).toMatchObject({
        ...{ state: "done", progress: { events: 2, total: 2 } },
        result: { removed: true, events: 2 },
      });
      expect((await f.get("/topics/orders")).status).toBe(404);
      await other.close();
    },
  );

  it("P8: redrives in the background, and tells how that goes", async () => {
    for (let n = 0; n < 5; n++) await f.bus.publish("orders", n, { key: `k${n}` });
    const fail = (): never => {
      throw new Error("no");
    };
    const stop = await f.bus.subscribe("orders", "mailer", fail, { from: "earliest", maxAttempts: 1 });
    await expect.poll(async () => (await f.get("/dlq")).json()).toMatchObject({ items: [{ open: 5 }] });
    await stop();
    const nowhere = await f.post("/dlq/orders/redrive", { to: "No Topic", background: true });
    expect(nowhere.status).toBe(400);
    const asked = await f.post("/dlq/orders/redrive", { group: "mailer", background: true });
    expect(asked.status).toBe(202);
    const { job } = (await asked.json()) as { job: Job };
    expect(await ended(job.id)).toMatchObject({
      state: "done",
      progress: { redriven: 5 },
      result: { redriven: 5 },
    });
    expect(await json("/jobs")).toMatchObject({ items: [{ id: job.id, kind: "redrive", actor: "token-1" }] });
    expect((await f.get(`/jobs/${job.id}`, as("reader"))).status).toBe(403);
    expect((await f.get("/jobs/nothing")).status).toBe(404);
  });

  it("stops a job that takes long; what it has done stays done", async () => {
    for (let n = 0; n < 5; n++) await f.bus.publish("orders", n, { key: `k${n}` });
    const fail = (): never => {
      throw new Error("no");
    };
    const stop = await f.bus.subscribe("orders", "mailer", fail, { from: "earliest", maxAttempts: 1 });
    await expect.poll(async () => (await f.get("/dlq")).json()).toMatchObject({ items: [{ open: 5 }] });
    await stop();
    const asked = await f.post("/dlq/orders/redrive", { rate: 0.001, background: true });
    const { job } = (await asked.json()) as { job: Job };
    expect((await f.post(`/jobs/${job.id}/stop`, {}, as("reader"))).status).toBe(403);
    await expect.poll(async () => (await json("/dlq")).items).toMatchObject([{ redriven: 1 }]);
    await f.post(`/jobs/${job.id}/stop`, {});
    expect(await ended(job.id)).toMatchObject({ state: "stopped", result: { redriven: 1 } });
    expect(await json("/dlq")).toMatchObject({ items: [{ open: 4, redriven: 1 }] });
  });

  it("rebuilds a view beside the one in use, and goes back", async () => {
    for (let n = 0; n < 20; n++) await f.bus.publish("orders", { n }, { key: `k${n % 4}` });
    await startChangelogProjector(f.bus, { topic: "orders", view: "latest" });
    await expect.poll(async () => (await f.get("/snap/latest/k3")).status).toBe(200);
    await expect.poll(async () => (await json<{ n: number }>("/snap/latest/k3")).n).toBe(19);
    const asked = await f.post("/views/latest/rebuild", {});
    expect(asked.status).toBe(202);
    const { job } = (await asked.json()) as { job: Job };
    const done = await ended(job.id);
    expect(done).toMatchObject({
      state: "done",
      progress: { phase: "done" },
      result: { switched: true, same: 4 },
    });
    expect(await json("/snap/latest/k3")).toMatchObject({ n: 19 });
    expect(await (await f.post("/views/latest/rollback", {})).json()).toMatchObject({ to: "latest" });
    expect((await f.post("/views/latest/rebuild", {}, as("reader"))).status).toBe(403);
    expect((await f.post("/views/nothing/rebuild", {})).status).toBe(404);
  });

  it("says what a rebuild and the way back would mean, or that they cannot be done, and changes nothing", async () => {
    const look = async (verb: string, view = "latest", as_?: RequestInit): Promise<unknown> => {
      const response = await f.post(`/views/${view}/${verb}`, { dryRun: true }, as_);
      return [response.status, await response.json()];
    };
    const names = async (): Promise<string[]> =>
      (await f.bus.store.documents.views()).map(({ view }) => view);
    for (let n = 0; n < 20; n++) await f.bus.publish("orders", { n }, { key: `k${n % 4}` });
    await startChangelogProjector(f.bus, { topic: "orders", view: "latest" });
    await expect.poll(async () => (await f.get("/snap/latest/k3")).status).toBe(200);
    expect(await look("rebuild", "nothing")).toMatchObject([404, { code: "NOT_FOUND" }]);
    expect(await look("rollback")).toMatchObject([404, { detail: expect.stringContaining("go back to") }]);
    expect(await look("rebuild", "latest", as("reader"))).toMatchObject([403, {}]);
    expect(await look("rollback", "latest", as("reader"))).toMatchObject([403, {}]);
    const plan = { view: "latest", topic: "orders", events: 20, from: "latest", to: "latest__2", others: [] };
    expect(await look("rebuild")).toEqual([200, plan]);
    expect(await look("rebuild")).toEqual([200, plan]);
    expect([await names(), (await json<{ items: Job[] }>("/jobs")).items]).toEqual([["latest"], []]);
    await f.bus.store.documents.define("latest__2", []);
    expect(await look("rebuild")).toMatchObject([409, { detail: expect.stringContaining("latest__2") }]);
    await f.bus.store.documents.drop("latest__2");
    const { job } = (await (await f.post("/views/latest/rebuild", {})).json()) as { job: Job };
    await ended(job.id);
    const back = { view: "latest", from: "latest__2", to: "latest", others: [] };
    expect(await look("rollback")).toEqual([200, { ...back, rolledBack: false }]);
    expect(await (await f.post("/views/latest/rollback", {})).json()).toEqual({ ...back, rolledBack: true });
  });

  it("tells rates, lag and handler times, at once and as a stream", async () => {
    await f.bus.subscribe("orders", "mailer", () => undefined, { from: "earliest" });
    for (let n = 0; n < 50; n++) await f.bus.publish("orders", n);
    interface Stats {
      topics: { published: number }[];
      groups: { acked: number; handlerP99Ms: number | null; ackedPerSecond: number }[];
    }
    // How far groups are behind is worked out once in a second.
    const caughtUp = { topics: [{ published: 50 }], groups: [{ acked: 50, lag: 0, members: 1 }], lag: 0 };
    await expect.poll(() => json<Stats>("/stats")).toMatchObject(caughtUp);
    const stats = await json<Stats>("/stats", as("reader"));
    expect(stats).toMatchObject(caughtUp);
    expect(stats.groups[0]?.handlerP99Ms).toBeGreaterThan(0);
    const told: Stats[] = [];
    const parser = createParser({ onEvent: ({ data }) => void told.push(JSON.parse(data) as Stats) });
    const ending = new AbortController();
    const response = await f.get("/stats/stream?everyMs=500", { signal: ending.signal });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    while (told.length < 3) parser.feed(decoder.decode((await reader.read()).value));
    ending.abort();
    expect(told[2]?.groups).toMatchObject([{ acked: 50 }]);
    await expect.poll(async () => ((await json("/stats")).past as unknown[]).length).toBeGreaterThan(0);
    expect(await f.get("/metrics").then((r) => r.text())).toContain(
      'events_lag{topic="orders",group="mailer"} 0',
    );
  });

  it("shows the outbox and settles its dead entries", async () => {
    const { outbox } = f.bus.store;
    await outbox.add({ id: "a", topic: "orders", payload: 1 });
    const [claim] = await outbox.claimBatch(1, { owner: "o", leaseMs: 1_000, nowMs: Date.now() });
    await outbox.markError("a", claim?.token ?? "", { error: "bad", dead: true });
    expect(await json("/outbox?status=dead")).toMatchObject({ dead: 1, items: [{ id: "a", error: "bad" }] });
    expect(await (await f.post("/outbox/requeue", {})).json()).toEqual({ requeued: 1 });
    expect(await json("/outbox")).toMatchObject({ pending: 1, dead: 0 });
    expect(await (await f.post("/outbox/discard", { ids: ["a"] })).json()).toEqual({ discarded: 0 });
    expect((await f.get("/outbox", as("reader"))).status).toBe(403);
  });
});

describe("schemas over HTTP", () => {
  it("registers versions, gives verdicts between them, and refuses what breaks readers", async () => {
    const f = await hubFixture({ tokens: { reader: ["read:orders"] } });
    const object = (required: string[]): object => ({
      type: "object",
      properties: { id: { type: "string" }, note: { type: "string" } },
      required,
      additionalProperties: false,
    });
    const put = (version: number, schema: object): Promise<Response> =>
      f.post("/schemas/orders", { version, schema });
    expect((await put(1, object(["id"]))).status).toBe(200);
    const refused = await put(2, object(["id", "note"]));
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
      422,
      "SCHEMA_INCOMPATIBLE",
    ]);
    expect((await put(2, object([]))).status).toBe(200);
    const check = await f.post("/schemas/orders/check", { schema: object(["note"]) }, as("reader"));
    expect(await check.json()).toMatchObject({
      latest: 2,
      verdict: "incompatible",
      findings: [{ side: "newer" }],
    });
    const status = await f.get("/schemas/orders", as("reader"));
    expect(await status.json()).toMatchObject({
      latest: 2,
      versions: [
        { version: 1, follows: null },
        { version: 2, follows: { verdict: "compatible" } },
      ],
    });
    const compat = await f.get("/schemas/orders/compat?from=2&to=1");
    expect(await compat.json()).toMatchObject({ from: 2, to: 1, verdict: "incompatible" });
    expect((await f.get("/schemas/orders/compat?from=1&to=9")).status).toBe(404);
    expect((await f.post("/schemas/orders", { version: 3, schema: true }, as("reader"))).status).toBe(403);
    expect(await (await f.get("/audit")).json()).toMatchObject({
      items: [{ action: "schema.register" }, { action: "schema.register" }],
    });
    await f.close();
  });
});
