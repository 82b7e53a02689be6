/** A subscription that is left, and asked for again, before the bus has answered the first time. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { gate } from "../../test/support/eventually.js";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { BusError } from "../model/errors.js";

interface Frame {
  readonly type: string;
  readonly corr?: number;
  readonly event?: { readonly id: string };
}

let f: HubFixture;
let socket: WebSocket;
let frames: Frame[];

beforeEach(async () => {
  f = await hubFixture();
  socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`, {
    headers: { authorization: "Bearer all" },
  });
  frames = [];
  socket.on("message", (data) => void frames.push(...[JSON.parse(String(data)) as Frame | Frame[]].flat()));
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
});
afterEach(async () => {
  socket.terminate();
  await f.close();
});

const t = { topic: "t.a", group: "g" };
const send = (frame: object): void => socket.send(JSON.stringify(frame));
const answer = (corr: number) => expect.poll(() => frames.find((frame) => frame.corr === corr));

describe("a subscription that was left while it was being made", () => {
  it("P5, P6: takes nothing from the next one when it fails", async () => {
    const { passed, open } = gate();
    vi.spyOn(f.bus, "attach").mockImplementationOnce(async () => {
      await passed;
      throw new BusError("STORE_UNAVAILABLE", "the store is being started again");
    });
    send({ type: "SUBSCRIBE", corr: 1, ...t });
    send({ type: "UNSUBSCRIBE", corr: 2, ...t });
    await answer(2).toMatchObject({ type: "OK" });
    send({ type: "SUBSCRIBE", corr: 3, ...t, opts: { from: "earliest" } });
    await answer(3).toMatchObject({ type: "OK" });
    open();
    await answer(1).toMatchObject({ type: "ERR", code: "STORE_UNAVAILABLE" });
    const { id } = await f.bus.publish("t.a", 1);
    await expect.poll(() => frames.find(({ event }) => event?.id === id)).toBeDefined();
    send({ type: "ACK", corr: 4, ...t, id });
    await answer(4).toMatchObject({ type: "OK" });
  });

  it("is answered as well", async () => {
    const { passed, open } = gate();
    const { attach } = f.bus;
    vi.spyOn(f.bus, "attach").mockImplementationOnce(async (...given) => {
      await passed;
      return attach.apply(f.bus, given);
    });
    send({ type: "SUBSCRIBE", corr: 1, ...t });
    send({ type: "UNSUBSCRIBE", corr: 2, ...t });
    await answer(2).toMatchObject({ type: "OK" });
    open();
    await answer(1).toMatchObject({ type: "OK" });
  });

  it("P6: left twice, makes way for the next one once, when it is gone", async () => {
    const { passed, open } = gate();
    const { attach } = f.bus;
    vi.spyOn(f.bus, "attach").mockImplementationOnce(async (...given) => {
      const subscription = await attach.apply(f.bus, given);
      const abandon = subscription.abandon.bind(subscription);
      return Object.assign(subscription, { abandon: (reason: string) => passed.then(() => abandon(reason)) });
    });
    send({ type: "SUBSCRIBE", corr: 1, ...t });
    await answer(1).toMatchObject({ type: "OK" });
    for (const corr of [2, 3]) send({ type: "UNSUBSCRIBE", corr, ...t });
    await answer(3).toMatchObject({ type: "OK" });
    send({ type: "SUBSCRIBE", corr: 4, ...t });
    await answer(4).toMatchObject({ type: "ERR", code: "INVALID_OPTION" });
    open();
    await answer(2).toMatchObject({ type: "OK" });
    send({ type: "SUBSCRIBE", corr: 5, ...t });
    await answer(5).toMatchObject({ type: "OK" });
  });
});
