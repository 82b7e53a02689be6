/** Clients that ask and do not read: what they asked for waits with them, not in the hub (P13). */
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";

let f: HubFixture;
let socket: WebSocket;
afterEach(async () => {
  socket.terminate();
  await f.close();
});

async function dial(): Promise<void> {
  f = await hubFixture({
    limits: { maxSendBufferBytes: 65_536, framesPerSecond: 10_000_000, authTimeoutMs: 60_000 },
  });
  socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`);
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
}

/** What the hub has not taken, once it takes no more. The sockets in between hold some megabytes. */
async function leftBytes(): Promise<number> {
  let left = -1;
  let looks = 0;
  const looksAtTheSame = (): number => {
    looks = left === socket.bufferedAmount ? looks + 1 : 0;
    left = socket.bufferedAmount;
    return looks;
  };
  await expect.poll(looksAtTheSame, { interval: 100 }).toBe(10);
  return left;
}

describe("P13: of one that does not read, no more is read", () => {
  it("when it asks by frames, not even known yet; it gets all answers once it reads", async () => {
    await dial();
    const corr = "c".repeat(200);
    const message = JSON.stringify(Array.from({ length: 4_000 }, () => ({ type: "PING", corr })));
    socket.pause();
    for (let n = 0; n < 60; n++) socket.send(message);
    expect(await leftBytes()).toBeGreaterThan(20_000_000);
    let pongs = 0;
    socket.on("message", (data) => {
      pongs += (JSON.parse(data.toString()) as unknown[]).length;
    });
    socket.resume();
    await expect.poll(() => pongs, { timeout: 30_000 }).toBe(240_000);
  });

  it("when it pings as WebSocket does", async () => {
    await dial();
    const data = Buffer.alloc(125);
    socket.pause();
    for (let n = 0; n < 200_000; n++) socket.ping(data);
    expect(await leftBytes()).toBeGreaterThan(10_000_000);
    let pongs = 0;
    socket.on("pong", () => {
      pongs++;
    });
    socket.resume();
    await expect.poll(() => pongs, { timeout: 30_000 }).toBe(200_000);
  });
});
