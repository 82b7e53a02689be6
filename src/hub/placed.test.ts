/** Answers to publishes: many in a frame for clients that take it, one by one for all others. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { defineTopic } from "../model/topic.js";
import type { OkFrame, PlacedFrame, ServerFrame } from "./protocol.js";

const COUNT = 1_500;
const PARTITIONS = 3;
const idOf = (corr: number): string => `id-${corr}`;

let f: HubFixture;
let socket: WebSocket;
let frames: ServerFrame[];

beforeEach(async () => {
  const topics = [defineTopic("t.p", { partitions: PARTITIONS })];
  f = await hubFixture({
    bus: { topics },
    limits: { framesPerSecond: 1e6, publishesPerSecondPerTopic: 1e6 },
  });
  socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`);
  frames = [];
  socket.on("message", (data) => {
    frames.push(...[JSON.parse(String(data)) as ServerFrame | ServerFrame[]].flat());
  });
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
});

afterEach(async () => {
  socket.terminate();
  await f.close();
});

const send = (...all: object[]): void => socket.send(JSON.stringify(all));
const greet = (takes?: string[]): void => send({ type: "AUTH", token: "all", takes });
const publishes = (topic: string): object[] =>
  Array.from({ length: COUNT }, (_, corr) => ({
    type: "PUBLISH",
    corr,
    id: idOf(corr),
    topic,
    payload: corr,
  }));
const placed = (): PlacedFrame[] => frames.filter((frame) => frame.type === "PLACED");
const oks = (): OkFrame[] =>
  frames.filter((frame) => frame.type === "OK" && frame.corr !== undefined) as OkFrame[];

/** Where each publish stands, as the hub told. */
function told(): Map<string, string> {
  const places = new Map<string, string>();
  for (const { partition, seq, corrs } of placed())
    corrs.forEach((corr, index) => {
      places.set(idOf(corr), `${partition}/${seq + index}`);
    });
  return places;
}

async function inLog(topic: string, partitions: number): Promise<Map<string, string>> {
  const places = new Map<string, string>();
  for (let partition = 0; partition < partitions; partition++) {
    const { events } = await f.bus.store.log.read(topic, partition, { after: 0, limit: COUNT });
    for (const { id, seq } of events) places.set(id, `${partition}/${seq}`);
  }
  return places;
}

describe("the answers to publishes", () => {
  it.each([
    ["t.one", 1],
    ["t.p", PARTITIONS],
  ])(
    "P1: go together to a client that takes it, and tell where each event stands: %s",
    async (topic, partitions) => {
      greet(["placed"]);
      send(...publishes(topic));
      await expect.poll(() => told().size).toBe(COUNT);
      expect(told()).toEqual(await inLog(topic, partitions));
      expect(placed().every((frame) => frame.topic === topic && frame.corrs.length <= 1_000)).toBe(true);
      expect(placed().length).toBeLessThan(COUNT / 5);
      expect(oks()).toEqual([]);
    },
  );

  it("go one by one to a client that does not say so", async () => {
    greet();
    send(...publishes("t.one"));
    await expect.poll(() => oks().length).toBe(COUNT);
    expect(placed()).toEqual([]);
  });

  it("P3: are their own for a duplicate, and for what is not asked by a number", async () => {
    greet(["placed"]);
    const publish = { type: "PUBLISH", topic: "t.one", payload: 1 };
    send(
      { ...publish, id: "a", corr: 1 },
      { ...publish, id: "b", corr: "x" },
      { ...publish, id: "c", corr: 2 },
    );
    await expect.poll(() => [told().size, oks().length]).toEqual([2, 1]);
    expect(oks()).toMatchObject([{ corr: "x", result: { id: "b", seq: 2 } }]);
    expect(placed().map(({ seq, corrs }) => [seq, corrs])).toEqual([
      [1, [1]],
      [3, [2]],
    ]);
    send({ ...publish, id: "a", corr: 3 }, { ...publish, id: "a", payload: 2, corr: 4 });
    await expect
      .poll(() => frames.filter((frame) => frame.type === "ERR"))
      .toMatchObject([{ corr: 4, code: "ID_CONFLICT" }]);
    await expect.poll(oks).toMatchObject([{}, { corr: 3, result: { id: "a", seq: 1, duplicate: true } }]);
  });

  it("are JSON whatever number they were asked by", async () => {
    greet(["placed"]);
    socket.send('{"type":"PUBLISH","topic":"t.one","id":"a","corr":1e999,"payload":1}');
    await expect.poll(oks).toMatchObject([{ result: { id: "a", seq: 1 } }]);
  });
});
