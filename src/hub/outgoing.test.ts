/** Which frames travel together. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { Outgoing } from "./outgoing.js";

let server: WebSocketServer;
let socket: WebSocket;
let received: string[];
let outgoing: Outgoing;

beforeEach(async () => {
  received = [];
  server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
  server.on("connection", (other) => other.on("message", (data) => received.push(String(data))));
  await once(server, "listening");
  socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await once(socket, "open");
  const ignore = (): void => undefined;
  outgoing = new Outgoing(socket, { maxBufferBytes: 1 << 20, onFull: ignore, onRoom: ignore });
  outgoing.takeArrays();
});
afterEach(() => {
  socket.terminate();
  server.close();
});

/** What runs now has run; the turn has not ended. */
const runOut = (): Promise<void> =>
  new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)));

async function arrived(messages: number): Promise<string[]> {
  await expect.poll(() => received.length).toBeGreaterThanOrEqual(messages);
  return received.map((text) => (text.length > 100 ? "long" : text));
}

describe("what goes out on a WebSocket", () => {
  it("the first of a quiet turn does not wait for its end; what follows goes together", async () => {
    outgoing.send("1");
    await Promise.resolve();
    outgoing.send("2");
    await runOut();
    outgoing.send("3");
    await runOut();
    outgoing.send("4");
    expect(await arrived(2)).toEqual(["[1,2]", "[3,4]"]);
  });

  it("after a turn with much to send, all of a turn goes together, and then it is quiet again", async () => {
    outgoing.send(JSON.stringify("x".repeat(5_000)));
    await turn();
    await turn();
    outgoing.send("1");
    await runOut();
    outgoing.send("2");
    await turn();
    await turn();
    outgoing.send("3");
    await runOut();
    outgoing.send("4");
    expect(await arrived(4)).toEqual(["long", "[1,2]", "3", "4"]);
  });
});
