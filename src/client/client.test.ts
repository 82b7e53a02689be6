import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { keptSockets } from "../../test/support/kept-sockets.js";
import { createBus } from "../bus/create-bus.js";
import { startHub } from "../hub/server.js";
import { memoryStore } from "../stores/memory/index.js";
import { PromClient } from "./index.js";
import { isUnseen, type SocketLike } from "./socket.js";

describe("the client", () => {
  it("P3, P5: loses its connection again and again while it publishes and consumes; nothing is lost, nothing doubled unmarked", async () => {
    const bus = await createBus({ store: memoryStore() });
    const hub = await startHub({ bus, auth: { tokens: { t: { scopes: ["*:*"] } } } });
    const { sockets, makeSocket } = keptSockets();
    const client = new PromClient(hub.url, {
      token: "t",
      retry: { baseMs: 5, maxMs: 20 },
      makeSocket,
    });
    await client.connect();
    const first = new Map<string, number>();
    const unmarked: string[] = [];
    await client.subscribe<number>(
      "t.n",
      "g",
      (event, ctx) => {
        if (first.has(event.id) && ctx.attempt === 1) unmarked.push(event.id);
        if (!first.has(event.id)) first.set(event.id, event.payload);
      },
      { from: "earliest" },
    );
    const published = [];
    for (let i = 0; i < 500; i++) {
      published.push(client.publish("t.n", i, { key: `k${i % 7}` }));
      if (i % 10 === 9) {
        const up = (): boolean => client.status === "online" && sockets.at(-1)?.readyState === WebSocket.OPEN;
        await expect.poll(up, { interval: 1 }).toBe(true);
        sockets.at(-1)?.terminate();
      }
    }
    const records = await Promise.all(published);
    expect(new Set(records.map((record) => record.id)).size).toBe(500);
    await expect.poll(() => first.size, { timeout: 30_000 }).toBe(500);
    expect(sockets.length).toBeGreaterThan(50);
    expect(unmarked).toEqual([]);
    expect((await bus.store.log.heads("t.n"))[0]?.head).toBe(500);
    await client.close();
    await hub.close();
    await bus.close();
  });

  it("rejects connect() if the token is refused, and says so", async () => {
    const bus = await createBus({ store: memoryStore() });
    const hub = await startHub({ bus, auth: { tokens: { t: { scopes: [] } } } });
    const client = new PromClient(hub.url, { token: "wrong" });
    await expect(client.connect()).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await expect(client.publish("t.a", 1)).rejects.toMatchObject({ code: "CLOSED" });
    await hub.close();
    await bus.close();
  });

  it("P3: asks for another token when its own has run out, and goes on; one that has no other is told so", async () => {
    const secret = "a secret of more than thirty-two characters";
    const bus = await createBus({ store: memoryStore() });
    const hub = await startHub({ bus, auth: { jwt: { secret } } });
    const token = (life: string): Promise<string> =>
      new SignJWT({ scopes: ["*:*"], sub: "ada" })
        .setProtectedHeader({ alg: "HS256" })
        .setExpirationTime(life)
        .sign(Buffer.from(secret));
    // Taken for 5 s beyond that: for 4.
    const short = await token("1s ago");
    let asked = 0;
    const renewing = new PromClient(hub.url, {
      getToken: () => (++asked === 1 ? short : token("1h")),
      retry: { baseMs: 1, maxMs: 5 },
    });
    const fixed = new PromClient(hub.url, { token: short, retry: { baseMs: 1, maxMs: 5 } });
    const ended = new Promise((resolve) => {
      fixed.onStatus((status, error) => status === "closed" && resolve(error));
    });
    await Promise.all([renewing.connect(), fixed.connect()]);
    const seen: unknown[] = [];
    await renewing.subscribe("t.a", "g", ({ payload }) => void seen.push(payload), { from: "earliest" });
    const refused = {
      code: "UNAUTHENTICATED",
      message: expect.stringContaining("the hub refused the token"),
      retryable: false,
    };
    expect(await ended).toMatchObject(refused);
    await expect.poll(() => [asked, renewing.status]).toEqual([2, "online"]);
    expect(await renewing.publish("t.a", 1)).toMatchObject({ seq: 1 });
    await expect.poll(() => seen).toEqual([1]);
    await renewing.close();
    await hub.close();
    await bus.close();
  });

  it.each(["here", "127.0.0.1:8420", "ftp://127.0.0.1:8420", ""])("refuses %j as an address", (url) => {
    expect(() => new PromClient(url)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining("no address") }),
    );
  });

  it.each([
    ["http://hub.example", "ws://hub.example/ws"],
    ["https://shop.example/bus", "wss://shop.example/bus/ws"],
    ["https://shop.example/bus/", "wss://shop.example/bus/ws"],
    ["https://shop.example/bus/ws", "wss://shop.example/bus/ws"],
    ["wss://shop.example", "wss://shop.example/ws"],
    ["wss://shop.example/events", "wss://shop.example/events"],
  ])("looks for the hub of %s at %s", async (url, socket) => {
    const asked: string[] = [];
    const makeSocket = (address: string): never => {
      asked.push(address);
      throw new Error("this is enough");
    };
    const client = new PromClient(url, { makeSocket, onTrouble: () => undefined });
    client.connect().catch(() => undefined);
    await expect.poll(() => asked[0]).toBe(socket);
    await client.close();
  });

  it("refuses a handler that is none, and subscriptions once it is closed", async () => {
    const client = new PromClient("http://127.0.0.1:8420");
    const subscribing = client.subscribe("t.a", "g", undefined as unknown as () => void);
    await expect(subscribing).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await client.close();
    await expect(client.subscribe("t.a", "g", () => undefined)).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("nacks when the handler throws, and hands over what may not be done as errors with codes", async () => {
    const bus = await createBus({ store: memoryStore() });
    const hub = await startHub({
      bus,
      auth: { tokens: { t: { scopes: ["publish:t.*", "subscribe:t.*"] } } },
    });
    const client = new PromClient(hub.url, { token: "t" });
    await client.connect();
    const attempts: number[] = [];
    await client.subscribe(
      "t.a",
      "g",
      (_event, ctx) => {
        attempts.push(ctx.attempt);
        if (ctx.attempt < 3) throw new Error("not yet");
      },
      { retry: { baseMs: 1, maxMs: 5 } },
    );
    await client.publish("t.a", { n: 1 });
    await expect.poll(() => attempts).toEqual([1, 2, 3]);
    await expect(client.publish("other", 1)).rejects.toMatchObject({ code: "FORBIDDEN" });
    await expect(client.publish("t.BAD", 1)).rejects.toMatchObject({
      code: expect.stringMatching(/FORBIDDEN|INVALID_TOPIC/),
    });
    await client.close();
    await hub.close();
    await bus.close();
  });

  it("sends however much is published at once in messages that a hub takes", async () => {
    const bus = await createBus({ store: memoryStore() });
    const limits = { framesPerSecond: 1_000_000, publishesPerSecondPerTopic: 1_000_000 };
    const hub = await startHub({ bus, limits, auth: { tokens: { t: { scopes: ["*:*"] } } } });
    const client = new PromClient(hub.url, { token: "t" });
    const statuses: string[] = [];
    client.onStatus((status) => statuses.push(status));
    await client.connect();
    const items = Array.from({ length: 5_000 }, (_, n) => ({ payload: { n, text: "ä".repeat(300) } }));
    const published = await client.publishMany("t.many", items);
    expect(published.map(({ seq }) => seq)).toEqual(items.map((_, n) => n + 1));
    expect(statuses).toEqual(["connecting", "online"]);
    await client.close();
    await hub.close();
    await bus.close();
  });

  it("sends what its options say, whatever is in them", async () => {
    const bus = await createBus({ store: memoryStore() });
    const hub = await startHub({ bus, auth: { tokens: { t: { scopes: ["*:*"] } } } });
    const client = new PromClient(hub.url, { token: "t" });
    await client.connect();
    const seen: unknown[] = [];
    await client.subscribe("t.said", "g", (event) => void seen.push(event), { from: "earliest" });
    const options: Record<string, unknown> = {
      ...{ id: 'i"d', key: 'k"\\\n', headers: { "x-a": 'v"' } },
      ts: undefined,
    };
    expect(await client.publish("t.said", { n: 1 }, options)).toMatchObject({ id: 'i"d', seq: 1 });
    const said = { id: 'i"d', key: 'k"\\\n', headers: { "x-a": 'v"' }, payload: { n: 1 } };
    await expect.poll(() => seen).toMatchObject([said]);
    await client.close();
    await hub.close();
    await bus.close();
  });

  it("P3: refuses options that would speak for the frame: another topic, another's answer; the line stays as it is", async () => {
    const bus = await createBus({ store: memoryStore() });
    const hub = await startHub({ bus, auth: { tokens: { t: { scopes: ["*:*"] } } } });
    const client = new PromClient(hub.url, { token: "t" });
    await client.connect();
    const statuses: string[] = [];
    client.onStatus((status) => statuses.push(status));
    for (const name of ["type", "corr", "topic"])
      await expect(client.publish("t.a", 1, { [name]: "t.b" })).rejects.toMatchObject({
        code: "INVALID_OPTION",
      });
    for (const option of [
      { key: () => "k" },
      { id: Symbol("id") },
      { key: null },
      JSON.parse('{"__proto__":{"key":"k"}}'),
    ])
      await expect(client.publish("t.a", 1, option)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    const item = { payload: "said", key: "k" };
    expect(await client.publish("t.a", "said here", item)).toMatchObject({ topic: "t.a", seq: 1 });
    expect((await bus.store.log.read("t.a", 0, { after: 0, limit: 9 })).events[0]?.record.payload).toBe(
      "said here",
    );
    expect(statuses).toEqual([]);
    await client.close();
    await hub.close();
    await bus.close();
  });

  it.each(["<html>", "", "null", "[1]", '[{"type":"PONG"},null]'])(
    "P3: leaves a line that says %j for another one, with what was not answered",
    async (text) => {
      const bus = await createBus({ store: memoryStore() });
      const hub = await startHub({ bus, auth: { tokens: { t: { scopes: ["*:*"] } } } });
      const { sockets, makeSocket } = keptSockets();
      const client = new PromClient(hub.url, {
        token: "t",
        retry: { baseMs: 1, maxMs: 5 },
        makeSocket,
      });
      await client.connect();
      const published = client.publish("t.a", 1);
      (sockets[0] as unknown as SocketLike).onmessage?.({ data: text });
      expect(await published).toMatchObject({ seq: 1 });
      expect(sockets).toHaveLength(2);
      await client.close();
      await hub.close();
      await bus.close();
    },
  );

  it.each([
    ["ws://127.0.0.1:1/ws", true],
    ["ws://localhost/ws", true],
    ["ws://[::1]:8420/ws", true],
    ["wss://hub.example/ws", true],
    ["ws://hub.example/ws", false],
    ["ws://127.0.0.1.example/ws", false],
    ["ws://localhost.example/ws", false],
    ["ws://10.0.0.7/ws", false],
  ])("masks its messages where somebody on the way could read them: %s", (url, unseen) => {
    expect(isUnseen(url)).toBe(unseen);
  });

  it("gives up a message that the hub will never take, and nothing else", async () => {
    const bus = await createBus({ store: memoryStore() });
    const hub = await startHub({
      ...{ bus, limits: { maxBodyBytes: 2_000 } },
      auth: { tokens: { t: { scopes: ["*:*"] } } },
    });
    const client = new PromClient(hub.url, { token: "t", retry: { baseMs: 1, maxMs: 5 } });
    await client.connect();
    const small = Array.from({ length: 30 }, (_, n) =>
      client.publish("t.size", { n, text: "x".repeat(500) }),
    );
    const large = client.publish("t.size", "y".repeat(100_000));
    const later = client.publish("t.size", "z");
    await expect(large).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
    await Promise.all([...small, later]);
    expect((await bus.store.log.heads("t.size"))[0]?.head).toBe(31);
    await expect(client.publish("t.size", { n: 1n })).rejects.toMatchObject({ code: "INVALID_PAYLOAD" });
    await expect(client.publish("t.size", undefined)).rejects.toMatchObject({ code: "BAD_REQUEST" });
    await client.close();
    await hub.close();
    await bus.close();
  });
});
