import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { as, type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { ManualClock } from "../../model/manual-clock.js";
import { defineTopic } from "../../model/topic.js";
import { startChangelogProjector } from "../../project/views/changelog.js";
import { memoryStore } from "../../stores/memory/index.js";
import { type FaultPlan, faultyStore } from "../../testing/faulty-store/index.js";

const Checked = defineTopic("checked", { schema: z.object({ n: z.number() }) });

describe("bad input over HTTP", () => {
  let f: HubFixture;
  beforeEach(async () => {
    f = await hubFixture({
      bus: { topics: [Checked] },
      tokens: { narrow: ["publish:orders", "read:orders"] },
      limits: { maxBodyBytes: 10_000 },
    });
  });
  afterEach(() => f.close());

  const problem = async (response: Response): Promise<Record<string, unknown>> => {
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const body = (await response.json()) as Record<string, unknown>;
    expect(body.status).toBe(response.status);
    expect(JSON.stringify(body)).not.toMatch(/\.ts:\d|at async/);
    return body;
  };

  it.each([
    ["a bad topic", { topic: "No Such!", payload: 1 }, "INVALID_TOPIC"],
    ["a topic that is no string", { topic: 7, payload: 1 }, "INVALID_TOPIC"],
    ["no payload", { topic: "orders" }, "BAD_REQUEST"],
    ["an unknown field", { topic: "orders", payload: 1, kye: "k" }, "INVALID_OPTION"],
    ["a number for a key", { topic: "orders", payload: 1, key: 7 }, "INVALID_OPTION"],
    ["headers that are no strings", { topic: "orders", payload: 1, headers: { a: 1 } }, "INVALID_OPTION"],
    ["a partition that is not there", { topic: "orders", payload: 1, partition: 999 }, "INVALID_OPTION"],
    ["a string", "hello", "BAD_REQUEST"],
    ["null", null, "BAD_REQUEST"],
    ["an array of numbers", [1], "BAD_REQUEST"],
  ])("400: %s", async (_, body, code) => {
    const response = await f.post("/publish", body);
    expect([response.status, (await problem(response)).code]).toEqual([400, code]);
  });

  it("400: what is not JSON, or not UTF-8", async () => {
    const headers = { "content-type": "application/json" };
    for (const body of ["{oops", "", new Uint8Array([0x22, 0xff, 0x22])]) {
      const response = await f.get("/publish", { method: "POST", body, headers });
      expect([response.status, (await problem(response)).code]).toEqual([400, "BAD_REQUEST"]);
    }
  });

  it("401: one message for every fault of a token", async () => {
    const answers = await Promise.all(
      ["", "Bearer wrong", "Basic abc", "Bearer "].map((authorization) =>
        f.get("/metrics", { headers: { authorization } }),
      ),
    );
    const bodies = await Promise.all(answers.map((response) => response.text()));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    expect(new Set(bodies).size).toBe(1);
    expect(answers[0]?.headers.get("www-authenticate")).toBe("Bearer");
  });

  it("404 and 405: nothing there, or not by this method", async () => {
    expect(await problem(await f.get("/nowhere"))).toMatchObject({ status: 404, code: "NOT_FOUND" });
    const wrong = await f.get("/publish");
    expect(wrong.headers.get("allow")).toBe("POST");
    expect(await problem(wrong)).toMatchObject({ status: 405, code: "METHOD_NOT_ALLOWED" });
  });

  it("409: an id that says something else already", async () => {
    await f.post("/publish", { topic: "orders", payload: 1, id: "a" });
    const response = await f.post("/publish", { topic: "orders", payload: 2, id: "a" });
    expect(await problem(response)).toMatchObject({ status: 409, code: "ID_CONFLICT" });
  });

  it("P13: 413: a body that is too large, announced or not; the connection lives on", async () => {
    const event = { topic: "orders", payload: "x".repeat(200_000) };
    expect(await problem(await f.post("/publish", event))).toMatchObject({
      status: 413,
      code: "BODY_TOO_LARGE",
    });
    const pieces = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let i = 0; i < 40; i++) controller.enqueue(Buffer.alloc(1_000, 0x20));
        controller.close();
      },
    });
    const streamed = await f.get("/publish", {
      method: "POST",
      body: pieces,
      duplex: "half",
      headers: { "content-type": "application/json" },
    } as RequestInit);
    expect(await problem(streamed)).toMatchObject({ status: 413 });
    expect((await f.post("/publish", { topic: "orders", payload: 1 })).status).toBe(200);
  });

  it("415: a type or an encoding that it does not take", async () => {
    const post = (headers: Record<string, string>): Promise<Response> =>
      f.get("/publish", { method: "POST", body: "{}", headers });
    expect(await problem(await post({ "content-type": "text/xml" }))).toMatchObject({ status: 415 });
    const zipped = await post({ "content-type": "application/json", "content-encoding": "gzip" });
    expect(await problem(zipped)).toMatchObject({ status: 415 });
  });

  it("422: a payload that does not fit its schema, with the paths", async () => {
    const response = await f.post("/publish", { topic: "checked", payload: { n: "x" } });
    expect(await problem(response)).toMatchObject({
      status: 422,
      code: "SCHEMA_VIOLATION",
      issues: [{ path: "payload.n" }],
    });
  });

  it("429: faster than allowed, with Retry-After", async () => {
    const clock = new ManualClock();
    const slow = await hubFixture({ bus: { clock }, limits: { publishesPerSecondPerTopic: 1 } });
    const send = (): Promise<Response> => slow.post("/publish", { topic: "orders", payload: 1 });
    expect([(await send()).status, (await send()).status]).toEqual([200, 200]);
    const refused = await send();
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await problem(refused)).toMatchObject({ status: 429, code: "RATE_LIMITED" });
    await slow.close();
  });

  it("503: the store is down, with Retry-After; nothing of it is told but that, and nothing was published", async () => {
    const plan: FaultPlan = {
      call: ({ name }) =>
        name === "log.append" || down.has(name) ? { type: "error-before", code: "STORE_UNAVAILABLE" } : null,
    };
    const down = new Set<string>();
    const store = faultyStore(memoryStore(), plan);
    const failing = await hubFixture({ bus: { store, publishTimeoutMs: 50, onTrouble: () => undefined } });
    const refused = await failing.post("/publish", { topic: "orders", payload: 1 });
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await problem(refused)).toMatchObject({ status: 503, code: "STORE_UNAVAILABLE" });
    const many = await failing.post("/publish", [
      { topic: "orders", payload: 1 },
      { topic: "orders", payload: 2 },
    ]);
    expect(await problem(many)).toMatchObject({ status: 503, failed: [{ index: 0 }, { index: 1 }] });
    expect((await failing.get("/readyz")).status).toBe(200);
    down.add("registry.topics");
    expect((await failing.get("/readyz")).status).toBe(503);
    expect((await failing.get("/healthz")).status).toBe(200);
    down.clear();
    expect((await failing.bus.store.log.heads("orders"))[0]?.head).toBe(0);
    await failing.close();
  });

  it("507: the store is full; what is there can be read, and what was refused can be sent again", async () => {
    const full = await hubFixture({
      bus: { store: memoryStore({ maxEvents: 2 }), publishTimeoutMs: 100, onTrouble: () => undefined },
    });
    for (const n of [1, 2]) await full.post("/publish", { topic: "orders", payload: n });
    const refused = await full.post("/publish", { topic: "orders", payload: 3, id: "third" });
    expect(await problem(refused)).toMatchObject({ status: 507, code: "STORE_FULL" });
    expect((await (await full.get("/export?topic=orders")).text()).trim().split("\n")).toHaveLength(2);
    await full.bus.store.log.trim("orders", 0, 1);
    expect((await full.post("/publish", { topic: "orders", payload: 3, id: "third" })).status).toBe(200);
    await full.close();
  });

  it("P13: 413: a line that is too long, with its number; the lines before it are in", async () => {
    const small = await hubFixture({ limits: { maxLineBytes: 1_000 } });
    const line = (payload: unknown): string => `${JSON.stringify({ topic: "orders", payload })}\n`;
    const body = `${line(1)}${line(2)}\n${line("x".repeat(2_000))}${line(3)}`;
    const headers = { "content-type": "application/x-ndjson" };
    const response = await small.get("/publish", { method: "POST", body, headers });
    expect(await problem(response)).toMatchObject({ status: 413, line: 4, published: 2 });
    expect((await small.bus.store.log.heads("orders"))[0]?.head).toBe(2);
    await small.close();
  });

  it("P13: 413: a payload that is too large for the store", async () => {
    const small = await hubFixture({ bus: { limits: { maxPayloadBytes: 500 } } });
    const response = await small.post("/publish", { topic: "orders", payload: "x".repeat(600) });
    expect(await problem(response)).toMatchObject({ status: 413, code: "PAYLOAD_TOO_LARGE" });
    await small.close();
  });

  it("P13: 431 and 400: headers and request lines that no server takes", async () => {
    const long = await f.get("/topics", { headers: { "x-long": "y".repeat(20_000) } });
    expect(long.status).toBe(431);
    expect((await f.get(`/topics/orders/events?text=${"z".repeat(2_000)}`)).status).toBe(400);
    expect((await f.post("/publish", { topic: "orders", payload: 1 })).status).toBe(200);
  });

  it.each([
    ["a filter that is none", "/snap/orders?colour=red"],
    ["a filter twice", "/snap/orders?where.a=1&where.a=2"],
    ["an operator that is none", "/snap/orders?where.a[like]=x"],
    ["a place that is none", "/events?topic=orders&from=sometime"],
    ["a parameter that is none", "/lag?tpoic=orders"],
    ["a number that is none", "/audit?limit=many"],
    ["a bad topic", "/topics/Not%20One"],
    ["a time that is none", "/export?topic=orders&until=soon"],
  ])("400: %s in a query", async (_, path) => {
    await f.bus.publish("orders", { a: 1 }, { key: "k" });
    await startChangelogProjector(f.bus, { topic: "orders", view: "orders" });
    await expect.poll(async () => (await f.get("/snap/orders/k")).status).toBe(200);
    const body = await problem(await f.get(path));
    expect([path, body.status]).toEqual([path, 400]);
    expect(String(body.detail).length).toBeGreaterThan(5);
  });

  it("500: an error nobody foresaw says nothing of its insides", async () => {
    const failing = await hubFixture();
    failing.bus.use({
      publish: async () => {
        throw new TypeError("secret in line 7");
      },
    });
    const refused = await problem(await failing.post("/publish", { topic: "orders", payload: 1 }));
    expect(refused).toMatchObject({ status: 500, code: "INTERNAL" });
    expect(JSON.stringify(refused)).not.toContain("secret");
    await failing.close();
  });

  it("500: of many, few are written into the log, with how many were left out", async () => {
    const lines: Record<string, unknown>[] = [];
    const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
    const clock = new ManualClock();
    const failing = await hubFixture({ bus: { clock }, log });
    failing.bus.use({
      publish: async () => {
        throw new TypeError("broken");
      },
    });
    const fail = (): Promise<Response> => failing.post("/publish", { topic: "orders", payload: 1 });
    const refused = await Promise.all(Array.from({ length: 100 }, fail));
    expect(refused.every(({ status }) => status === 500)).toBe(true);
    await clock.advance(1_000);
    await fail();
    const told = lines.map(({ msg, path, leftOut }) => ({ msg, path, leftOut }));
    const said = { msg: "request failed", path: "/publish" };
    expect(told).toEqual([
      { ...said, leftOut: undefined },
      { ...said, leftOut: 99 },
    ]);
    await failing.close();
  });

  it("403: publishing where one may not, in the same words whether the topic exists or not", async () => {
    const send = async (topic: string): Promise<string> => {
      const init = { headers: { ...as("narrow").headers } };
      const response = await f.post("/publish", { topic, payload: { n: 1 } }, init);
      expect(response.status).toBe(403);
      return (await response.text()).replaceAll(topic, "TOPIC");
    };
    expect(await send("checked")).toBe(await send("nowhere"));
  });
});
