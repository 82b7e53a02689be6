/** POST /publish has two short ways and a long one: what is asked the same is answered the same. */
import { request } from "node:http";
import { SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { RawConnection, requestBytes } from "../../../test/support/raw-http.js";
import { ManualClock } from "../../model/manual-clock.js";
import { defineTopic } from "../../model/topic.js";

const Checked = defineTopic("checked", { schema: z.object({ n: z.number() }) });

/** A connection that asked for something else is read by node:http; a query sends a request the long way. */
const WAYS = [
  { path: "/publish", alone: true },
  { path: "/publish", alone: false },
  { path: "/publish?", alone: false },
] as const;
type Way = (typeof WAYS)[number];

interface Asked {
  readonly body: string | Uint8Array;
  readonly headers?: Record<string, string>;
}

describe("the short way of a publish", () => {
  let f: HubFixture;
  beforeEach(async () => {
    // No time passes that would allow more at the rate that is set here.
    const clock = new ManualClock();
    f = await hubFixture({
      bus: { clock, topics: [Checked], limits: { maxPayloadBytes: 5_000 } },
      tokens: { narrow: ["publish:orders"] },
      limits: { maxBodyBytes: 10_000, publishesPerSecondPerTopic: 1_000 },
    });
  });
  afterEach(() => f.close());

  const ask = async ({ path, alone }: Way, { body, headers }: Asked) => {
    const connection = await RawConnection.to(f.hub.url);
    if (!alone) {
      await connection.write(requestBytes("/healthz", [], "", "GET"));
      expect(await connection.next()).toMatchObject({ status: 200 });
    }
    const given = { authorization: "Bearer all", "content-type": "application/json", ...headers };
    await connection.write(requestBytes(path, Object.entries(given), body));
    const answered = await connection.next();
    connection.destroy();
    const { date: _, "content-length": length, ...told } = answered?.headers ?? {};
    expect(Number(length)).toBe(Buffer.byteLength(answered?.body ?? ""));
    // Made for each event: they differ.
    const answer: unknown = JSON.parse(answered?.body ?? "", (name, value: unknown) =>
      ["id", "ts", "seq"].includes(name) ? typeof value : value,
    );
    return { status: answered?.status, told, answer };
  };
  const text = (value: unknown): Asked => ({ body: JSON.stringify(value) });
  const deep = (levels: number): string =>
    `{"topic":"orders","payload":${"[".repeat(levels)}${"]".repeat(levels)}}`;

  it.each<[string, number, Asked]>([
    ["an event", 200, text({ topic: "orders", payload: { n: 1 }, key: "k", tags: ["t"], ts: 5 })],
    ["an event in lines", 200, { body: '{ "topic": "orders",\n "payload": { "n": 1 } }' }],
    ["several", 200, text([1, 2, 3].map((payload) => ({ topic: "orders", payload })))],
    ["none", 200, text([])],
    [
      "a charset",
      200,
      {
        body: '{"topic":"orders","payload":"ü"}',
        headers: { "content-type": "application/json; charset=UTF-8" },
      },
    ],
    ["a payload of a schema", 200, text({ topic: "checked", payload: { n: 1, more: true } })],
    ["a payload that does not fit", 422, text({ topic: "checked", payload: { n: "1" } })],
    ["a payload without a member that fits", 422, text({ topic: "checked", payload: {} })],
    ["a bad topic", 400, text({ topic: "No!", payload: 1 })],
    ["no topic", 400, text({ payload: 1 })],
    ["no payload", 400, text({ topic: "orders" })],
    ["an unknown field", 400, text({ topic: "orders", payload: 1, kye: 1 })],
    ["headers that are no strings", 400, text({ topic: "orders", payload: 1, headers: { a: 1 } })],
    ["a partition that is not there", 400, text({ topic: "orders", payload: 1, partition: 9 })],
    ["a number that JSON cannot keep", 400, { body: '{"topic":"orders","payload":[1e999]}' }],
    ["the nesting that is allowed", 200, { body: deep(64) }],
    ["nesting beyond it", 400, { body: deep(65) }],
    ["a payload that is too large", 413, text({ topic: "orders", payload: "x".repeat(5_000) })],
    ["a body that is too large", 413, text({ topic: "orders", payload: "x".repeat(20_000) })],
    ["a string", 400, text("hello")],
    ["null", 400, text(null)],
    ["what is not JSON", 400, { body: "{oops" }],
    ["nothing", 400, { body: "" }],
    ["what is not UTF-8", 400, { body: new Uint8Array([0x22, 0xff, 0x22]) }],
    ["no token", 401, { ...text({ topic: "orders", payload: 1 }), headers: { authorization: "" } }],
    ["a wrong token", 401, { body: "{oops", headers: { authorization: "Bearer wrong" } }],
    [
      "a right that is missing",
      403,
      { ...text({ topic: "other", payload: 1 }), headers: { authorization: "Bearer narrow" } },
    ],
    [
      "a key for several",
      400,
      { ...text([{ topic: "orders", payload: 1 }]), headers: { "idempotency-key": "a" } },
    ],
    [
      "a key beside another id",
      400,
      { ...text({ topic: "orders", payload: 1, id: "b" }), headers: { "idempotency-key": "a" } },
    ],
    [
      "a key that is too long",
      400,
      { ...text({ topic: "orders", payload: 1 }), headers: { "idempotency-key": "a".repeat(300) } },
    ],
    ["an encoded body", 415, { body: "x", headers: { "content-encoding": "gzip" } }],
    ["text", 415, { body: "x", headers: { "content-type": "text/plain" } }],
  ])("answers as the long one: %s", async (_, status, asked) => {
    const [shortest, short, long] = [
      await ask(WAYS[0], asked),
      await ask(WAYS[1], asked),
      await ask(WAYS[2], asked),
    ];
    expect(short).toEqual(long);
    expect(shortest).toEqual(long);
    expect(long.status).toBe(status);
  });

  it.each([
    '{"a":[1,2.50,-3e2,true,null,"\\u00fc\\n"],"ü":{}}',
    '{"a":1,"a":2}',
    '{ "a" : -0 }',
    '"\\ud83d\\ude00 and \\\\ and \\""',
    '{"__proto__":{"x":1},"toJSON":1}',
    "null",
  ])("keeps the same payload: %s", async (payload) => {
    const kept: unknown[] = [];
    for (const way of WAYS) await ask(way, { body: `{"topic":"orders","payload":${payload}}` });
    for await (const event of f.bus.read("orders")) kept.push(event.payload);
    expect(kept[0]).toEqual(JSON.parse(payload, (_, value) => (Object.is(value, -0) ? 0 : value)));
    expect(kept).toEqual([kept[0], kept[0], kept[0]]);
  });

  it("P3: each finds what the others published under the same key, and a conflict", async () => {
    const once = { headers: { "idempotency-key": "once" } };
    const first = await ask(WAYS[0], { body: '{"topic":"orders","payload":{"a":1.0,"b":2}}', ...once });
    expect(first.answer).not.toHaveProperty("duplicate");
    for (const way of WAYS) {
      const again = await ask(way, { body: '{"topic":"orders","payload":{"b":2,"a":1}}', ...once });
      expect(again.answer).toMatchObject({ duplicate: true });
      const other = await ask(way, { body: '{"topic":"orders","payload":{"b":2}}', ...once });
      expect([other.status, other.answer]).toMatchObject([409, { code: "ID_CONFLICT" }]);
    }
  });

  it("counts against the same rate as the long one", async () => {
    // A burst is two seconds' worth.
    const some = text(Array.from({ length: 200 }, () => ({ topic: "orders", payload: 1 })));
    const statuses = new Set<number>();
    for (let i = 0; i < 30; i++) statuses.add((await ask(WAYS[i % 3] as Way, some)).status ?? 0);
    expect([...statuses].sort()).toEqual([200, 429]);
  });

  it("takes a body in pieces, and none that ends early", async () => {
    const body = '{"topic":"orders","payload":"in pieces"}';
    const send = (through: (asked: ReturnType<typeof request>) => void): Promise<number | string> =>
      new Promise((resolve) => {
        const headers = {
          authorization: "Bearer all",
          "content-type": "application/json",
          "content-length": body.length,
        };
        const asked = request(`${f.hub.url}/publish`, { method: "POST", headers }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        asked.on("error", ({ message }) => resolve(message));
        through(asked);
      });
    const whole = await send((asked) => {
      asked.write(body.slice(0, 10));
      asked.end(body.slice(10));
    });
    expect(whole).toBe(200);
    const cut = await send((asked) => asked.write(body.slice(0, 10), () => asked.destroy()));
    expect(cut).toBe("socket hang up");
    const kept: unknown[] = [];
    for await (const { payload } of f.bus.read("orders")) kept.push(payload);
    expect(kept).toEqual(["in pieces"]);
  });
});

describe("a token that was good a moment ago", () => {
  const secret = "a secret that is long enough for HS256!!";
  const token = (exp: number): Promise<string> =>
    new SignJWT({ sub: "ada", scopes: ["publish:**"] })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime(exp)
      .sign(new TextEncoder().encode(secret));

  afterEach(() => vi.useRealTimers());

  it("is refused once it has run out", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const f = await hubFixture({ auth: { jwt: { secret } } });
    // Good for the tolerance between clocks only.
    const late = await token(Math.floor(Date.now() / 1_000) - 3);
    const post = async (bearer: string): Promise<number> => {
      const headers = { authorization: `Bearer ${bearer}` };
      return (await f.post("/publish", { topic: "orders", payload: 1 }, { headers })).status;
    };
    expect(await post(late)).toBe(200);
    vi.setSystemTime(Date.now() + 2_000);
    expect(await post(late)).toBe(401);
    const good = await token(Math.floor(Date.now() / 1_000) + 60);
    expect([await post(good), await post(good)]).toEqual([200, 200]);
    await f.close();
  });
});
