/** What a replay does with payloads that nobody looks at. */
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { useBench } from "../../../test/support/bus-bench.js";
import type { Bus } from "../../bus/bus.js";
import { StoredEvent } from "../../model/event.js";
import { JsonBody } from "../../model/json.js";
import { defineTopic } from "../../model/topic.js";
import { replay } from "./replay.js";

const bench = useBench();
/** Parsed and written anew it would be another text. */
const TEXT = '{"n":1.0, "deep":{"list":[1,2]}}';

async function publishText(bus: Bus): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    bus.submit("t.from", undefined, { key: "k", tags: ["a"] }, { done: () => resolve(), fail: reject }, TEXT);
  });
}

async function textsOf(bus: Bus, topic: string): Promise<string[]> {
  const { events } = await bus.store.log.read(topic, 0, { after: 0, limit: 10 });
  return events.map(({ body }) => body.text);
}

describe("a replay", () => {
  it("passes payloads on as they are stored, without reading them, also by a filter that looks at other things", async () => {
    const bus = await bench().bus();
    await publishText(bus);
    const parse = vi.spyOn(JSON, "parse");
    expect(await replay(bus, { from: "t.from", to: "t.to" })).toMatchObject({ events: 1, duplicates: 0 });
    expect(parse.mock.calls.map(([text]) => text)).not.toContain(TEXT);
    expect(await replay(bus, { from: "t.from", to: "t.to" })).toMatchObject({ events: 1, duplicates: 1 });
    await replay(bus, { from: "t.from", to: "t.other", filter: ({ key }) => key === "k" });
    for (const topic of ["t.to", "t.other"]) expect(await textsOf(bus, topic)).toEqual([TEXT]);
    for await (const copy of bus.read("t.to"))
      expect(copy).toMatchObject({ key: "k", tags: ["a"], payload: { n: 1, deep: { list: [1, 2] } } });
  });

  it("holds them against the schema of the topic that they go to", async () => {
    const bus = await bench().bus();
    await publishText(bus);
    const to = defineTopic("t.to", { schema: z.object({ n: z.string() }) });
    await expect(replay(bus, { from: "t.from", to })).rejects.toMatchObject({ code: "SCHEMA_VIOLATION" });
    const fitting = defineTopic("t.fitting", { schema: z.object({ n: z.number() }) });
    await replay(bus, { from: "t.from", to: fitting });
    expect(await textsOf(bus, "t.fitting")).toEqual(['{"n":1}']);
  });

  it("shows them to the layers of the bus, who may refuse or change them", async () => {
    const bus = await bench().bus();
    await publishText(bus);
    const layered = bus.with({
      publish: (request, next) => next({ ...request, payload: { was: request.payload } }),
    });
    const options = { from: "t.from", to: "t.to" };
    expect(await replay(layered, options)).toMatchObject({ events: 1, duplicates: 0 });
    expect(await replay(layered, options)).toMatchObject({ duplicates: 1 });
    expect(await textsOf(bus, "t.to")).toEqual(['{"was":{"n":1,"deep":{"list":[1,2]}}}']);
  });

  it("P3: has ids of its own for what a function makes of an event, whatever it says", async () => {
    const bus = await bench().bus();
    await publishText(bus);
    for (const duplicates of [0, 1])
      expect(
        await replay(bus, {
          from: "t.from",
          to: "t.to",
          map: ({ id, payload }) => ({ id, payload }) as object,
        }),
      ).toMatchObject({
        events: 1,
        duplicates,
      });
    expect(await textsOf(bus, "t.to")).toEqual(['{"n":1,"deep":{"list":[1,2]}}']);
  });

  it("P13: keeps no pages of the log for the few payloads in them that wait to be published", async () => {
    const bus = await bench().bus({ topics: [{ name: "t.from", partitions: 1 }] });
    for (let n = 0; n < 10; n++) await bus.publish("t.from", n);
    const read = bus.store.log.read.bind(bus.store.log);
    vi.spyOn(bus.store.log, "read").mockImplementation(async (topic, partition, o) => {
      const { events, through } = await read(topic, partition, o);
      const page = Buffer.from(JSON.stringify(events.map(({ seq }) => seq % 10)));
      const inPage = events.map(({ id, ts, key, meta, seq }, n) => {
        const body = JsonBody.ofSlice(page, 1 + 2 * n, 2 + 2 * n);
        return new StoredEvent(topic, partition, seq, { id, ts, key, meta, body });
      });
      return { events: inPage, through };
    });
    const publish = vi.spyOn(bus, "publishStored");
    await replay<number>(bus, { from: "t.from", to: "t.to", filter: ({ payload }) => payload % 5 === 0 });
    const [, items = []] = publish.mock.calls[0] ?? [];
    expect(items.map(({ body }) => [body.value, body.source?.length])).toEqual([
      [5, 1],
      [0, 1],
    ]);
  });

  it("P13: refuses what is nested deeper, or larger, than this bus takes", async () => {
    await publishText(await bench().bus());
    for (const [limits, code] of [
      [{ maxPayloadDepth: 2 }, "INVALID_PAYLOAD"],
      [{ maxPayloadBytes: 20 }, "PAYLOAD_TOO_LARGE"],
    ] as const) {
      const strict = await bench().bus({ limits });
      await expect(replay(strict, { from: "t.from", to: "t.to" })).rejects.toMatchObject({ code });
    }
  });
});
