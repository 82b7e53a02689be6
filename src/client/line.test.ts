/** The line of a client where timers are late, networks come and go, and tokens cannot be got. */
import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { keptSockets } from "../../test/support/kept-sockets.js";
import { PromClient as BrowserClient } from "./browser.js";
import type { ClientOptions, ClientTrouble } from "./client-options.js";
import type { SocketMaker } from "./socket.js";

let f: HubFixture;
let client: BrowserClient;
let sockets: WebSocket[];
let makeSocket: SocketMaker;
/** What a page tells of: that it is online again, that it is shown. */
let page: EventTarget;

beforeEach(async () => {
  f = await hubFixture();
  ({ sockets, makeSocket } = keptSockets());
  page = new EventTarget();
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page));
});
afterEach(async () => {
  await client.close();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  await f.close();
});

const made = (options: ClientOptions = {}): BrowserClient => {
  client = new BrowserClient(f.hub.url, { token: "all", makeSocket, ...options });
  return client;
};

describe("a page in the background, whose timers are late", () => {
  it("keeps a line that answers", async () => {
    const pingMs = 20;
    let look = (): void => undefined;
    const byHand = (callback: () => void): void => {
      look = callback;
    };
    vi.spyOn(globalThis, "setInterval").mockImplementation(byHand as unknown as typeof setInterval);
    const changes: string[] = [];
    made({ pingMs }).onStatus((status) => changes.push(status));
    await client.connect();
    let answers = 0;
    sockets[0]?.on("message", () => answers++);
    for (let looks = 1; looks <= 4; looks++) {
      const startMs = performance.now();
      look();
      await expect.poll(() => answers).toBe(looks);
      await expect.poll(() => performance.now() - startMs).toBeGreaterThan(4 * pingMs);
    }
    expect(changes).toEqual(["connecting", "online"]);
  });
});

describe("a page that is online again, or shown again", () => {
  it("connects at once, not after the wait that is under way", async () => {
    await made({ retry: { baseMs: 3_600_000, maxMs: 3_600_000, jitter: 0 } }).connect();
    sockets[0]?.terminate();
    await expect.poll(() => client.status).toBe("offline");
    page.dispatchEvent(new Event("online"));
    await expect.poll(() => client.status).toBe("online");
    expect(sockets).toHaveLength(2);
  });

  it("finds out at once that a line is dead, and keeps one that is not", async () => {
    // No look comes by itself.
    vi.spyOn(globalThis, "setInterval").mockReturnValue(undefined as never);
    await made({ pingMs: 4_000, retry: { baseMs: 1, maxMs: 1 } }).connect();
    page.dispatchEvent(new Event("online"));
    await expect(client.publish("t.a", 1)).resolves.toMatchObject({ seq: 1 });
    expect(sockets).toHaveLength(1);
    // Nothing comes through any more, and nobody says so.
    sockets[0]?.pause();
    page.dispatchEvent(new Event("online"));
    await expect.poll(() => sockets.length).toBe(2);
    await expect.poll(() => client.status).toBe("online");
  });

  it("is left alone by a client that is closed", async () => {
    await made().connect();
    expect(getEventListeners(page, "online")).toHaveLength(1);
    await client.close();
    expect(getEventListeners(page, "online")).toEqual([]);
  });
});

describe("a client that gets no connection", () => {
  const told = async (options: ClientOptions): Promise<ClientTrouble["error"]> =>
    new Promise((resolve) => {
      made({ ...options, retry: { baseMs: 1, maxMs: 1 }, onTrouble: ({ error }) => resolve(error) });
      client.connect().catch(() => undefined);
    });

  it("waits between its tries, whatever is published meanwhile", async () => {
    await f.hub.close();
    made({ retry: { baseMs: 3_600_000, maxMs: 3_600_000, jitter: 0 } });
    const published: unknown[] = [client.publish("t.a", 0).catch(({ code }) => code)];
    await expect.poll(() => sockets[0]?.readyState).toBe(WebSocket.CLOSED);
    await expect.poll(() => client.status).toBe("offline");
    for (let n = 1; n < 5; n++) published.push(client.publish("t.a", n).catch(({ code }) => code));
    void client.connect().catch(() => undefined);
    expect([client.status, sockets.length]).toEqual(["offline", 1]);
    await client.close();
    expect(await Promise.all(published)).toEqual(Array(5).fill("CLOSED"));
  });

  it("says that it has no token, if that is why", async () => {
    const getToken = () => Promise.reject(new Error("the sign-in server is down"));
    expect(await told({ getToken })).toMatchObject({
      code: "UNAUTHENTICATED",
      message: "getToken failed: the sign-in server is down; the client goes on trying",
    });
  });

  it("says that the hub may not take pages of that site", async () => {
    await f.hub.close();
    vi.stubGlobal("location", { origin: "https://shop.example" });
    const { origin } = new URL(f.hub.url);
    expect((await told({})).message).toBe(
      `no hub answers at ${origin}, or it takes no pages of https://shop.example (its option \`origins\`); the client goes on trying`,
    );
  });

  it("says that there can be no socket, if that is why", async () => {
    const insecure = () => {
      throw new Error("an insecure WebSocket may not be initiated from a page loaded over HTTPS");
    };
    expect(await told({ makeSocket: insecure })).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringMatching(/^no socket to .* can be made: an insecure WebSocket/) as string,
    });
  });
});
