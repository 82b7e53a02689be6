/** Subscriptions of a client that are left, and lines that are closed: what is leased to nobody would wait for its deadline. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { WebSocket } from "ws";
import { gate } from "../../test/support/eventually.js";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { keptSockets } from "../../test/support/kept-sockets.js";
import type { Subscription } from "../bus/subscriptions.js";
import { defineTopic } from "../model/topic.js";
import type { ClientOptions } from "./client-options.js";
import type { ClientContext } from "./deliveries.js";
import { PromClient } from "./index.js";

let f: HubFixture;
let sockets: WebSocket[];
let clients: PromClient[];
let seen: unknown[];

beforeEach(async () => {
  f = await hubFixture();
  sockets = [];
  clients = [];
  seen = [];
});
afterEach(async () => {
  for (const client of clients) await client.close();
  await f.close();
});

function newClient(options: ClientOptions = {}): PromClient {
  const kept = keptSockets();
  sockets = kept.sockets;
  const { makeSocket } = kept;
  const client = new PromClient(f.hub.url, {
    token: "all",
    retry: { baseMs: 1, maxMs: 5 },
    makeSocket,
    ...options,
  });
  clients.push(client);
  return client;
}

const see = ({ payload }: { payload: unknown }): void => void seen.push(payload);
const note = ({ payload }: { payload: unknown }, { attempt }: ClientContext): void =>
  void seen.push([payload, attempt]);
const fromEarliest = { from: "earliest" } as const;

describe("a subscription that is left", () => {
  it("before there is a line is never asked for", async () => {
    const attach = vi.spyOn(f.bus, "attach");
    const client = newClient();
    const subscribed = client.subscribe("t.a", "g", see);
    await client.unsubscribe("t.a", "g");
    await expect(subscribed).rejects.toMatchObject({ code: "ABORTED" });
    await client.connect();
    await client.publish("t.a", 1);
    expect(attach).not.toHaveBeenCalled();
  });

  it("P13: gives back what is leased to it although as many publishes wait as may", async () => {
    const client = newClient({ maxBuffered: 3 });
    await client.subscribe("t.a", "g", see, { ...fromEarliest, manualAck: true });
    const published = [1, 2, 3].map((n) => client.publish("t.a", n));
    await client.unsubscribe("t.a", "g");
    await Promise.all(published);
    const leased = new Set(seen.splice(0));
    await newClient().subscribe("t.a", "g", note, fromEarliest);
    await expect.poll(() => seen).toHaveLength(3);
    expect(seen).toEqual([1, 2, 3].map((n) => [n, leased.has(n) ? 2 : 1]));
  });

  it("is left by the topic's definition as by its name", async () => {
    const Orders = defineTopic("t.a");
    const client = newClient();
    await client.subscribe(Orders, "g", see);
    await client.unsubscribe(Orders, "g");
    expect((await f.bus.getCursor(Orders, "g"))?.partitions[0]?.owner).toBeNull();
  });

  it("may be asked for again at once", async () => {
    const client = newClient();
    await client.connect();
    await client.subscribe("t.a", "g", () => seen.push("the first"));
    const left = client.unsubscribe("t.a", "g");
    await client.subscribe("t.a", "g", see);
    await left;
    await client.publish("t.a", 1);
    await expect.poll(() => seen).toEqual([1]);
  });

  it("may be asked for again while the line is lost: the new one comes back, and stays", async () => {
    const attach = vi.spyOn(f.bus, "attach");
    const client = newClient();
    await client.subscribe("t.a", "g", () => seen.push("the first"));
    const { passed, open } = gate();
    vi.spyOn(await (attach.mock.results[0]?.value as Promise<Subscription>), "abandon").mockReturnValueOnce(
      passed,
    );
    const left = client.unsubscribe("t.a", "g");
    const again = client.subscribe("t.a", "g", see);
    sockets.at(-1)?.terminate();
    await Promise.all([left, again]);
    open();
    await client.publish("t.a", 1);
    await expect.poll(() => seen).toEqual([1]);
  });
});

describe("a client that is closed", () => {
  it.each(["ack", "nack"] as const)("P5: has said what was settled by %s before", async (verb) => {
    const client = newClient();
    await client.publish("t.a", 1);
    const { passed, open } = gate();
    const settle = (_: unknown, ctx: ClientContext): void => {
      ctx[verb]("later");
      open();
    };
    const retry = { baseMs: 1, jitter: 0 };
    await client.subscribe("t.a", "g", settle, { ...fromEarliest, manualAck: true, retry });
    await passed;
    await client.close();
    await newClient().subscribe("t.a", "g", note, fromEarliest);
    await clients[1]?.publish("t.a", 2);
    await expect.poll(() => seen.length).toBe(verb === "ack" ? 1 : 2);
    expect(seen).toContainEqual([2, 1]);
  });

  it("has nothing more to leave", async () => {
    const client = newClient();
    await client.subscribe("t.a", "g", see);
    const left = client.unsubscribe("t.a", "g");
    await client.close();
    await left;
  });
});
