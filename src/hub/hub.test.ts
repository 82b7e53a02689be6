import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createBus } from "../bus/create-bus.js";
import { memoryStore } from "../stores/memory/index.js";
import { startHub } from "./server.js";

type Frame = { type: string; [name: string]: unknown };

/** A client that keeps what it gets. */
async function dial(
  url: string,
): Promise<{ socket: WebSocket; frames: Frame[]; send(frame: object): void; closed: Promise<number> }> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`);
  const frames: Frame[] = [];
  socket.on("message", (data) => {
    const message = JSON.parse(data.toString()) as Frame | Frame[];
    frames.push(...(Array.isArray(message) ? message : [message]));
  });
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
  return { socket, frames, send: (frame) => socket.send(JSON.stringify(frame)), closed };
}

describe("the hub over WebSocket", () => {
  it("publishes, delivers as stored, and settles by ACK; a closed socket gives its leases back", async () => {
    const bus = await createBus({ store: memoryStore() });
    const hub = await startHub({
      bus,
      auth: { tokens: { secret: { scopes: ["publish:orders.*", "subscribe:orders.**"] } } },
    });
    const one = await dial(hub.url);
    one.send({ type: "AUTH", token: "secret", corr: 1 });
    one.send({ type: "SUBSCRIBE", topic: "orders.placed", group: "g", opts: { from: "earliest" }, corr: 2 });
    await expect
      .poll(() => one.frames.map((f) => [f.type, f.corr]))
      .toEqual([
        ["OK", 1],
        ["OK", 2],
      ]);
    one.send({ type: "PUBLISH", topic: "orders.placed", payload: { n: 1, __proto__: 1 }, key: "k", corr: 3 });
    await expect
      .poll(() => one.frames.find((f) => f.type === "EVENT"))
      .toMatchObject({ event: { payload: { n: 1 }, key: "k", seq: 1 }, ctx: { attempt: 1 } });
    one.send({ type: "PUBLISH", topic: "secret.things", payload: 1, corr: 4 });
    await expect
      .poll(() => one.frames.find((f) => f.corr === 4))
      .toMatchObject({ type: "ERR", code: "FORBIDDEN" });
    one.socket.close();
    const two = await dial(hub.url);
    two.send({ type: "AUTH", token: "secret" });
    two.send({ type: "SUBSCRIBE", topic: "orders.placed", group: "g" });
    await expect
      .poll(() => two.frames.find((f) => f.type === "EVENT"))
      .toMatchObject({ ctx: { attempt: 2 } });
    const event = two.frames.find((f) => f.type === "EVENT")?.event as { id: string };
    two.send({ type: "ACK", topic: "orders.placed", group: "g", id: event.id, attempt: 1, corr: 5 });
    await expect
      .poll(() => two.frames.find((f) => f.corr === 5))
      .toMatchObject({ type: "ERR", code: "LEASE_LOST" });
    two.send({ type: "ACK", topic: "orders.placed", group: "g", id: event.id, attempt: 2, corr: 6 });
    await expect.poll(() => two.frames.find((f) => f.corr === 6)).toMatchObject({ type: "OK" });
    await expect.poll(async () => (await bus.getCursor("orders.placed", "g"))?.partitions[0]?.floor).toBe(1);
    const bad = await dial(hub.url);
    bad.send({ type: "AUTH", token: "wrong" });
    expect(await bad.closed).toBe(4401);
    const noise = await dial(hub.url);
    noise.socket.send("{not json");
    expect(await noise.closed).toBe(4400);
    expect((await fetch(`${hub.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${hub.url}/metrics`)).status).toBe(401);
    await hub.close();
    expect(await two.closed).toBe(1012);
    await bus.close();
  });
});

describe("what is sent behind an AUTH", () => {
  it("P4: waits for its answer and keeps its order, however much it is", async () => {
    const bus = await createBus({ store: memoryStore() });
    const hub = await startHub({ bus, auth: { tokens: { secret: { scopes: ["*:*"] } } } });
    const { send, frames, socket } = await dial(hub.url);
    const count = 3_000;
    for (const round of [0, 1]) {
      send({ type: "AUTH", token: "secret" });
      // In messages of their own, so that some come while the token is looked at and some after.
      for (let n = 0; n < count; n++)
        send({ type: "PUBLISH", topic: "a", payload: round * count + n, key: "k" });
      await expect.poll(() => frames.length, { timeout: 20_000 }).toBe((round + 1) * (count + 1));
    }
    const payloads: unknown[] = [];
    for await (const { payload } of bus.read("a")) payloads.push(payload);
    expect(payloads).toEqual(Array.from({ length: 2 * count }, (_, n) => n));
    socket.terminate();
    await hub.close();
    await bus.close();
  });
});

describe("connections of one subject", () => {
  it("P13: are bounded, whether the token comes by AUTH or with the upgrade", async () => {
    const bus = await createBus({ store: memoryStore() });
    const hub = await startHub({
      bus,
      auth: { tokens: { secret: { scopes: ["*:*"], subject: "ada" } } },
      limits: { maxConnectionsPerSubject: 1 },
    });
    const first = await dial(hub.url);
    first.send({ type: "AUTH", token: "secret", corr: 1 });
    await expect.poll(() => first.frames.length).toBe(1);
    const second = await dial(hub.url);
    second.send({ type: "AUTH", token: "secret" });
    expect(await second.closed).toBe(4429);
    expect(second.frames).toMatchObject([{ type: "ERR", code: "QUEUE_FULL" }]);
    const headers = { authorization: "Bearer secret" };
    const third = new WebSocket(`${hub.url.replace("http", "ws")}/ws`, { headers });
    expect(await new Promise((resolve) => third.on("close", resolve))).toBe(4429);
    first.socket.close();
    await first.closed;
    const fourth = await dial(hub.url);
    fourth.send({ type: "AUTH", token: "secret", corr: 1 });
    await expect.poll(() => fourth.frames.map((frame) => frame.type)).toEqual(["OK"]);
    await hub.close();
    await bus.close();
  });
});
