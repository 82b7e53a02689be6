/** Events that come many in a frame: each has its handler, its lease and its end. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import type { ClientSubscribeOptions } from "./client-options.js";
import type { ClientContext, ClientHandler } from "./deliveries.js";
import { PromClient } from "./index.js";
import type { SocketLike } from "./socket.js";

const COUNT = 300;
const ALL = Array.from({ length: COUNT }, (_, n) => n);

let f: HubFixture;
let client: PromClient;

beforeEach(async () => {
  f = await hubFixture();
  await f.bus.publishMany(
    "t.a",
    ALL.map((payload) => ({ payload })),
  );
});

afterEach(async () => {
  await client.close();
  await f.close();
});

const subscribe = (handler: ClientHandler<number>, options: ClientSubscribeOptions = {}) => {
  const all = { from: "earliest", maxInFlight: 1_000, retry: { baseMs: 1, maxMs: 2 } } as const;
  return client.subscribe<number>("t.a", "g", handler, { ...all, ...options });
};
const floor = () => expect.poll(async () => (await f.bus.getCursor("t.a", "g"))?.partitions[0]?.floor);

/** A line on which the hub does not get to know that the client takes `hidden`: as one that has never heard of that. */
const hiding =
  (hidden: string) =>
  (url: string): SocketLike => {
    const socket = new WebSocket(url);
    const send = socket.send.bind(socket);
    socket.send = (text: string) => send(text.replace(`"${hidden}"`, '"nothing"'));
    return socket as unknown as SocketLike;
  };

describe.each([
  ["many in a frame", "nothing"],
  ["each in a frame of its own, of a hub that knows no other", "events"],
])("events, %s", (_, hidden) => {
  beforeEach(async () => {
    client = new PromClient(f.hub.url, { token: "all", makeSocket: hiding(hidden) });
    await client.connect();
  });

  it("P1: are what the bus gives its own handlers, whatever they have", async () => {
    await f.bus.publish("t.b", { n: 1 }, { key: "k", headers: { a: "b" }, tags: ["x"], caused_by: ["c"] });
    await f.bus.publish("t.b", null, { key: 'ä"' });
    await f.bus.publish("t.b", "€", { ts: 0.1, sid: "s", id: 'an "id"' });
    const seen: unknown[] = [];
    await client.subscribe("t.b", "g", (event) => void seen.push(event), { from: "earliest" });
    await expect.poll(() => seen.length).toBe(3);
    const { events } = await f.bus.store.log.read("t.b", 0, { after: 0, limit: 3 });
    expect(seen).toStrictEqual(events.map(({ record }) => record));
    expect(seen.map((event) => Object.keys(event as object))).toEqual(
      events.map(({ record }) => Object.keys(record)),
    );
  });

  it("come in order, and are settled", async () => {
    const seen: number[] = [];
    await subscribe((event) => void seen.push(event.payload));
    await floor().toBe(COUNT);
    expect(seen).toEqual(ALL);
  });

  it("P5: fail one by one: only those that did come again", async () => {
    const attempts = new Map<number, number[]>();
    await subscribe(async ({ payload }, { attempt }) => {
      attempts.set(payload, [...(attempts.get(payload) ?? []), attempt]);
      if (payload % 10 === 3 && attempt === 1) throw new Error("not yet");
    });
    await floor().toBe(COUNT);
    expect(ALL.map((n) => attempts.get(n))).toEqual(ALL.map((n) => (n % 10 === 3 ? [1, 2] : [1])));
  });

  it("P6: are settled one by one, in any order, by whoever asked to do it", async () => {
    const open: ClientContext[] = [];
    await subscribe((_event, ctx) => void open.push(ctx), { manualAck: true });
    await expect.poll(() => open.length).toBe(COUNT);
    for (const ctx of open.slice(100).reverse()) ctx.ack();
    for (const ctx of open.slice(0, 50)) ctx.ack();
    await floor().toBe(50);
    expect(open.every(({ signal }, n) => signal.aborted === (n < 50 || n >= 100))).toBe(true);
    for (const ctx of open.slice(50, 100)) ctx.extend(60_000);
    for (const ctx of open.slice(50, 100)) ctx.ack();
    await floor().toBe(COUNT);
  });

  it("P5: are not handed to a handler that has left in the middle of them", async () => {
    const seen: number[] = [];
    let left: Promise<void> | undefined;
    await subscribe(({ payload }) => {
      seen.push(payload);
      if (payload === 4) left = client.unsubscribe("t.a", "g");
    });
    await expect.poll(() => left !== undefined).toBe(true);
    await left;
    const again: number[] = [];
    await subscribe(({ payload }) => void again.push(payload));
    await floor().toBe(COUNT);
    expect(seen).toEqual([0, 1, 2, 3, 4]);
    // The one in whose handler it left was not settled in time.
    expect(again.sort((a, b) => a - b)).toEqual(ALL.slice(4));
  });

  it("P6: are over with the connection, also the one whose handler closes it", async () => {
    const seen: number[] = [];
    const closing: AbortSignal[] = [];
    void subscribe(({ payload }, { signal }) => {
      seen.push(payload);
      if (payload !== 4) return;
      void client.close();
      closing.push(signal);
    }).catch(() => undefined);
    await expect.poll(() => closing.map(({ aborted }) => aborted)).toEqual([true]);
    expect(seen).toEqual([0, 1, 2, 3, 4]);
  });
});
