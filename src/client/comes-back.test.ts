/** Subscriptions of a client whose connection was lost: what the hub cannot do yet is asked of it again. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { keptSockets } from "../../test/support/kept-sockets.js";
import { BusError } from "../model/errors.js";
import { PromClient as BrowserClient } from "./browser.js";
import type { ClientTrouble } from "./client-options.js";
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
    // It is asked for again after a fifth of a second.
    await expect.poll(() => attach.mock.calls.length, { interval: 1 }).toBe(1);
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
    await expect.poll(() => sockets).toHaveLength(2);
  });
});

describe("a subscription that the hub refuses after a reconnect", () => {
  let rights: string;
  let troubles: ClientTrouble[];
  let other: PromClient;

  beforeEach(async () => {
    await f.close();
    f = await hubFixture({ tokens: { few: ["publish:**"] } });
    rights = "all";
    troubles = [];
    const kept = keptSockets();
    sockets = kept.sockets;
    other = new PromClient(f.hub.url, {
      getToken: () => rights,
      retry: { baseMs: 1, maxMs: 5 },
      makeSocket: kept.makeSocket,
      onTrouble: (trouble) => void troubles.push(trouble),
    });
    await other.connect();
    await other.subscribe("t.a", "g", ({ payload }) => void seen.push(payload), { from: "earliest" });
  });
  afterEach(() => other.close());

  it("is told to onTrouble, with its code, its topic and its group; the next connection asks once more", async () => {
    rights = "few";
    cut();
    await expect.poll(() => troubles).toHaveLength(1);
    expect(troubles[0]).toMatchObject({ topic: "t.a", group: "g", error: { code: "FORBIDDEN" } });
    expect(troubles[0]?.error.message).toBe(
      "the hub does not take on the subscription of t.a for g again: this token may not subscribe to t.a; the next connection asks once more",
    );
    expect(await other.publish("t.a", 1)).toMatchObject({ seq: 1 });
    rights = "all";
    cut();
    await expect.poll(() => seen).toEqual([1]);
    expect(troubles).toHaveLength(1);
  });

  it("can be left, and asked for again", async () => {
    rights = "few";
    cut();
    await expect.poll(() => troubles).toHaveLength(1);
    await other.unsubscribe("t.a", "g");
    await expect(other.subscribe("t.a", "g", () => undefined)).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(troubles).toHaveLength(1);
  });

  it.each([
    ["the process", PromClient, process, "emitWarning"],
    ["the console in browsers", BrowserClient, console, "warn"],
  ] as const)(
    "is a warning of %s if nobody listens, once a minute however many",
    async (_, Client, where, how) => {
      const warned = vi.spyOn(where as { warn(): void }, how as "warn").mockImplementation(() => undefined);
      await client.close();
      const kept = keptSockets();
      client = new Client(f.hub.url, { getToken: () => rights, makeSocket: kept.makeSocket });
      await client.connect();
      for (const topic of ["t.b", "t.c", "t.d"]) await client.subscribe(topic, "g", () => undefined);
      rights = "few";
      kept.sockets.at(-1)?.terminate();
      await expect.poll(() => warned.mock.calls).toHaveLength(1);
      // Its answer comes after those to the subscriptions.
      await client.publish("t.a", 1);
      expect(warned.mock.calls).toHaveLength(1);
      expect(JSON.stringify(warned.mock.calls[0])).toMatch(/t\.b for g.*FORBIDDEN/);
    },
  );
});
