import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import type { ClientFrame } from "../hub/protocol.js";
import type { ClientOptions } from "./client-options.js";
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

interface Line {
  /** Of the upgrade request. */
  readonly headers?: Record<string, string>;
  /** The hub does not get to know what the client takes: as one that has never heard of that. */
  readonly toOldHub?: boolean;
  /** Nor the client what the hub takes. */
  readonly ofOldHub?: boolean;
}

async function connect(
  options: ClientOptions,
  { headers = {}, toOldHub = false, ofOldHub = false }: Line = {},
): Promise<void> {
  const makeSocket = (url: string): SocketLike => {
    const socket = new WebSocket(url, { headers });
    const send = socket.send.bind(socket);
    socket.send = (text: string) => {
      const frames = JSON.parse(text) as ClientFrame[];
      messages.push(frames);
      send(toOldHub ? JSON.stringify(frames.map((frame) => ({ ...frame, takes: undefined }))) : text);
    };
    if (ofOldHub)
      Object.defineProperty(socket, "onmessage", {
        set: (hear: (message: { data: string }) => void) =>
          socket.on("message", (data) =>
            hear({ data: String(data).replace(/"takes":[^\]]*\]/, '"takes":[]') }),
          ),
      });
    return socket as unknown as SocketLike;
  };
  client = new PromClient(f.hub.url, { ...options, makeSocket });
  await client.connect();
}

const acks = (): ClientFrame[] => messages.flat().filter(({ type }) => type === "ACK");

async function publish(count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, payload) => ({ payload }));
  await f.bus.publishMany("t.a", items);
}

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

  it("hold what an answer led to beside the acks of the events that came with it", async () => {
    await connect({ token: "all" });
    await client.subscribe("t.a", "g", () => undefined);
    for (let n = 0; n < 20; n++) await client.publish("t.a", n);
    const kinds = messages.map((frames) => frames.map(({ type }) => type));
    expect(kinds).toContainEqual(["ACK", "PUBLISH"]);
  });

  it.each([
    ["many in a frame", false],
    ["one by one", true],
  ])("P1: are answered with where each event stands, %s", async (_, toOldHub) => {
    await connect({ token: "all" }, { toOldHub });
    const ids = Array.from({ length: 300 }, (_, n) => `id-${n}`);
    const published = await Promise.all(ids.map((id) => client.publish("t.a", id, { id })));
    const records = published.map(({ id, topic, seq }) => ({ id, topic, seq }));
    expect(records).toEqual(ids.map((id, n) => ({ id, topic: "t.a", seq: n + 1 })));
    expect(await client.publish("t.a", "id-7", { id: "id-7" })).toMatchObject({ seq: 8, duplicate: true });
  });

  it.each<[string, ClientOptions, Line]>([
    ["by its token", { token: "all" }, {}],
    ["by the upgrade request", {}, { headers: { authorization: "Bearer all" } }],
  ])(
    "P5: hold one ACK by numbers for events that were handled together: known %s",
    async (_, options, line) => {
      await publish(500);
      await connect(options, line);
      await consume(500);
      const leases = acks().flatMap((frame) => ("leases" in frame ? frame.leases : []));
      expect(leases.reduce((sum, [first, last]) => sum + last - first + 1, 0)).toBe(500);
      expect(acks().length).toBeLessThan(500 / 5);
    },
  );

  it("P5: hold one ACK by ids if the hub hands events out one by one", async () => {
    await publish(500);
    await connect({ token: "all" }, { toOldHub: true });
    await consume(500);
    const ids = acks().flatMap((frame) => ("ids" in frame ? frame.ids : "id" in frame ? [frame.id] : []));
    expect(new Set(ids).size).toBe(500);
    expect(acks().length).toBeLessThan(500 / 5);
  });

  it("hold an ACK for each event if the hub has not said that it takes more", async () => {
    await publish(20);
    await connect({}, { headers: { authorization: "Bearer all" }, toOldHub: true, ofOldHub: true });
    await consume(20);
    expect(acks()).toHaveLength(20);
    expect(acks().every((frame) => "id" in frame)).toBe(true);
  });
});
