/** Listeners that throw, deadlines that are far away, and numbers that are none. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { keptSockets } from "../../test/support/kept-sockets.js";
import type { ClientOptions, ClientTrouble } from "./client-options.js";
import { PromClient } from "./index.js";
import type { SocketMaker } from "./socket.js";

const DAY_MS = 86_400_000;

let f: HubFixture;
let client: PromClient;
let sockets: WebSocket[];
let makeSocket: SocketMaker;

beforeEach(async () => {
  f = await hubFixture();
  ({ sockets, makeSocket } = keptSockets());
});
afterEach(async () => {
  await client.close();
  await f.close();
});

const made = (options: ClientOptions = {}): PromClient => {
  client = new PromClient(f.hub.url, {
    token: "all",
    makeSocket,
    retry: { baseMs: 1, maxMs: 1 },
    ...options,
  });
  return client;
};

describe("a listener that throws", () => {
  it("keeps no client from mending its line, and is told of", async () => {
    const troubles: ClientTrouble[] = [];
    made({ onTrouble: (trouble) => troubles.push(trouble) }).onStatus((status) => {
      throw new Error(`${status} is not to my taste`);
    });
    const seen: string[] = [];
    client.onStatus((status) => seen.push(status));
    await client.connect();
    sockets[0]?.terminate();
    await expect.poll(() => sockets.length).toBe(2);
    await expect.poll(() => client.status).toBe("online");
    expect(seen).toEqual(["connecting", "online", "offline", "connecting", "online"]);
    expect(troubles[0]?.error).toMatchObject({
      code: "INTERNAL",
      message: "a listener of onStatus failed: connecting is not to my taste",
    });
  });

  it("of trouble ends no tries: the client connects when it can", async () => {
    let asked = 0;
    const getToken = (): string => {
      if (++asked < 8) throw new Error("the sign-in server is down");
      return "all";
    };
    const onTrouble = (): never => {
      throw new Error("nobody wants to know");
    };
    await made({ getToken, onTrouble }).connect();
    expect(client.status).toBe("online");
  });
});

describe("a deadline that is far away", () => {
  it("has not passed: the signal of the handler does not abort, and its ack counts", async () => {
    const aborted: boolean[] = [];
    await made().subscribe(
      "t.a",
      "g",
      async (_event, { signal }) => {
        // Longer than the shortest timer.
        for (let n = 0; n < 5; n++) await client.publish("t.other", n);
        aborted.push(signal.aborted);
      },
      { ackTimeoutMs: 30 * DAY_MS },
    );
    await client.publish("t.a", 1);
    await expect.poll(async () => (await f.bus.getCursor("t.a", "g"))?.partitions[0]?.floor).toBe(1);
    expect(aborted).toEqual([false]);
  });

  it("is not asked for in vain: beyond what a hub gives, extend says so", async () => {
    const thrown: unknown[] = [];
    await made().subscribe("t.a", "g", (_event, ctx) => {
      for (const ms of [0, -1, Number.NaN, 3_600_001])
        try {
          ctx.extend(ms);
        } catch (error) {
          thrown.push(error);
        }
      ctx.extend(3_600_000);
    });
    await client.publish("t.a", 1);
    await expect.poll(async () => (await f.bus.getCursor("t.a", "g"))?.partitions[0]?.floor).toBe(1);
    const message = "extend takes milliseconds above 0, 3600000 at most";
    expect(thrown).toEqual(Array(4).fill(expect.objectContaining({ code: "INVALID_OPTION", message })));
  });
});

it.each<[string, object]>([
  ["pingMs", { pingMs: 0 }],
  ["pingMs", { pingMs: Number.NaN }],
  // The platform's timers would fire at once, and again and again.
  ["pingMs", { pingMs: Number.POSITIVE_INFINITY }],
  ["pingMs", { pingMs: 30 * DAY_MS }],
  ["maxBuffered", { maxBuffered: 0 }],
  ["maxBuffered", { maxBuffered: "10" }],
  ["maxBufferedBytes", { maxBufferedBytes: Number.NaN }],
  ["retry.baseMs", { retry: { baseMs: -1 } }],
  ["retry.maxMs", { retry: { maxMs: Number.NaN } }],
  ["retry.jitter", { retry: { jitter: 2 } }],
  ["onTrouble", { onTrouble: "log" }],
])("a client refuses a %s that is none: %o", (name, options) => {
  client = made();
  expect(() => made(options)).toThrow(
    expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(`^${name} must be `) }),
  );
});
