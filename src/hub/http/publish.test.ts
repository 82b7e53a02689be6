import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { derivedId } from "../../model/derived-id.js";
import { ManualClock } from "../../model/manual-clock.js";
import { defineTopic } from "../../model/topic.js";

const WHOLE = { specversion: "1.0", source: "/s", type: "orders.placed", data: 1 };
const Orders = defineTopic("orders.checked", { schema: z.object({ n: z.number() }) });

describe("POST /publish", () => {
  let f: HubFixture;
  beforeEach(async () => {
    f = await hubFixture({
      bus: { topics: [Orders] },
      tokens: { writer: ["publish:orders.*"] },
      limits: { maxLineBytes: 2_000 },
    });
  });
  afterEach(() => f.close());

  const events = async (topic: string): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const { payload } of f.bus.read(topic)) found.push(payload);
    return found;
  };
  const send = (body: string, headers: Record<string, string>, path = "/publish"): Promise<Response> =>
    f.get(path, { method: "POST", body, headers });

  it("P1: answers with the event's place once it is in the log", async () => {
    const response = await f.post("/publish", {
      topic: "orders.placed",
      payload: { n: 1, "a.b": 2, $where: 3 },
      key: "k",
      tags: ["t"],
      ts: 5,
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      id: expect.any(String),
      topic: "orders.placed",
      partition: expect.any(Number),
      seq: 1,
      ts: 5,
    });
    expect(await events("orders.placed")).toEqual([{ n: 1, "a.b": 2, $where: 3 }]);
  });

  it("keeps __proto__ in a payload as data", async () => {
    await send('{"topic":"orders.placed","payload":{"__proto__":{"x":1}}}', {
      "content-type": "application/json",
    });
    expect(JSON.stringify(await events("orders.placed"))).toBe('[{"__proto__":{"x":1}}]');
  });

  it("P3: an Idempotency-Key is the event's id; twice the same is one event, another payload a conflict", async () => {
    const headers = { "idempotency-key": "once" };
    const event = { topic: "orders.placed", payload: 1 };
    expect(await (await f.post("/publish", event, { headers })).json()).toMatchObject({ id: "once" });
    expect(await (await f.post("/publish", event, { headers })).json()).toMatchObject({ duplicate: true });
    const other = await f.post("/publish", { ...event, payload: 2 }, { headers });
    expect(other.status).toBe(409);
    expect(await other.json()).toMatchObject({ code: "ID_CONFLICT" });
    expect((await f.post("/publish", { ...event, id: "else" }, { headers })).status).toBe(400);
    expect((await f.post("/publish", [event], { headers })).status).toBe(400);
  });

  it("carries the request's trace into the event", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const headers = { traceparent };
    const { id } = (await (
      await f.post("/publish", { topic: "orders.placed", payload: 1 }, { headers })
    ).json()) as {
      id: string;
    };
    expect((await f.bus.store.log.find(id))?.record.headers).toEqual({ traceparent });
  });

  it("P4: an array keeps its order, over several topics", async () => {
    const items = Array.from({ length: 20 }, (_, n) => ({
      topic: n % 2 ? "orders.odd" : "orders.even",
      payload: n,
      key: "k",
    }));
    const answer = (await (await f.post("/publish", items)).json()) as { topic: string; seq: number }[];
    expect(answer.map(({ topic }) => topic)).toEqual(items.map(({ topic }) => topic));
    expect(answer.map(({ seq }) => seq)).toEqual(items.map((_, n) => Math.floor(n / 2) + 1));
  });

  it("says which events of an array were not published", async () => {
    await f.post("/publish", { topic: "orders.placed", payload: 0, id: "taken" });
    const conflict = await f.post("/publish", [
      { topic: "orders.placed", payload: 1 },
      { topic: "orders.placed", payload: 2, id: "taken" },
    ]);
    expect(conflict.status).toBe(409);
    expect(await conflict.json()).toMatchObject({ failed: [{ index: 1, code: "ID_CONFLICT" }] });
    expect(await events("orders.placed")).toEqual([0, 1]);
    const invalid = await f.post("/publish", [
      { topic: "orders.checked", payload: { n: 1 } },
      { topic: "orders.checked", payload: { n: "two" } },
      { topic: "orders.checked", payload: { n: 3 } },
    ]);
    expect(invalid.status).toBe(422);
    expect(await invalid.json()).toMatchObject({
      code: "SCHEMA_VIOLATION",
      issues: [{ path: "payload.n" }],
      failed: [
        { index: 1, code: "SCHEMA_VIOLATION" },
        { index: 2, code: "ABORTED" },
      ],
    });
    expect(await events("orders.checked")).toEqual([{ n: 1 }]);
  });

  it("publishes nothing of an array that holds a topic the caller may not publish to", async () => {
    const items = [
      { topic: "orders.placed", payload: 1 },
      { topic: "secret", payload: 2 },
    ];
    const refused = await f.post("/publish", items, { headers: { authorization: "Bearer writer" } });
    expect(refused.status).toBe(403);
    expect(await f.bus.store.registry.topic("orders.placed")).toBeNull();
  });

  it("P13: reads a stream of lines no faster than its topic takes events, and all of it", async () => {
    const clock = new ManualClock();
    const slow = await hubFixture({ bus: { clock }, limits: { publishesPerSecondPerTopic: 100 } });
    const body = Array.from({ length: 2_000 }, (_, n) => `${n}`).map((n) => `{"payload":${n}}\n`);
    const answer = slow.get("/publish?topic=orders", {
      method: "POST",
      body: body.join(""),
      headers: { "content-type": "application/x-ndjson" },
    });
    let isOver = false;
    void answer.then(() => {
      isOver = true;
    });
    const published = async (): Promise<number> => (await slow.bus.store.log.heads("orders"))[0]?.head ?? 0;
    await expect.poll(published).toBeGreaterThan(0);
    expect(await published()).toBeLessThan(2_000);
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return isOver;
      })
      .toBe(true);
    expect(await (await answer).json()).toEqual({ published: 2_000, duplicates: 0 });
    await slow.close();
  });

  it("takes a stream of lines, and names the line that is wrong", async () => {
    const ndjson = { "content-type": "application/x-ndjson" };
    const line = (n: number): string => `${JSON.stringify({ payload: n, id: `l${n}` })}\n`;
    const many = Array.from({ length: 1_500 }, (_, n) => line(n)).join("");
    const answer = await send(many + line(3), ndjson, "/publish?topic=orders.placed");
    expect(await answer.json()).toEqual({ published: 1_500, duplicates: 1 });
    const broken = await send(`${line(2_000)}\n{oops\n`, ndjson, "/publish?topic=orders.placed");
    expect(broken.status).toBe(400);
    expect(await broken.json()).toMatchObject({ line: 3, published: 1, code: "INVALID_PAYLOAD" });
    const long = await send(`{"payload":"${"x".repeat(3_000)}"}\n`, ndjson, "/publish?topic=orders.placed");
    expect(long.status).toBe(413);
    expect(await long.json()).toMatchObject({ line: 1 });
    const secret = await send('{"topic":"orders.x","payload":1}\n{"topic":"secret","payload":1}\n', {
      ...ndjson,
      authorization: "Bearer writer",
    });
    expect(secret.status).toBe(403);
    expect(await secret.json()).toMatchObject({ code: "FORBIDDEN", line: 2 });
  });

  it("P3: takes CloudEvents in all three modes, with one identity by source and id", async () => {
    const event = {
      specversion: "1.0",
      id: "7",
      source: "/shop/ü",
      type: "orders.placed",
      subject: "customer-1",
      time: "2024-05-01T12:00:00Z",
      data: { n: 1 },
    };
    const id = derivedId("cloudevents", "/shop/ü", "7");
    const { data, ...attributes } = event;
    const structured = await send(JSON.stringify(event), { "content-type": "application/cloudevents+json" });
    expect(await structured.json()).toMatchObject({ id, topic: "orders.placed", ts: Date.parse(event.time) });
    const binary = await send(JSON.stringify(data), {
      "content-type": "application/json",
      ...Object.fromEntries(
        Object.entries(attributes).map(([name, value]) => [`ce-${name}`, encodeURIComponent(value)]),
      ),
    });
    expect(await binary.json()).toMatchObject({ id, duplicate: true });
    const batch = await send(JSON.stringify([event, { ...event, id: "8" }]), {
      "content-type": "application/cloudevents-batch+json",
    });
    expect(await batch.json()).toMatchObject([{ id, duplicate: true }, { seq: 2 }]);
    expect((await f.bus.store.log.find(id))?.record).toMatchObject({
      key: "customer-1",
      payload: { n: 1 },
      headers: { "ce-source": "/shop/ü", "ce-id": "7", "ce-type": "orders.placed" },
    });
    const nameless = await send(JSON.stringify({ ...event, id: "" }), {
      "content-type": "application/cloudevents+json",
    });
    expect(nameless.status).toBe(400);
    const elsewhere = await send(
      "plain",
      {
        "content-type": "text/plain",
        "ce-specversion": "1.0",
        "ce-id": "1",
        "ce-source": "s",
        "ce-type": "Some.Type",
      },
      "/publish?topic=orders.text",
    );
    expect(await elsewhere.json()).toMatchObject({ topic: "orders.text" });
    expect(await events("orders.text")).toEqual(["plain"]);
  });

  it("P3: takes a whole CloudEvent as one, also if its attributes are repeated as headers", async () => {
    const event = { specversion: "1.0", id: "7", source: "/s", type: "orders.placed", data: { n: 1 } };
    const repeated = { "ce-specversion": "1.0", "ce-id": "7", "ce-source": "/s", "ce-type": "orders.placed" };
    const structured = { ...repeated, "content-type": "application/cloudevents+json; charset=utf-8" };
    expect((await send(JSON.stringify(event), structured)).status).toBe(200);
    const batch = { ...repeated, "content-type": "application/cloudevents-batch+json" };
    expect(await (await send(JSON.stringify([event]), batch)).json()).toMatchObject([{ duplicate: true }]);
    expect(await events("orders.placed")).toEqual([{ n: 1 }]);
  });

  it("takes the topic of events that name none from its parameter, as that of lines", async () => {
    const json = { "content-type": "application/json" };
    const to = "/publish?topic=orders.placed";
    expect(await (await send('{"payload":1}', json, to)).json()).toMatchObject({ topic: "orders.placed" });
    const both = await send('[{"payload":2},{"topic":"orders.other","payload":3}]', json, to);
    expect(await both.json()).toMatchObject([{ topic: "orders.placed" }, { topic: "orders.other" }]);
    expect(await (await send('{"payload":1}', json)).json()).toMatchObject({
      code: "BAD_REQUEST",
      detail: "an event needs a topic",
    });
  });

  it.each([
    ["application/json", [{ topic: "orders.placed", payload: 1 }, null], "BAD_REQUEST"],
    [
      "application/json",
      [
        { topic: "orders.placed", payload: 1 },
        { topic: "no name", payload: 1 },
      ],
      "INVALID_TOPIC",
    ],
    [
      "application/cloudevents-batch+json",
      [
        { ...WHOLE, id: "1" },
        { ...WHOLE, id: 2 },
      ],
      "BAD_REQUEST",
    ],
  ])("says which of several is wrong, in %s: %j", async (type, all, code) => {
    const refused = await send(JSON.stringify(all), { "content-type": type });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      code,
      index: 1,
      detail: expect.stringMatching(/^event 1: /) as string,
    });
    expect(await f.bus.store.registry.topic("orders.placed")).toBeNull();
  });

  it("P3: an attribute in quotes is the same without them, so that an event has one identity in all modes", async () => {
    const event = { ...WHOLE, id: 'a "b" €' };
    await send(JSON.stringify(event), { "content-type": "application/cloudevents+json" });
    const quoted = {
      "content-type": "application/json",
      "ce-specversion": '"1.0"',
      "ce-id": '"a \\"b\\" %E2%82%AC"',
      "ce-source": "/s",
      "ce-type": "orders.placed",
    };
    expect(await (await send("1", quoted)).json()).toMatchObject({ duplicate: true });
  });

  it("refuses a whole CloudEvent in a format that it does not know, whatever its headers say", async () => {
    const repeated = { "ce-specversion": "1.0", "ce-id": "7", "ce-source": "/s", "ce-type": "orders.placed" };
    const xml = await send("<event/>", { ...repeated, "content-type": "application/cloudevents+xml" });
    expect(xml.status).toBe(415);
    expect(await xml.json()).toMatchObject({ code: "UNSUPPORTED_MEDIA_TYPE" });
  });

  it.each([
    [{ time: "7" }, "RFC 3339"],
    [{ time: "2026-01-01" }, "RFC 3339"],
    [{ time: "2026-01-01T10:00:00" }, "RFC 3339"],
    [{ time: "Jan 1, 2026 10:00 GMT" }, "RFC 3339"],
    [{ data: undefined, data_base64: "%%%%" }, "base64"],
    [{ data: undefined, data_base64: "AAE" }, "base64"],
  ])("refuses a CloudEvent with %j", async (part, words) => {
    const event = { ...WHOLE, id: "7", ...part };
    const refused = await send(JSON.stringify(event), { "content-type": "application/cloudevents+json" });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ detail: expect.stringContaining(words) as string });
  });

  it.each(["2026-01-01T10:00:00.123456+02:00", "2026-01-01t08:00:00.123z"])(
    "takes %s as a time",
    async (time) => {
      const event = { ...WHOLE, id: "7", time };
      const taken = await send(JSON.stringify(event), { "content-type": "application/cloudevents+json" });
      expect(await taken.json()).toMatchObject({ ts: Date.UTC(2026, 0, 1, 8, 0, 0, 123) });
    },
  );

  it("refuses what it would have to pass over: other parameters, one id for many lines", async () => {
    const json = { "content-type": "application/json" };
    const body = JSON.stringify({ topic: "orders.placed", payload: 1 });
    const misspelt = await send(body, json, "/publish?topci=orders.other");
    expect(misspelt.status).toBe(400);
    expect(await misspelt.json()).toMatchObject({ code: "BAD_REQUEST" });
    const lines = { "content-type": "application/x-ndjson", "idempotency-key": "one" };
    expect((await send(`${body}\n${body}\n`, lines)).status).toBe(400);
    expect(await f.bus.store.registry.topic("orders.placed")).toBeNull();
  });
});
