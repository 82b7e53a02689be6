/** A client that has no token: whether it gets in is the hub's to say, and it waits for that. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { keptSockets } from "../../test/support/kept-sockets.js";
import { PromClient as BrowserClient } from "./browser.js";
import { PromClient } from "./index.js";
import type { SocketLike } from "./socket.js";

const REFUSED = {
  code: "UNAUTHENTICATED",
  message: "the hub wants a token, and this client has none: give it token or getToken",
};
let f: HubFixture | undefined;
let client: PromClient | BrowserClient;

afterEach(async () => {
  vi.unstubAllGlobals();
  await client.close();
  await f?.close();
  f = undefined;
});

describe("a client without a token", () => {
  it.each([
    ["of Node", PromClient],
    ["of browsers", BrowserClient],
  ])(
    "%s: connect() rejects if the hub wants one, and so does what was asked meanwhile",
    async (_, Client) => {
      vi.stubGlobal("WebSocket", WebSocket);
      f = await hubFixture();
      client = new Client(f.hub.url);
      const statuses: string[] = [];
      client.onStatus((status) => statuses.push(status));
      const published = client.publish("t.a", 1).catch((error: unknown) => error);
      await expect(client.connect()).rejects.toMatchObject(REFUSED);
      expect(await published).toMatchObject(REFUSED);
      expect(statuses).toEqual(["connecting", "closed"]);
    },
  );

  it("has none either if it is empty", async () => {
    f = await hubFixture();
    client = new PromClient(f.hub.url, { token: "" });
    await expect(client.connect()).rejects.toMatchObject(REFUSED);
  });

  it.each([
    ["of Node", PromClient],
    ["of browsers", BrowserClient],
  ])("%s: connects to a hub that wants none", async (_, Client) => {
    vi.stubGlobal("WebSocket", WebSocket);
    f = await hubFixture({ auth: "none" });
    client = new Client(f.hub.url);
    await client.connect();
    expect(await client.publish("t.a", 1)).toMatchObject({ seq: 1 });
  });

  it("connects to a hub that knows it by the upgrade request", async () => {
    f = await hubFixture();
    const headers = { authorization: "Bearer all" };
    const makeSocket = (url: string): SocketLike => new WebSocket(url, { headers }) as unknown as SocketLike;
    client = new PromClient(f.hub.url, { makeSocket });
    await client.connect();
    expect(await client.publish("t.a", 1)).toMatchObject({ seq: 1 });
  });

  it("leaves a line on which its greeting has no answer, and tries another", async () => {
    const silent = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as { port: number };
    const { sockets, makeSocket } = keptSockets();
    client = new PromClient(`http://127.0.0.1:${port}`, {
      ...{ makeSocket, pingMs: 5 },
      retry: { baseMs: 1, maxMs: 5 },
    });
    const statuses = new Set<string>();
    client.onStatus((status) => statuses.add(status));
    const connected = client.connect().catch((error: unknown) => error);
    await expect.poll(() => sockets.length).toBeGreaterThan(2);
    expect(statuses).toEqual(new Set(["connecting", "offline"]));
    await client.close();
    expect(await connected).toMatchObject({ code: "CLOSED", message: "this client is closed" });
    await new Promise((resolve) => silent.close(resolve));
  });
});
