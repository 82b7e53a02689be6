import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { compileProgram } from "../../scripts/embedded-sources.mjs";
import { PromClient } from "../../src/client/index.js";
import type { SocketLike } from "../../src/client/socket.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import type { HubProcessLine, HubProcessOptions } from "../support/hub-process.js";
import { dropDatabase, newDatabaseName, sharedServerUrl } from "../support/mongo/shared-server.js";
import { Sightings } from "../support/sightings.js";
import { ToldProcess } from "../support/told-process.js";

const HEADERS = { authorization: "Bearer t", "content-type": "application/json" };

interface HubProcess {
  readonly process: ToldProcess<HubProcessLine>;
  readonly url: string;
}

const running: ToldProcess<HubProcessLine>[] = [];
afterEach(async () => {
  for (const one of running.splice(0)) await one.kill();
});

async function startHubProcess(options: HubProcessOptions): Promise<HubProcess> {
  const program = fileURLToPath(await compileProgram(new URL("../support/hub-process.ts", import.meta.url)));
  let url = "";
  const process = new ToldProcess<HubProcessLine>(program, [JSON.stringify(options)], (line) => {
    if (line.type === "ready") url = line.url;
  });
  running.push(process);
  await process.seen("ready", 60_000);
  return { process, url };
}

async function get<T>(url: string, path: string): Promise<T> {
  return (await (await fetch(url + path, { headers: HEADERS })).json()) as T;
}

interface Lag {
  lag: number;
  partitions: { owner: string | null }[];
  groups: { members: string[] }[];
}

