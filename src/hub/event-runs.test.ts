import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { eventAt } from "../client/runs.js";
import type { EventRecord } from "../model/event.js";
import { embeddedStore } from "../stores/embedded/index.js";
import type { EventsFrame } from "./protocol.js";

type Frame = Record<string, unknown> & { readonly type: string; readonly corr?: number };

const COUNT = 10;
const subscription = { topic: "t.a", group: "g" };
const SUBSCRIBE = { type: "SUBSCRIBE", ...subscription, opts: { from: "earliest", maxInFlight: 1_000 } };
const takes = ["events", "what nobody knows"];

let f: HubFixture;
let socket: WebSocket;
let frames: Frame[];
const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  socket.terminate();
  await f.close();
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function connect(headers: Record<string, string> = {}): Promise<void> {
  socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`, { headers });
  frames = [];
  socket.on("message", (data) => void frames.push(...[JSON.parse(String(data)) as Frame | Frame[]].flat()));
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
}

/** Ten events, leased to a connection that takes runs. */
async function leaseTen(): Promise<void> {
  f = await hubFixture();
  await publish(Array.from({ length: COUNT }, (_, n) => n));
  await connect();
  send({ type: "AUTH", token: "all", takes });
  send(SUBSCRIBE);
  await expect.poll(() => events().length).toBe(COUNT);
}

const publish = (payloads: readonly unknown[], topic = "t.a") =>
  f.bus.publishMany(
    topic,
    payloads.map((payload, n) => ({ payload, key: `k"${n}` })),
  );
const send = (frame: object): void => socket.send(JSON.stringify(frame));
const runs = (): EventsFrame[] => frames.filter(({ type }) => type === "EVENTS") as unknown as EventsFrame[];
const events = (): EventRecord[] => runs().flatMap((run) => run.ids.map((_, n) => eventAt(run, n)));
const leases = (): number[] => runs().flatMap(({ lease, ids }) => ids.map((_, n) => lease + n));
const answer = (corr: number) => expect.poll(() => frames.find((frame) => frame.corr === corr));
const floor = () => expect.poll(async () => (await f.bus.getCursor("t.a", "g"))?.partitions[0]?.floor);

describe("events in runs", () => {
  it("go to a client that takes them, numbered, few frames for many", async () => {
    f = await hubFixture();
    await publish(Array.from({ length: 500 }, (_, n) => ({ n })));
    await connect();
    send({ type: "AUTH", token: "all", takes });
    send(SUBSCRIBE);
    await expect.poll(() => events().length).toBe(500);
    expect(events().map(({ seq, payload }) => [seq, payload])).toEqual(
      Array.from({ length: 500 }, (_, n) => [n + 1, { n }]),
    );
    expect(leases()).toEqual(Array.from({ length: 500 }, (_, n) => n + 1));
    expect(runs().length).toBeLessThan(50);
    const [first] = runs() as [EventsFrame];
    expect(first).toMatchObject({ ...subscription, ctx: { attempt: 1, max_attempts: 5 } });
    const page = await f.bus.store.log.read("t.a", 0, { after: 0, limit: 1 });
    expect(eventAt(first, 0)).toEqual(page.events[0]?.record);
  });

  it("go to one that was known by its upgrade request and says in a PING that it takes them", async () => {
    f = await hubFixture();
    await publish([1, 2]);
    await connect({ authorization: "Bearer all" });
    send({ type: "PING", takes });
    send(SUBSCRIBE);
    await expect.poll(() => events().map(({ payload }) => payload)).toEqual([1, 2]);
  });

  it("do not go to one that does not say so", async () => {
    f = await hubFixture();
    await publish([1, 2]);
    await connect();
    send({ type: "AUTH", token: "all" });
    send(SUBSCRIBE);
    await expect.poll(() => frames.filter(({ type }) => type === "EVENT").length).toBe(2);
    expect(runs()).toEqual([]);
  });

  it("are of one topic each, and tell of a pattern", async () => {
    f = await hubFixture();
    await publish([1, 2], "t.a");
    await publish([3, 4], "t.b");
    await connect();
    send({ type: "AUTH", token: "all", takes });
    send({ ...SUBSCRIBE, topic: "t.*" });
    await expect.poll(() => events().length).toBe(4);
    expect(runs().map(({ subscription }) => subscription)).toEqual(runs().map(() => "t.*"));
    const seen = runs().map(({ topic, payloads }) => [topic, payloads]);
    expect(seen.sort()).toEqual([
      ["t.a", [1, 2]],
      ["t.b", [3, 4]],
    ]);
    send({ type: "ACK", topic: "t.*", group: "g", leases: [[1, 4]], corr: 2 });
    await answer(2).toEqual({ type: "OK", corr: 2 });
  });

  it("P13: wait while their client does not read, and come in order then", async () => {
    f = await hubFixture({ limits: { maxSendBufferBytes: 10_000 } });
    await connect();
    send({ type: "AUTH", token: "all", takes });
    send({ ...SUBSCRIBE, corr: 1 });
    await answer(1).toMatchObject({ type: "OK" });
    socket.pause();
    for (let n = 0; n < 60; n++) await publish(Array.from({ length: 10 }, () => "x".repeat(20_000)));
    socket.resume();
    for (let acked = 0; acked < 600; acked = leases().length) {
      await expect.poll(() => leases().length).toBeGreaterThan(acked);
      send({ type: "ACK", ...subscription, leases: [[acked + 1, leases().length]] });
    }
    await floor().toBe(600);
    expect(events().map(({ seq }) => seq)).toEqual(Array.from({ length: 600 }, (_, n) => n + 1));
  });

  it("P1: have payloads of every size and letter as they were stored, on a store that keeps bytes", async () => {
    const folder = await mkdtemp(join(tmpdir(), "promethean-runs-"));
    cleanUps.push(() => rm(folder, { recursive: true, force: true }));
    f = await hubFixture({ bus: { store: embeddedStore({ path: join(folder, "bus.db") }) } });
    const payloads = [
      ...["ä€😀", "x".repeat(70_000), "€".repeat(100_000), { a: [null, true, 'q"\\'] }],
      ...Array.from({ length: 40 }, (_, n) => "ü".repeat(n * 100)),
      ...[7, "", "x".repeat(300_000), null],
    ];
    await publish(payloads);
    await connect();
    send({ type: "AUTH", token: "all", takes });
    send(SUBSCRIBE);
    await expect.poll(() => events().length).toBe(payloads.length);
    expect(events().map(({ payload }) => payload)).toEqual(payloads);
    expect(events().map(({ key }) => key)).toEqual(payloads.map((_, n) => `k"${n}`));
    send({ type: "ACK", ...subscription, leases: [[1, payloads.length]] });
    await floor().toBe(payloads.length);
  });
});

