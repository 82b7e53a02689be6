/** Which frames travel together. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SocketPair } from "../../../test/support/socket-pair.js";
import { Outgoing } from "./outgoing.js";

let pair: SocketPair;
let received: string[];
let outgoing: Outgoing;

beforeEach(async () => {
  received = [];
  pair = await SocketPair.open((text) => received.push(text));
  const ignore = (): void => undefined;
  outgoing = new Outgoing(pair.socket, {
    maxBufferBytes: 1 << 20,
    onFull: ignore,
    onFlooded: ignore,
    onRoom: ignore,
  });
  outgoing.takeArrays();
});
afterEach(() => pair.close());

/** Everything that a callback of Node's leads to has run. */
const runOut = (): Promise<void> =>
  new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)));

async function arrived(messages: number): Promise<string[]> {
  await expect.poll(() => received.length).toBeGreaterThanOrEqual(messages);
  return received.map((text) => (text.length > 100 ? "long" : text));
}

describe("what goes out on a WebSocket", () => {
  it("for one and the same reason goes together, in its order; what comes later by itself", async () => {
    outgoing.send("1");
    for (let i = 0; i < 10; i++) await Promise.resolve();
    outgoing.send("2");
    await runOut();
    outgoing.send("3");
    expect(await arrived(2)).toEqual(["[1,2]", "3"]);
    outgoing.send("4");
    expect(await arrived(3)).toEqual(["[1,2]", "3", "4"]);
  });

  it("does not wait for the end of a turn that has more than a message holds", async () => {
    const long = JSON.stringify("x".repeat(70_000));
    outgoing.send(long);
    await runOut();
    outgoing.send("1");
    expect(await arrived(2)).toEqual(["long", "1"]);
  });
});