describe("two hubs on one MongoDB", () => {
  const db = newDatabaseName();
  let mongo: { url: string; db: string };
  beforeEach(async () => {
    mongo = { url: await sharedServerUrl(), db };
  });
  afterEach(() => dropDatabase(mongo.url, db));

  it("P1, P4, P5, P15: one is killed; its partitions and clients move to the other, nothing is lost", async () => {
    const one = await startHubProcess({ mongo, leaseMs: 1_500 });
    const two = await startHubProcess({ mongo, leaseMs: 1_500 });
    let dead = "";
    /** As any load balancer would: to the hub it was sent to, or to another that is there. */
    const dial = (preferred: string, other: string): PromClient =>
      new PromClient(preferred, {
        token: "t",
        retry: { baseMs: 20, maxMs: 200 },
        makeSocket: (url) => {
          const to = preferred === dead ? other : preferred;
          return new WebSocket(url.replace(/127\.0\.0\.1:\d+/, new URL(to).host)) as unknown as SocketLike;
        },
      });
    const clients = [dial(one.url, two.url), dial(two.url, one.url), dial(one.url, two.url)];
    const [first, second, publisher] = clients as [PromClient, PromClient, PromClient];
    const seen = new Sightings();
    for (const client of [first, second]) {
      await client.connect();
      await client.subscribe<number>("orders", "g", (event, ctx) => seen.see(event, ctx.attempt), {
        from: "earliest",
        maxAttempts: 100,
      });
    }
    await publisher.connect();
    const lag = (url: string): Promise<Lag> => get<Lag>(url, "/lag?topic=orders&group=g");
    await expect
      .poll(async () => new Set((await lag(two.url)).partitions.map(({ owner }) => owner)).size)
      .toBe(2);
    const published: Promise<{ id: string }>[] = [];
    for (let n = 1; n <= 400; n++) {
      published.push(publisher.publish("orders", n, { key: `k${n % 20}` }));
      if (n % 20 === 0) await published.at(-1);
      if (n !== 200) continue;
      dead = one.url;
      await one.process.kill();
    }
    const ids = (await Promise.all(published)).map(({ id }) => id);
    await expect.poll(() => ids.filter((id) => !seen.attempts.has(id)).length, { timeout: 60_000 }).toBe(0);
    await expect.poll(async () => (await lag(two.url)).lag, { timeout: 60_000 }).toBe(0);
    const after = await lag(two.url);
    expect(new Set(after.partitions.map(({ owner }) => owner)).size).toBe(1);
    expect(after.groups[0]?.members).toHaveLength(1);
    expect(new Set(ids).size).toBe(400);
    expect([seen.unmarked, seen.disordered]).toEqual([[], []]);
    expect(await get(two.url, "/groups/g/verify?topic=orders")).toMatchObject({ ok: true });
    for (const client of clients) await client.close();
  });

  it("a group paused through one holds still on the other; each knows of the other, until it goes", async () => {
    const one = await startHubProcess({ mongo, leaseMs: 1_500 });
    const two = await startHubProcess({ mongo, leaseMs: 1_500 });
    const client = new PromClient(two.url, { token: "t" });
    await client.connect();
    const seen: unknown[] = [];
    await client.subscribe("orders", "g", (event) => void seen.push(event.payload), { from: "earliest" });
    const post = (path: string, body: object): Promise<Response> =>
      fetch(one.url + path, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
    expect((await post("/groups/g/pause", { topic: "orders" })).status).toBe(200);
    const paused = async (): Promise<boolean> => {
      const { groups } = await get<{ groups: { paused?: object }[] }>(two.url, "/lag?topic=orders&group=g");
      return groups[0]?.paused !== undefined;
    };
    await expect.poll(paused).toBe(true);
    await client.publish("orders", 1);
    await expect.poll(async () => (await get<Lag>(one.url, "/lag?topic=orders&group=g")).lag).toBe(1);
    expect(seen).toEqual([]);
    await post("/groups/g/resume", { topic: "orders" });
    await expect.poll(() => seen).toEqual([1]);
    const { items } = await get<{ items: { url: string }[] }>(one.url, "/hubs");
    expect(items.map(({ url }) => url).sort()).toEqual([one.url, two.url].sort());
    await client.close();
    await two.process.leave();
    await expect.poll(async () => (await get<{ items: object[] }>(one.url, "/hubs")).items.length).toBe(1);
  });
});

describe("a hub that is told to end", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "promethean-hub-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  interface Frame {
    readonly type: string;
    readonly [name: string]: unknown;
  }

  const dial = async (url: string) => {
    const socket = new WebSocket(`${url.replace("http", "ws")}/ws`, { headers: HEADERS });
    const frames: Frame[] = [];
    socket.on("message", (data) => void frames.push(JSON.parse(data.toString()) as Frame));
    const closed = new Promise<number>((resolve) => socket.on("close", resolve));
    await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
    return { frames, closed, send: (frame: object) => socket.send(JSON.stringify(frame)) };
  };

  it("P1, P6: says 503, takes nothing new, lets leases be settled, commits, sends clients away with 1012, exits with 0", async () => {
    const path = join(folder, "bus.db");
    const { process: child, url } = await startHubProcess({ path, drainMs: 60_000, partitions: 1 });
    const client = await dial(url);
    client.send({ type: "SUBSCRIBE", topic: "orders", group: "g", opts: { from: "earliest" }, corr: 1 });
    client.send({ type: "PUBLISH", topic: "orders", payload: 1, corr: 2 });
    const event = (): Frame | undefined => client.frames.find(({ type }) => type === "EVENT");
    await expect.poll(event).toBeDefined();
    const leaving = child.leave();
    const ready = async (): Promise<number> => (await fetch(`${url}/readyz`)).status;
    await expect.poll(ready).toBe(503);
    const refused = await fetch(`${url}/publish`, {
      method: "POST",
      headers: HEADERS,
      body: JSON.stringify({ topic: "orders", payload: 2 }),
    });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    client.send({ type: "PUBLISH", topic: "orders", payload: 2, corr: 3 });
    await expect.poll(() => client.frames.find(({ corr }) => corr === 3)).toMatchObject({ code: "CLOSED" });
    const { id } = (event() as Frame).event as { id: string };
    client.send({ type: "ACK", topic: "orders", group: "g", id, corr: 4 });
    await expect.poll(() => client.frames.find(({ corr }) => corr === 4)).toMatchObject({ type: "OK" });
    expect(await client.closed).toBe(1012);
    await leaving;
    const store = embeddedStore({ path });
    await store.open();
    const state = await store.groups.state({ topic: "orders", group: "g" }, { nowMs: Date.now() });
    expect(state?.leases).toMatchObject([{ owner: null, cursor: { floor: 1, attempts: [] } }]);
    expect((await store.log.heads("orders"))[0]?.head).toBe(1);
    await store.close();
  });

  it("P5: does not wait for ever: what nobody settles by the deadline comes again, marked", async () => {
    const path = join(folder, "bus.db");
    const first = await startHubProcess({ path, drainMs: 200, partitions: 1 });
    const client = await dial(first.url);
    client.send({ type: "SUBSCRIBE", topic: "orders", group: "g", opts: { from: "earliest" } });
    client.send({ type: "PUBLISH", topic: "orders", payload: 1 });
    await expect.poll(() => client.frames.some(({ type }) => type === "EVENT")).toBe(true);
    await first.process.leave();
    expect(await client.closed).toBe(1012);
    const second = await startHubProcess({ path, drainMs: 200, partitions: 1 });
    const again = await dial(second.url);
    again.send({ type: "SUBSCRIBE", topic: "orders", group: "g" });
    await expect
      .poll(() => again.frames.find(({ type }) => type === "EVENT"))
      .toMatchObject({ event: { payload: 1 }, ctx: { attempt: 2 } });
    await second.process.leave();
  });
});
