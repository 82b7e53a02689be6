import { Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { RawConnection, requestBytes } from "../../../test/support/raw-http.js";
import type { HubLimits } from "../limits.js";

let f: HubFixture;
const connections: RawConnection[] = [];

const start = async (limits: Partial<HubLimits>): Promise<void> => {
  f = await hubFixture({ limits });
};
const connect = async (): Promise<RawConnection> => {
  const connection = await RawConnection.to(f.hub.url);
  connections.push(connection);
  return connection;
};
/** Asks whether the hub lives; null if it ends the connection without an answer. */
const ask = async (connection: RawConnection): Promise<number | undefined> => {
  await connection.write(requestBytes("/healthz", [], "", "GET"));
  return (await connection.next())?.status;
};

const openSocket = async (): Promise<WebSocket> => {
  const url = `${f.hub.url.replace("http", "ws")}/ws`;
  const socket = new WebSocket(url, { headers: { authorization: "Bearer all" } });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return socket;
};

afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  await f.close();
});

describe("connections over HTTP", () => {
  it("P13: are as many as the hub has room for; another one is told so, and let in when there is room again", async () => {
    await start({ maxHttpConnections: 2 });
    const [first, second] = [await connect(), await connect()];
    expect([await ask(first), await ask(second)]).toEqual([200, 200]);
    const third = await connect();
    expect(await third.next()).toMatchObject({
      status: 503,
      headers: { connection: "close", "retry-after": "1" },
    });
    await third.ended();
    first.destroy();
    await expect.poll(async () => ask(await connect())).toBe(200);
  });

  it("P13: do not count once they are WebSockets, which have a bound of their own", async () => {
    await start({ maxHttpConnections: 1 });
    const sockets: WebSocket[] = [];
    for (let i = 0; i < 3; i++) sockets.push(await openSocket());
    expect(await ask(await connect())).toBe(200);
    for (const socket of sockets) socket.close();
  });

  it("P13: that are refused as WebSockets are closed, whether or not the client closes them", async () => {
    await start({ maxConnections: 1, maxHttpConnections: 1 });
    const socket = await openSocket();
    const upgrade = [
      ["Connection", "Upgrade"],
      ["Upgrade", "websocket"],
      ["Sec-WebSocket-Version", "13"],
      ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
    ] as const;
    const refused = await connect();
    await refused.write(requestBytes("/ws", upgrade, "", "GET"));
    expect(await refused.next()).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    await expect.poll(async () => ask(await connect())).toBe(200);
    socket.close();
  });

  it.each([
    ["nothing", ""],
    ["half of a head", "GET /healthz HTTP/1.1\r\nHost: h"],
    ["half of the head of a publish", "POST /publish HTTP/1.1\r\nHost: h"],
  ])("P13: end when %s came for too long", async (_, bytes) => {
    await start({ headTimeoutMs: 50, keepAliveMs: 50 });
    const slow = await connect();
    await slow.write(bytes);
    await slow.ended();
  });

  it("P13: end when nothing came for too long, however long one is kept for its next request", async () => {
    await start({ headTimeoutMs: 50, keepAliveMs: 600_000 });
    const silent = await connect();
    expect(await silent.next()).toMatchObject({ status: 408 });
    await silent.ended();
  });

  it("P13: are looked after by the system, so that those end whose peer is gone without a word", async () => {
    const looked = vi.spyOn(Socket.prototype, "setKeepAlive");
    await start({});
    expect(await ask(await connect())).toBe(200);
    expect(looked).toHaveBeenCalledWith(true, 60_000);
    looked.mockRestore();
  });

  it("P13: end when nothing follows an answer for too long", async () => {
    await start({ keepAliveMs: 1_000 });
    const idle = await connect();
    expect(await ask(idle)).toBe(200);
    await idle.ended();
  });
});
