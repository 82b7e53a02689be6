import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { as, type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { BusError } from "../../model/errors.js";
import { defineTopic } from "../../model/topic.js";

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
    const slow = await hubFixture({ limits: { publishesPerSecondPerTopic: 1 } });
    const send = (): Promise<Response> => slow.post("/publish", { topic: "orders", payload: 1 });
    expect([(await send()).status, (await send()).status]).toEqual([200, 200]);
    const refused = await send();
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await problem(refused)).toMatchObject({ status: 429, code: "RATE_LIMITED" });
    await slow.close();
  });

  it("503: the store is down, with Retry-After; nothing of it is told but that", async () => {
    const failing = await hubFixture();
    failing.bus.use({
      publish: async () => {
        throw new BusError("STORE_UNAVAILABLE", "the store does not answer");
      },
    });
    const refused = await failing.post("/publish", { topic: "orders", payload: 1 });
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await problem(refused)).toMatchObject({ status: 503, code: "STORE_UNAVAILABLE" });
    await failing.close();
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
