/** Subscriptions of a client whose connection was lost: what the hub cannot do yet is asked of it again. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { keptSockets } from "../../test/support/kept-sockets.js";
import { BusError } from "../model/errors.js";
import { PromClient } from "./index.js";

let f: HubFixture;
let client: PromClient;
let sockets: WebSocket[];
let seen: unknown[];

beforeEach(async () => {
  f = await hubFixture();
  const kept = keptSockets();
  sockets = kept.sockets;
  seen = [];
  client = new PromClient(f.hub.url, {
    token: "all",
    retry: { baseMs: 1, maxMs: 5 },
    makeSocket: kept.makeSocket,
  });
  await client.connect();
  await client.subscribe("t.a", "g", ({ payload }) => void seen.push(payload), { from: "earliest" });
});
afterEach(async () => {
  await client.close();
  await f.close();
});

const unavailable = (): BusError => new BusError("STORE_UNAVAILABLE", "the store is being started again");
const cut = (): void => sockets.at(-1)?.terminate();

describe("after its connection was lost", () => {
  it("P5: a subscription comes back although the hub cannot take it on at first", async () => {
    const attach = vi.spyOn(f.bus, "attach").mockRejectedValueOnce(unavailable());
    attach.mockRejectedValueOnce(unavailable());
    cut();
    await expect.poll(() => attach.mock.calls.length).toBeGreaterThan(0);
    await f.bus.publish("t.a", 1);
    await expect.poll(() => seen).toEqual([1]);
    expect(attach).toHaveBeenCalledTimes(3);
  });

  it("a subscription that was left meanwhile is not asked for again", async () => {
    const attach = vi.spyOn(f.bus, "attach").mockRejectedValueOnce(unavailable());
    cut();
    await expect.poll(() => attach.mock.calls.length).toBe(1);
    await client.unsubscribe("t.a", "g");
    // What is put off later is tried again later.
    vi.spyOn(f.bus, "submit").mockImplementationOnce((_topic, _payload, _options, waiter) =>
      waiter.fail(unavailable()),
    );
    expect(await client.publish("t.a", 1)).toMatchObject({ seq: 1 });
    expect(await client.publish("t.a", 2)).toMatchObject({ seq: 2 });
    expect(attach).toHaveBeenCalledTimes(1);
  });

  it("leaving a subscription is no error if the line broke before the answer", async () => {
    const left = client.unsubscribe("t.a", "g");
    cut();
    await left;
    expect(sockets).toHaveLength(2);
  });
});
