import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";

interface Frame {
  readonly type: string;
  readonly corr?: number;
  readonly event?: { readonly id: string; readonly seq: number };
  readonly [name: string]: unknown;
}

const COUNT = 10;
const lease = { topic: "t.a", group: "g", attempt: 1 };

let f: HubFixture;
let socket: WebSocket;
let frames: Frame[];
let ids: string[];

beforeEach(async () => {
  f = await hubFixture();
  await f.bus.publishMany(
    "t.a",
    Array.from({ length: COUNT }, (_, payload) => ({ payload })),
  );
  socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`);
  frames = [];
  socket.on("message", (data) => void frames.push(...[JSON.parse(String(data)) as Frame | Frame[]].flat()));
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
  send({ type: "AUTH", token: "all", corr: 1 });
  send({ type: "SUBSCRIBE", topic: "t.a", group: "g", opts: { from: "earliest" } });
  await expect.poll(() => leased().length).toBe(COUNT);
  ids = leased();
});

afterEach(async () => {
  socket.terminate();
  await f.close();
});

const send = (frame: object): void => socket.send(JSON.stringify(frame));
const leased = (): string[] => frames.flatMap(({ event }) => (event === undefined ? [] : [event.id]));
const answer = (corr: number) => expect.poll(() => frames.find((frame) => frame.corr === corr));
const floor = () => expect.poll(async () => (await f.bus.getCursor("t.a", "g"))?.partitions[0]?.floor);

describe("an ACK of many events", () => {
  it("is what the hub says that it takes", () => {
    expect(frames[0]).toMatchObject({ type: "OK", corr: 1, result: { takes: ["ids", "many"] } });
  });

  it("P6: settles all of them", async () => {
    send({ type: "ACK", ...lease, ids, corr: 2 });
    await answer(2).toEqual({ type: "OK", corr: 2 });
    await floor().toBe(COUNT);
  });

  it("P6: settles those that are leased, and tells of the others once", async () => {
    send({ type: "ACK", ...lease, ids: ["nobody", ...ids.slice(0, 4), "else"], corr: 2 });
    await answer(2).toMatchObject({ type: "ERR", code: "LEASE_LOST" });
    expect(frames.find(({ corr }) => corr === 2)?.msg).toContain("nobody (and 1 more)");
    await floor().toBe(4);
    send({ type: "ACK", ...lease, ids: [ids[4], ids[4]], corr: 3 });
    await answer(3).toMatchObject({ type: "ERR", code: "LEASE_LOST" });
    await floor().toBe(5);
  });

  it("is no NACK: what that says of ids is not looked at", async () => {
    send({ type: "NACK", ...lease, id: ids[0], ids: 7, corr: 2 });
    await answer(2).toEqual({ type: "OK", corr: 2 });
    send({ type: "PING", corr: 3 });
    await answer(3).toMatchObject({ type: "PONG" });
  });

  it("P6: settles none in another attempt", async () => {
    send({ type: "ACK", ...lease, attempt: 2, ids, corr: 2 });
    await answer(2).toMatchObject({ type: "ERR", code: "LEASE_LOST" });
    send({ type: "ACK", ...lease, ids: ids.slice(0, 1), corr: 3 });
    await answer(3).toMatchObject({ type: "OK" });
    await floor().toBe(1);
  });
});
