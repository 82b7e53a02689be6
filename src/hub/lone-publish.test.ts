/** What comes back to somebody who publishes one event at a time, from a hub that has its store for itself. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { embeddedStore } from "../stores/embedded/index.js";

let folder: string;
let f: HubFixture;
let socket: WebSocket;
/** Types of the frames in each message. */
let messages: string[][];
let texts: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "promethean-lone-"));
  const store = embeddedStore({ path: join(folder, "bus.db"), exclusive: true });
  f = await hubFixture({ bus: { store, topics: [{ name: "t.a", partitions: 1 }] } });
  socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`);
  messages = [];
  texts = [];
  socket.on("message", (data) => {
    texts.push(String(data));
    messages.push([JSON.parse(String(data)) as { type: string }].flat().map(({ type }) => type));
  });
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
  send({ type: "AUTH", corr: 0, token: "all", takes: ["placed", "events"] });
  await heard('"subject"');
});
afterEach(async () => {
  socket.terminate();
  await f.close();
  await rm(folder, { recursive: true, force: true });
});

const send = (frame: object): void => socket.send(JSON.stringify([frame]));
const heard = (text: string): Promise<void> =>
  expect.poll(() => texts.some((one) => one.includes(text)), { timeout: 30_000 }).toBe(true);
const publish = async (corr: number): Promise<void> => {
  send({ type: "PUBLISH", corr, topic: "t.a", payload: { corr } });
  await heard(`"corrs":[${corr}]`);
};

describe("one publish at a time", () => {
  it("P1, P2: each is answered once, and is in the log by then", async () => {
    for (let n = 1; n <= 20; n++) {
      await publish(n);
      expect(await f.bus.store.log.heads("t.a")).toMatchObject([{ head: n }]);
    }
    expect(messages.slice(1)).toEqual(Array.from({ length: 20 }, () => ["PLACED"]));
  });

  it("an answer of any length arrives whole, and behind what was said before it", async () => {
    const topic = `t.${"x".repeat(190)}`;
    for (let n = 1; n <= 5; n++) {
      send({ type: "PING", corr: `ping-${n}` });
      send({ type: "PUBLISH", corr: n, id: `id-${n}`, topic, payload: n });
      await heard(`"seq":${n},"corrs":[${n}]`);
    }
    expect(messages.slice(1).flat()).toEqual(Array.from({ length: 5 }, () => ["PONG", "PLACED"]).flat());
    expect(texts.filter((text) => text.includes(topic))).toHaveLength(5);
  });

  it("an answer takes the event along, if it goes to the same client", async () => {
    send({ type: "SUBSCRIBE", corr: "s", topic: "t.a", group: "g", opts: { from: "latest" } });
    await heard('"corr":"s"');
    for (let n = 1; n <= 20; n++) await publish(n);
    await heard('"corr":20}');
    const together = messages.filter((types) => types.includes("PLACED") && types.includes("EVENTS"));
    expect(together.length).toBeGreaterThan(0);
    expect(messages.flat().filter((type) => type === "PLACED")).toHaveLength(20);
  });
});
