import { setTimeout as sleep } from "node:timers/promises";
import { createParser } from "eventsource-parser";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import { PromClient } from "../../src/client/index.js";
import { type Hub, startHub } from "../../src/hub/server.js";
import { systemClock } from "../../src/model/clock.js";
import type { EventRecord } from "../../src/model/event.js";
import { startChangelogProjector } from "../../src/project/views/changelog.js";
import type { StoreUnderTest } from "../../src/testing/conformance/fixture.js";
import { checkHistory, Recorder } from "../../src/testing/history/index.js";
import { observedStore, Turnstile } from "../../src/testing/simulator/observed-store.js";
import { HUB_STORES } from "../support/hub-stores.js";
import { WireRecord } from "../support/wire-record.js";

const AUTH = { tokens: { t: { scopes: ["*:*"] } } };
const HEADERS = { authorization: "Bearer t", "content-type": "application/json" };
const CUTS = 50;
const EVENTS = 500;

describe.each(HUB_STORES)("a hub on the $name store", (fixture) => {
  let under: StoreUnderTest;
  const open: { close(): Promise<void> }[] = [];
  beforeEach(async () => {
    under = await fixture.create();
  });
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
    await under.dispose();
  });

  const start = async (store = under.store): Promise<{ bus: Bus; hub: Hub }> => {
    const bus = await createBus({ store, topics: [{ name: "orders", partitions: 2, keyed: true }] });
    open.push(bus);
    const hub = await startHub({ bus, auth: AUTH });
    open.push(hub);
    return { bus, hub };
  };
  const dial = async (hub: Hub, o: Partial<ConstructorParameters<typeof PromClient>[1]> = {}) => {
    const client = new PromClient(hub.url, { token: "t", retry: { baseMs: 2, maxMs: 20 }, ...o });
    open.push(client);
    await client.connect();
    return client;
  };
  const get = async <T>(hub: Hub, path: string): Promise<T> => {
    const response = await fetch(hub.url + path, { headers: HEADERS });
    expect([path, response.status]).toEqual([path, 200]);
    return (await response.json()) as T;
  };
  const post = async <T>(hub: Hub, path: string, body: unknown): Promise<T> => {
    const init = { method: "POST", headers: HEADERS, body: JSON.stringify(body) };
    return (await (await fetch(hub.url + path, init)).json()) as T;
  };

  it("P1, P3, P4, P5: a client loses its connection 50 times while it publishes and consumes; the checker finds nothing", async () => {
    const recorder = new Recorder(systemClock);
    const jam = (): never => {
      throw new Error("somebody asks and asks");
    };
    const observed = observedStore(under.store, "hub", recorder, new Turnstile(systemClock, jam));
    const { bus, hub } = await start(observed);
    const wire = new WireRecord(recorder, "client");
    const client = await dial(hub, { makeSocket: wire.makeSocket });
    const group = "g";
    recorder.record({ type: "subscribed", group, topic: "orders", ordering: "key", maxAttempts: 1_000 });
    const seen = new Set<string>();
    await client.subscribe("orders", group, (event) => void seen.add(event.id), {
      from: "earliest",
      maxAttempts: 1_000,
      retry: { baseMs: 1, maxMs: 5 },
    });
    const published: Promise<{ id: string }>[] = [];
    for (let n = 0; n < EVENTS; n++) {
      published.push(client.publish("orders", n, { key: `k${n % 7}` }));
      if (n % (EVENTS / CUTS) !== 0) continue;
      await expect.poll(() => wire.open && client.status === "online", { interval: 1 }).toBe(true);
      await sleep(n % 4);
      wire.cut();
    }
    const ids = (await Promise.all(published)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(EVENTS);
    await expect.poll(() => ids.filter((id) => !seen.has(id)).length).toBe(0);
    await expect.poll(async () => (await bus.admin.lag({ topic: "orders" }))[0]?.lag).toBe(0);
    expect(wire.sockets.length).toBeGreaterThan(CUTS);
    await client.close();
    await hub.close();
    await bus.close();
    await under.store.open();
    recorder.record({ type: "drained" });
    await dump(under, recorder);
    expect(checkHistory(recorder.events)).toEqual([]);
  });

  it("P1, P15: goes down and comes back under its clients; what was answered is there, and they go on", async () => {
    const first = await start();
    const client = await dial(first.hub);
    const seen: unknown[] = [];
    await client.subscribe("orders", "g", (event) => void seen.push(event.payload), { from: "earliest" });
    await client.publish("orders", 1, { key: "k" });
    await expect.poll(() => seen).toEqual([1]);
    await first.hub.close();
    const offline = client.publish("orders", 2, { key: "k" });
    const again = await startHub({ bus: first.bus, auth: AUTH, port: first.hub.port });
    open.push(again);
    expect(await offline).toMatchObject({ topic: "orders" });
    await client.publish("orders", 3, { key: "k" });
    await expect.poll(() => [...new Set(seen)]).toEqual([1, 2, 3]);
    const verified = await get(again, "/groups/g/verify?topic=orders");
    expect(verified).toMatchObject({ ok: true });
  });

  it("P5, P6, P8: nacks, missed deadlines and given-up events over WebSocket, then a redrive over HTTP", async () => {
    const { hub } = await start();
    const client = await dial(hub);
    const tries: [unknown, number][] = [];
    let mended = false;
    await client.subscribe<string>(
      "orders",
      "g",
      async (event, ctx) => {
        tries.push([event.payload, ctx.attempt]);
        if (event.payload === "late" && ctx.attempt === 1)
          await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve, { once: true }));
        if (event.payload === "bad" && !mended) throw new Error("cannot");
        if (event.payload === "slow" && ctx.attempt === 1) {
          ctx.extend(60_000);
          await sleep(2_500);
        }
      },
      { from: "earliest", ackTimeoutMs: 2_000, maxAttempts: 2, retry: { baseMs: 1, maxMs: 5 } },
    );
    for (const payload of ["late", "bad", "slow", "good"])
      await client.publish("orders", payload, { key: payload });
    await expect
      .poll(() => get<{ items: { open: number }[] }>(hub, "/dlq").then(({ items }) => items[0]?.open))
      .toBe(1);
    await expect
      .poll(() => tries.map(([payload, attempt]) => `${payload} ${attempt}`).sort())
      .toEqual(["bad 1", "bad 2", "good 1", "late 1", "late 2", "slow 1"]);
    mended = true;
    expect(await post(hub, "/dlq/orders/redrive", { group: "g" })).toMatchObject({ redriven: 1 });
    await expect.poll(() => tries.filter(([payload]) => payload === "bad").length).toBe(3);
    expect(await get(hub, "/groups/g/verify?topic=orders")).toMatchObject({ ok: true });
  });

  it("resumes a stream by Last-Event-ID, reads its own writes from a view, and moves what it exports", async () => {
    const { bus, hub } = await start();
    await startChangelogProjector(bus, { topic: "orders", view: "latest" });
    const lines = Array.from({ length: 50 }, (_, n) =>
      JSON.stringify({ topic: "orders", key: `k${n % 5}`, payload: { n } }),
    );
    const sent = await fetch(`${hub.url}/publish`, {
      method: "POST",
      headers: { ...HEADERS, "content-type": "application/x-ndjson" },
      body: lines.join("\n"),
    });
    expect(await sent.json()).toEqual({ published: 50, duplicates: 0 });
    const first = await readStream(hub, "from=earliest", 20);
    const rest = await readStream(hub, "", 30, first.lastId);
    const all = [...first.events, ...rest.events].map(({ payload }) => (payload as { n: number }).n);
    expect([...all].sort((a, b) => a - b)).toEqual(lines.map((_, n) => n));
    const placed = await post<{ partition: number; seq: number }>(hub, "/publish", {
      topic: "orders",
      key: "k3",
      payload: { n: 99 },
    });
    const { partition, seq } = placed;
    expect(await get(hub, `/snap/latest/k3?min=${partition}:${seq}&wait_ms=30000`)).toMatchObject({ n: 99 });
    const exported = await (await fetch(`${hub.url}/export?topic=orders`, { headers: HEADERS })).text();
    const imported = await fetch(`${hub.url}/import`, {
      method: "POST",
      headers: { ...HEADERS, "content-type": "application/x-ndjson" },
      body: exported,
    });
    expect(await imported.json()).toMatchObject({ imported: 0, duplicates: 51 });
    expect(await get(hub, "/lag?topic=orders&group=changelog:latest")).toMatchObject({ lag: 0 });
    expect(await get(hub, "/topics/orders/keys/k3?limit=1")).toMatchObject({
      items: [{ payload: { n: 99 } }],
    });
  });
});

