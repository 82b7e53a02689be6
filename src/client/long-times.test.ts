/** A client whose times are longer than the platform's timers take, or whose clock is set back meanwhile. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { keptSockets } from "../../test/support/kept-sockets.js";
import type { ClientOptions } from "./client-options.js";
import { PromClient } from "./index.js";
import type { SocketMaker } from "./socket.js";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** What is longer than this, a timer of the platform's takes for 1 ms. */
const MOST_DELAY_MS = 2 ** 31 - 1;

let f: HubFixture;
let client: PromClient;
let sockets: WebSocket[];
let makeSocket: SocketMaker;

beforeEach(async () => {
  f = await hubFixture();
  ({ sockets, makeSocket } = keptSockets());
});
afterEach(async () => {
  vi.restoreAllMocks();
  await client.close();
  await f.close();
});

const made = (options: ClientOptions = {}): PromClient => {
  client = new PromClient(f.hub.url, { token: "all", makeSocket, ...options });
  return client;
};

/** The longest wait that a timer was asked for from now on. */
function longestDelay(): () => number {
  const timers = vi.spyOn(globalThis, "setTimeout");
  return () => Math.max(0, ...timers.mock.calls.map(([, delayMs]) => delayMs ?? 0));
}

describe("times beyond 25 days", () => {
  it("a wait for the next connection does not end at once", async () => {
    await made({ retry: { baseMs: 30 * DAY_MS, maxMs: 30 * DAY_MS, jitter: 0 } }).connect();
    const longest = longestDelay();
    sockets[0]?.terminate();
    await expect.poll(() => client.status).toBe("offline");
    expect(longest()).toBe(MOST_DELAY_MS);
  });
});

describe("a clock that is set back by an hour", () => {
  it("hides no dead line", async () => {
    const sent: string[] = [];
    const watched: SocketMaker = (...made) => {
      const socket = makeSocket(...made);
      const { send } = socket;
      socket.send = (text) => {
        sent.push(String(text));
        send.call(socket, text);
      };
      return socket;
    };
    await made({ pingMs: 20, retry: { baseMs: 1, maxMs: 1 }, makeSocket: watched }).connect();
    const [socket] = sockets;
    socket?.pause();
    await expect.poll(() => sent.some((text) => text.includes("PING"))).toBe(true);
    const { now } = Date;
    vi.spyOn(Date, "now").mockImplementation(() => now() - HOUR_MS);
    await expect.poll(() => sockets.length).toBe(2);
    socket?.terminate();
  });
});