describe("a lease by its number", () => {
  it("P6: is settled by an ACK, with others or alone", async () => {
    await leaseTen();
    const given = [
      [1, 3],
      [5, 5],
    ];
    send({ type: "ACK", ...subscription, leases: given, corr: 2 });
    await answer(2).toEqual({ type: "OK", corr: 2 });
    await floor().toBe(3);
    send({ type: "ACK", ...subscription, leases: [[4, 4]] });
    await floor().toBe(5);
  });

  it("P6: is settled once; those that are gone are told of once", async () => {
    await leaseTen();
    send({ type: "ACK", ...subscription, leases: [[1, 4]], corr: 2 });
    await answer(2).toMatchObject({ type: "OK" });
    send({ type: "ACK", ...subscription, leases: [[2, 6]], corr: 3 });
    await answer(3).toMatchObject({ type: "ERR", code: "LEASE_LOST" });
    expect(frames.find(({ corr }) => corr === 3)?.msg).toContain("lease 2 (and 2 more)");
    await floor().toBe(6);
  });

  it("P6: is another one when the event comes again", async () => {
    await leaseTen();
    send({ type: "NACK", ...subscription, lease: 1, reason: "not yet", corr: 2 });
    await answer(2).toEqual({ type: "OK", corr: 2 });
    await expect.poll(() => events().length).toBe(COUNT + 1);
    expect(runs().at(-1)).toMatchObject({ lease: COUNT + 1, ctx: { attempt: 2 } });
    send({ type: "ACK", ...subscription, leases: [[1, 1]], corr: 3 });
    await answer(3).toMatchObject({ type: "ERR", code: "LEASE_LOST" });
    send({ type: "MODACK", ...subscription, lease: COUNT + 1, extend_ms: 60_000, corr: 4 });
    await answer(4).toEqual({ type: "OK", corr: 4 });
    send({ type: "ACK", ...subscription, leases: [[COUNT + 1, COUNT + 1]], corr: 5 });
    await answer(5).toEqual({ type: "OK", corr: 5 });
    await floor().toBe(1);
  });

  it("P6: has a number that no later one has, also in a subscription that was ended and asked for again", async () => {
    await leaseTen();
    send({ type: "UNSUBSCRIBE", ...subscription, corr: 2 });
    await answer(2).toMatchObject({ type: "OK" });
    send(SUBSCRIBE);
    await expect.poll(() => events().length).toBe(2 * COUNT);
    expect(new Set(leases()).size).toBe(2 * COUNT);
    send({ type: "ACK", ...subscription, leases: [[1, COUNT]], corr: 3 });
    await answer(3).toMatchObject({ type: "ERR", code: "LEASE_LOST" });
    send({ type: "ACK", ...subscription, leases: [[COUNT + 1, 2 * COUNT]], corr: 4 });
    await answer(4).toMatchObject({ type: "OK" });
    await floor().toBe(COUNT);
  });

  it("P6: is not to be had by the event's id", async () => {
    await leaseTen();
    const [{ id }] = events() as [EventRecord];
    send({ type: "ACK", ...subscription, id, corr: 2 });
    await answer(2).toMatchObject({ type: "ERR", code: "LEASE_LOST" });
    send({ type: "MODACK", ...subscription, id, extend_ms: 5, corr: 3 });
    await answer(3).toMatchObject({ type: "ERR", code: "LEASE_LOST" });
  });

  it("P6: goes back when its deadline passes: a late ACK changes nothing", async () => {
    f = await hubFixture();
    await publish([1]);
    await connect();
    send({ type: "AUTH", token: "all", takes });
    send({ ...SUBSCRIBE, opts: { from: "earliest", ackTimeoutMs: 20, retry: { baseMs: 1, maxMs: 1 } } });
    await expect.poll(() => events().length).toBeGreaterThan(1);
    send({ type: "ACK", ...subscription, leases: [[1, 1]], corr: 2 });
    await answer(2).toMatchObject({ type: "ERR", code: "LEASE_LOST" });
  });
});