async function readStream(
  hub: Hub,
  query: string,
  count: number,
  lastId?: string,
): Promise<{ events: EventRecord[]; lastId: string }> {
  const over = new AbortController();
  const response = await fetch(`${hub.url}/events?topic=orders&${query}`, {
    signal: over.signal,
    headers: { ...HEADERS, ...(lastId !== undefined && { "last-event-id": lastId }) },
  });
  const events: EventRecord[] = [];
  let last = "";
  const parser = createParser({
    onEvent: ({ id = "", data }) => {
      if (events.length >= count) return;
      events.push(JSON.parse(data) as EventRecord);
      last = id;
    },
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  while (events.length < count) parser.feed(decoder.decode((await reader.read()).value, { stream: true }));
  over.abort();
  return { events, lastId: last };
}

async function dump({ store }: StoreUnderTest, recorder: Recorder): Promise<void> {
  for (const { name: topic, partitions } of await store.registry.topics()) {
    for (let partition = 0; partition < partitions; partition++) {
      const { events } = await store.log.read(topic, partition, { after: 0, limit: 10_000 });
      const logged = events.map(({ seq, id, key }) => ({ seq, id, ...(key !== undefined && { key }) }));
      recorder.record({ type: "log", topic, partition, events: logged });
    }
  }
  for (const ref of await store.groups.list()) {
    const state = await store.groups.state(ref, { nowMs: Date.now() });
    for (const { partition, epoch, cursor } of state?.leases ?? [])
      recorder.record({ type: "cursor", ...ref, partition, epoch, cursor });
  }
}
