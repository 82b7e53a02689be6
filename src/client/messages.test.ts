import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import type { ClientFrame } from "../hub/protocol.js";
import type { ClientOptions } from "./client.js";
import { PromClient } from "./index.js";
import type { SocketLike } from "./socket.js";

let f: HubFixture;
let client: PromClient;
/** What went out, message by message. */
let messages: ClientFrame[][];

beforeEach(async () => {
  f = await hubFixture();
  messages = [];
});

afterEach(async () => {
  await client.close();
  await f.close();
});

async function connect(options: ClientOptions, headers: Record<string, string> = {}): Promise<void> {
  const makeSocket = (url: string): SocketLike => {
    const socket = new WebSocket(url, { headers });
    const send = socket.send.bind(socket);
    socket.send = (text: string) => {
      messages.push(JSON.parse(text) as ClientFrame[]);
      send(text);
    };
    return socket as unknown as SocketLike;
  };
  client = new PromClient(f.hub.url, { ...options, makeSocket });
  await client.connect();
}

const acks = (): ClientFrame[] => messages.flat().filter(({ type }) => type === "ACK");

async function consume(count: number): Promise<void> {
  let handled = 0;
  await new Promise<void>((resolve, reject) => {
    client
      .subscribe("t.a", "g", () => void (++handled === count && resolve()), { from: "earliest" })
      .catch(reject);
  });
  await expect.poll(async () => (await f.bus.getCursor("t.a", "g"))?.partitions[0]?.floor).toBe(count);
}

describe("the client's messages", () => {
  it("hold what is published in answer to one message, however many reactions that takes", async () => {
    await connect({ token: "all" });
    const window = 50;
    const sent: Promise<unknown>[] = [];
    for (let n = 0; n < 1_000; n++) {
      if (n >= window) await sent[n - window];
      sent.push(client.publish("t.a", n));
    }
    await Promise.all(sent);
    const published = messages.filter(([first]) => first?.type === "PUBLISH");
    expect(published.flat()).toHaveLength(1_000);
    expect(published.length).toBeLessThan(1_000 / 5);
  });

  it("P5: hold one ACK for events that were handled together", async () => {
    await f.bus.publishMany(
      "t.a",
      Array.from({ length: 500 }, (_, payload) => ({ payload })),
    );
    await connect({ token: "all" });
    await consume(500);
    const ids = acks().flatMap((frame) => ("ids" in frame ? frame.ids : "id" in frame ? [frame.id] : []));
    expect(new Set(ids).size).toBe(500);
    expect(acks().length).toBeLessThan(500 / 5);
  });

  it("hold an ACK for each event if the hub has not said that it takes more", async () => {
    await f.bus.publishMany(
      "t.a",
      Array.from({ length: 20 }, (_, payload) => ({ payload })),
    );
    // Recognised by the upgrade request: there is no greeting in which the hub could say so.
    await connect({}, { authorization: "Bearer all" });
    await consume(20);
    expect(acks()).toHaveLength(20);
    expect(acks().every((frame) => "id" in frame)).toBe(true);
  });
});
