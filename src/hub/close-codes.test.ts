import { SignJWT } from "jose";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { ManualClock } from "../model/manual-clock.js";

interface Frame {
  readonly type: string;
  readonly [name: string]: unknown;
}

let f: HubFixture;
const sockets: WebSocket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  await f.close();
});

async function dial(token?: string) {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`, { headers });
  sockets.push(socket);
  const frames: Frame[] = [];
  socket.on(
    "message",
    (data) => void frames.push(...[JSON.parse(data.toString()) as Frame | Frame[]].flat()),
  );
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
  const send = (frame: object): void => socket.send(JSON.stringify(frame));
  return { socket, frames, closed, send };
}

const answered = (frames: readonly Frame[], corr: number) =>
  expect.poll(() => frames.find((frame) => frame.corr === corr));

describe("a connection is closed with", () => {
  it("4400 when a message is not JSON, or binary", async () => {
    f = await hubFixture();
    for (const message of ["{oops", "", "\ud800", Buffer.from([1, 2, 3])]) {
      const { socket, closed } = await dial("all");
      socket.send(message);
      expect(await closed).toBe(4400);
    }
  });

  it("4400 as well if it goes on at once: what comes behind such a message is not done", async () => {
    f = await hubFixture();
    const { socket, frames, closed, send } = await dial("all");
    socket.send("{oops");
    send({ type: "PUBLISH", corr: 1, topic: "t.a", payload: 1 });
    send({ type: "PUBLISH", corr: 2, topic: "t.a", payload: { n: 1.5e3 } });
    socket.send("{oops");
    expect(await closed).toBe(4400);
    expect(frames).toMatchObject([{ type: "ERR", code: "BAD_REQUEST" }]);
    expect(await f.bus.store.registry.topics()).toEqual([]);
  });

  it("4401 when something comes before AUTH, and when a token is refused", async () => {
    f = await hubFixture();
    const early = await dial();
    early.send({ type: "PUBLISH", topic: "a", payload: 1 });
    expect(await early.closed).toBe(4401);
    const wrong = await dial();
    wrong.send({ type: "AUTH", token: "wrong", corr: 1 });
    expect(await wrong.closed).toBe(4401);
    expect(wrong.frames).toMatchObject([{ type: "ERR", code: "UNAUTHENTICATED", corr: 1 }]);
  });

  it("4408 when no AUTH comes in time, even if it pings", async () => {
    f = await hubFixture({ limits: { authTimeoutMs: 100 } });
    const { closed, send } = await dial();
    send({ type: "PING" });
    expect(await closed).toBe(4408);
  });

  const secret = "0123456789abcdef0123456789abcdef";
  const token = (seconds: number, scopes: string[], sub = "ada"): Promise<string> =>
    new SignJWT({ scopes, sub })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime(Math.floor(Date.now() / 1_000) + seconds)
      .sign(new TextEncoder().encode(secret));

  it("4401 when the token runs out, unless a later AUTH replaced it", async () => {
    const clock = new ManualClock({ startMs: Date.now() });
    f = await hubFixture({ bus: { clock }, auth: { jwt: { secret } } });
    const [short, long] = [await token(60, ["*:*"]), await token(3_600, ["*:*"])];
    const kept = await dial(short);
    const lost = await dial(short);
    kept.send({ type: "AUTH", token: long, corr: 1 });
    await answered(kept.frames, 1).toMatchObject({ type: "OK", result: { subject: "ada" } });
    await clock.advance(120_000);
    expect(await lost.closed).toBe(4401);
    expect(lost.frames).toMatchObject([{ type: "ERR", code: "UNAUTHENTICATED", msg: "the token ran out" }]);
    kept.send({ type: "PUBLISH", topic: "a", payload: 1, corr: 2 });
    await answered(kept.frames, 2).toMatchObject({ type: "OK" });
  });

  it("4401 when a token ran out longer ago than clocks may differ, and no sooner", async () => {
    const clock = new ManualClock({ startMs: Date.now() });
    f = await hubFixture({ bus: { clock }, auth: { jwt: { secret } } });
    const { closed, frames, send } = await dial();
    send({ type: "AUTH", token: await token(-2, ["*:*"]), corr: 1 });
    await answered(frames, 1).toMatchObject({ type: "OK" });
    await clock.advance(1_000);
    send({ type: "PUBLISH", topic: "a", payload: 1, corr: 2 });
    await answered(frames, 2).toMatchObject({ type: "OK" });
    await clock.advance(3_000);
    expect(await closed).toBe(4401);
  });

  it("4403 when a later AUTH does not allow what is subscribed to; its leases go back", async () => {
    f = await hubFixture({ auth: { jwt: { secret } } });
    const one = await dial(await token(3_600, ["*:*"]));
    one.send({ type: "SUBSCRIBE", topic: "a", group: "g", opts: { from: "earliest" }, corr: 1 });
    await f.bus.publish("a", 1);
    await expect.poll(() => one.frames.some(({ type }) => type === "EVENT")).toBe(true);
    one.send({ type: "AUTH", token: await token(3_600, ["publish:a"]), corr: 2 });
    expect(await one.closed).toBe(4403);
    expect(one.frames.at(-1)).toMatchObject({ type: "ERR", code: "FORBIDDEN", corr: 2 });
    const two = await dial(await token(3_600, ["subscribe:a"]));
    two.send({ type: "SUBSCRIBE", topic: "a", group: "g" });
    await expect
      .poll(() => two.frames.find(({ type }) => type === "EVENT"))
      .toMatchObject({ ctx: { attempt: 2 } });
  });

  it("4409 when the bus closes under a subscription", async () => {
    f = await hubFixture();
    const { closed, frames, send } = await dial("all");
    send({ type: "SUBSCRIBE", topic: "a", group: "g", corr: 1 });
    await answered(frames, 1).toMatchObject({ type: "OK" });
    await f.bus.close();
    expect(await closed).toBe(4409);
    expect(frames.at(-1)).toMatchObject({ type: "ERR", code: "LEASE_LOST" });
  });

  it("4429 when it goes on sending after it was told to slow down", async () => {
    f = await hubFixture({ limits: { framesPerSecond: 10 } });
    const { closed, frames, send } = await dial("all");
    send(Array.from({ length: 2_000 }, (_, corr) => ({ type: "PING", corr })));
    expect(await closed).toBe(4429);
    expect(frames.filter(({ type }) => type === "PONG").length).toBeLessThan(50);
    expect(frames.find(({ type }) => type === "ERR")).toMatchObject({
      code: "RATE_LIMITED",
      retry_after_ms: expect.any(Number),
    });
  });

  it("P13: 4430 when it does not read; the others do not notice, and what it held is delivered to them", async () => {
    const clock = new ManualClock();
    f = await hubFixture({ bus: { clock }, limits: { maxSendBufferBytes: 65_536 } });
    const slow = await dial("all");
    const opts = { from: "earliest", maxInFlight: 1_000 };
    slow.send({ type: "SUBSCRIBE", topic: "a", group: "g", opts, corr: 1 });
    await answered(slow.frames, 1).toMatchObject({ type: "OK" });
    slow.socket.pause();
    const filler = "x".repeat(100_000);
    for (let n = 0; n < 200; n++) await f.bus.publish("a", `${n} ${filler}`);
    // The sockets between it and the hub fill up; then it is handed no more.
    let handedOut = 0;
    const held = async (): Promise<boolean> => {
      const before = handedOut;
      handedOut = (await f.bus.admin.lag())[0]?.partitions[0]?.inFlight ?? 0;
      return handedOut > 0 && handedOut === before;
    };
    await expect.poll(held, { interval: 200 }).toBe(true);
    expect(handedOut).toBeLessThan(200);
    await clock.advance(31_000);
    const quick = await dial("all");
    const seen = new Set<string>();
    quick.socket.on("message", (data) => {
      for (const frame of [JSON.parse(data.toString()) as Frame | Frame[]].flat()) {
        if (frame.type !== "EVENT") continue;
        const { id } = frame.event as { id: string };
        seen.add(id);
        quick.send({ type: "ACK", topic: "a", group: "g", id });
      }
    });
    quick.send({ type: "SUBSCRIBE", topic: "a", group: "g" });
    const all = async (): Promise<number> => {
      await clock.advance(20);
      return seen.size;
    };
    await expect.poll(all, { interval: 10 }).toBe(200);
    slow.socket.resume();
    expect(await slow.closed).toBe(4430);
    const lag = async (): Promise<number | undefined> => {
      await clock.advance(20);
      return (await f.bus.admin.lag())[0]?.lag;
    };
    await expect.poll(lag).toBe(0);
  });

  it("1009 when a message is too big", async () => {
    f = await hubFixture({ limits: { maxBodyBytes: 1_000 } });
    const { closed, send } = await dial("all");
    send({ type: "PUBLISH", topic: "a", payload: "x".repeat(3_000) });
    expect(await closed).toBe(1009);
  });

  it("1012 when the hub goes down", async () => {
    f = await hubFixture();
    const { closed } = await dial("all");
    await f.hub.close();
    expect(await closed).toBe(1012);
  });
});

describe("an upgrade is refused with", () => {
  const refused = (path: string, headers: Record<string, string>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`${f.hub.url.replace("http", "ws")}${path}`, { headers });
      socket.on("unexpected-response", (_, response) => {
        socket.on("error", () => undefined);
        socket.terminate();
        resolve(response.statusCode);
      });
      socket.on("open", () => reject(new Error("it was taken")));
    });

  it("401 for a bad token, 403 for a foreign origin, 404 for another path, 503 when it is full", async () => {
    f = await hubFixture({ limits: { maxConnections: 1 } });
    expect(await refused("/ws", { authorization: "Bearer wrong" })).toBe(401);
    expect(await refused("/ws", { origin: "https://evil.example" })).toBe(403);
    expect(await refused("/wss", {})).toBe(404);
    await dial("all");
    expect(await refused("/ws", {})).toBe(503);
  });
});

describe("frames that are wrong are answered, and the connection goes on", () => {
  const lease = { topic: "a", group: "g", id: "x" };
  it.each([
    ["no type", {}, "BAD_REQUEST"],
    ["an unknown type", { type: "HELLO" }, "BAD_REQUEST"],
    ["a name of Object's", { type: "constructor" }, "BAD_REQUEST"],
    ["PUBLISH without a topic", { type: "PUBLISH", payload: 1 }, "BAD_REQUEST"],
    ["PUBLISH without a payload", { type: "PUBLISH", topic: "a" }, "BAD_REQUEST"],
    ["PUBLISH to a bad topic", { type: "PUBLISH", topic: "A b", payload: 1 }, "INVALID_TOPIC"],
    ["PUBLISH with a bad key", { type: "PUBLISH", topic: "a", payload: 1, key: 7 }, "INVALID_OPTION"],
    [
      "PUBLISH with an unknown member",
      { type: "PUBLISH", topic: "a", payload: 1, kye: "k" },
      "INVALID_OPTION",
    ],
    ["SUBSCRIBE without a group", { type: "SUBSCRIBE", topic: "a" }, "BAD_REQUEST"],
    ["SUBSCRIBE to a bad pattern", { type: "SUBSCRIBE", topic: "a..b", group: "g" }, "INVALID_TOPIC"],
    [
      "SUBSCRIBE with bad options",
      { type: "SUBSCRIBE", topic: "a", group: "g", opts: { from: 7 } },
      "INVALID_OPTION",
    ],
    [
      "SUBSCRIBE with a list of options",
      { type: "SUBSCRIBE", topic: "a", group: "g", opts: [] },
      "BAD_REQUEST",
    ],
    ["UNSUBSCRIBE from nothing", { type: "UNSUBSCRIBE", topic: "a", group: "g" }, "NOT_FOUND"],
    ["ACK of nothing", { type: "ACK", ...lease }, "NOT_FOUND"],
    ["ACK without an id", { type: "ACK", topic: "a", group: "g" }, "BAD_REQUEST"],
    ["ACK of an empty list", { type: "ACK", topic: "a", group: "g", ids: [] }, "BAD_REQUEST"],
    ["ACK of an id and a list", { type: "ACK", ...lease, ids: ["x"] }, "BAD_REQUEST"],
    ["ACK of a list of numbers", { type: "ACK", topic: "a", group: "g", ids: ["x", 7] }, "BAD_REQUEST"],
    [
      "ACK of too many",
      { type: "ACK", topic: "a", group: "g", ids: Array.from({ length: 1_001 }, String) },
      "BAD_REQUEST",
    ],
    ["NACK of a list", { type: "NACK", topic: "a", group: "g", ids: ["x"] }, "BAD_REQUEST"],
    ["NACK with a number for a reason", { type: "NACK", ...lease, reason: 7 }, "BAD_REQUEST"],
    ["MODACK by nothing", { type: "MODACK", ...lease, extend_ms: 0 }, "BAD_REQUEST"],
    ["PAUSE of half a name", { type: "PAUSE", topic: "a" }, "BAD_REQUEST"],
  ])("%s", async (_, frame, code) => {
    f = await hubFixture();
    const { frames, send } = await dial("all");
    send({ ...frame, corr: 1 });
    await answered(frames, 1).toMatchObject({ type: "ERR", code });
    send({ type: "PING", corr: 2 });
    await answered(frames, 2).toMatchObject({ type: "PONG" });
    expect(JSON.stringify(frames)).not.toMatch(/\.ts:\d|at async/);
  });

  it.each([
    ["an object", '{"a":1}'],
    ["null", "null"],
    ["a text of 201 characters", JSON.stringify("c".repeat(201))],
  ])("a corr that is %s is not sent back", async (_, corr) => {
    f = await hubFixture();
    const { socket, frames } = await dial("all");
    socket.send(`{"type":"PING","corr":${corr}}`);
    socket.send(`{"type":"PUBLISH","corr":${corr},"topic":"a","payload":1}`);
    await expect.poll(() => frames.length).toBe(2);
    const said = { type: "ERR", code: "BAD_REQUEST", msg: expect.stringMatching(/^corr is a number/) };
    expect(frames).toEqual([said, said]);
    expect(await f.bus.store.registry.topics()).toEqual([]);
  });

  it("403 in the same words whether a topic exists or not", async () => {
    f = await hubFixture({ tokens: { narrow: ["publish:mine"] } });
    await f.bus.publish("there", 1);
    const { frames, send } = await dial("narrow");
    for (const type of ["PUBLISH", "SUBSCRIBE"])
      for (const topic of ["there", "nowhere"]) send({ type, topic, group: "g", payload: 1 });
    await expect.poll(() => frames.length).toBe(4);
    const words = frames.map(({ msg }) => String(msg).replace(/there|nowhere/, "TOPIC"));
    expect([words[0], words[2]]).toEqual([words[1], words[3]]);
    expect(frames.every(({ code }) => code === "FORBIDDEN")).toBe(true);
  });

  it("payload keys are data: stored and returned unchanged", async () => {
    f = await hubFixture();
    const { frames, socket, send } = await dial("all");
    send({ type: "SUBSCRIBE", topic: "a", group: "g", opts: { from: "earliest" } });
    const payload = '{"__proto__":{"x":1},"$where":"1","a.b":2,"constructor":null,"n":1e0}';
    socket.send(`{"type":"PUBLISH","topic":"a","payload":${payload},"corr":1}`);
    await expect.poll(() => frames.find(({ type }) => type === "EVENT")).toBeDefined();
    const event = frames.find(({ type }) => type === "EVENT")?.event as { id: string; payload: object };
    expect(Object.keys(event.payload)).toEqual(["__proto__", "$where", "a.b", "constructor", "n"]);
    const stored = await (await f.get(`/events/${event.id}`)).text();
    expect(stored).toContain('"__proto__":{"x":1},"$where":"1","a.b":2,"constructor":null');
  });
});
