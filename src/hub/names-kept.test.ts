/** What clients name does not stay in the hub (P13). */
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { collectGarbage } from "../../test/support/collect-garbage.js";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";

const FRAMES = 30;
const CHARS = 1_000_000;

let f: HubFixture;
let socket: WebSocket;
afterEach(async () => {
  socket.terminate();
  await f.close();
});

async function dial(token: string): Promise<void> {
  f = await hubFixture({ tokens: { narrow: ["publish:mine"] } });
  const headers = { authorization: `Bearer ${token}` };
  socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`, { headers });
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
}

/** Sends a frame, and gives back what its answer says. */
function ask(frame: object): Promise<string> {
  return new Promise((resolve) => {
    socket.once("message", (data) => resolve((JSON.parse(data.toString()) as { code: string }).code));
    socket.send(JSON.stringify(frame));
  });
}

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe("P13: long names that come once and again do not stay", () => {
  it.each([
    ["publishes to topics that are not its own", "narrow", "PUBLISH", "FORBIDDEN"],
    ["publishes to what cannot be a topic", "all", "PUBLISH", "INVALID_TOPIC"],
    ["subscribes to topics that are not its own", "narrow", "SUBSCRIBE", "FORBIDDEN"],
  ])("of one that %s", async (_, token, type, code) => {
    await dial(token);
    const rest = type === "PUBLISH" ? { payload: 1 } : { group: "g" };
    const before = heapBytes();
    for (let n = 0; n < FRAMES; n++)
      expect(await ask({ type, topic: `${n}`.padEnd(CHARS, "x"), ...rest })).toBe(code);
    expect(heapBytes() - before).toBeLessThan((FRAMES * CHARS) / 4);
  });
});
