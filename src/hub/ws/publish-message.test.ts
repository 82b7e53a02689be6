import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { PromClient } from "../../client/index.js";
import { defineTopic } from "../../model/topic.js";
import { publishOptions } from "./publish-frame.js";
import { readPublishes } from "./publish-message.js";

const read = (text: string) => readPublishes(Buffer.from(text));
const frame = (payload: string, more = ""): string =>
  `{"type":"PUBLISH","corr":1,"topic":"t"${more},"payload":${payload}}`;

describe("a message of publishes", () => {
  it("is read with the payloads left in their texts", () => {
    const publish = { type: "PUBLISH", corr: 1, topic: "t", payload: undefined };
    expect(read(frame('{"a":[1]}'))).toEqual({
      isArray: false,
      all: [{ frame: publish, options: {}, text: '{"a":[1]}' }],
    });
    expect(read(`[${frame("1")},${frame('"ü"', ',"key":"€"')}]`)).toEqual({
      isArray: true,
      all: [
        { frame: publish, options: {}, text: "1" },
        { frame: { ...publish, key: "€" }, options: { key: "€" }, text: '"ü"' },
      ],
    });
  });

  it("is not misled by what looks like a payload", () => {
    const headers = ',"headers":{"a":"1","payload":"x"}';
    expect(read(frame("1", headers))).toBeNull();
    expect(read(frame("1", ',"key":",\\"payload\\":2}"'))?.all[0]).toMatchObject({
      frame: { key: ',"payload":2}' },
      text: "1",
    });
    expect(read(frame("1", ',"payload":2'))).toBeNull();
    expect(read(frame('{"a":1,"payload":2}'))?.all[0]?.text).toBe('{"a":1,"payload":2}');
  });

  it.each([
    ...['"corr":01', '"corr":-1', '"corr":', '"corr":1.5', '"corr":1e3', `"corr":${"9".repeat(16)}`],
    ...['"id":"a","id":"b"', '"topic":"a","topic":"b"', '"key":"a","corr":2,"key":"b"', '"corr":1,"corr":2'],
    ...[
      '"__proto__":"x"',
      '"id":"a\\u0062"',
      '"id":"a\nb"',
      '"id":"a',
      '"id":"a",',
      '"id":"a""key":"b"',
      '"ids":"a"',
    ],
    ...[
      "",
      ',"key":"k"',
      ',"key":""',
      ',"key":"€"',
      ',"key":"a\\nb"',
      ',"key":"a',
      ',"key":7',
      ',"kez":"k"',
    ].map((more) => `"corr":12,"id":"a-b","topic":"t.a"${more}`),
    ...['"corr":012,"id":"a","topic":"t"', '"corr":1,"id":"ü","topic":"t"', '"corr":1,"id":"a","topic":"ü"'],
    ...[
      '"corr":1,"id":"a\tb","topic":"t"',
      '"corr":1,"id":"a","topic":"t\\""',
      '"corr":1,"id":"a","topic":7',
    ],
    ...['"corr":1,"id":"a","topic":"t","id":"b"', '"corr":1,"id":"a","topic":"t","key":"k","key":"l"'],
  ])("has a head that says what JSON.parse says of it, or is no JSON: %s", (members) => {
    const text = `{"type":"PUBLISH",${members},"payload":1}`;
    const parsed = ((): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        return null;
      }
    })();
    const found = read(text)?.all[0];
    if (parsed === null) expect(found).toBeUndefined();
    else expect({ ...found?.frame, payload: 1 }).toEqual(parsed);
  });

  it.each([
    ...["", "[]", "[", "{}", "7", '{"type":"PUBLISH"}', '{"type":"PUBLISH","topic":"t"}', `[${frame("1")}`],
    ...[`[${frame("1")},]`, `[${frame("1")}]]`, `${frame("1")},${frame("2")}`, `[${frame("1")} ]`],
    ...[`[{"type":"PING"},${frame("1")}]`, `[${frame("1")},{"type":"PING"}]`, `[${frame("1")},7]`],
    ...[
      '{"type":"PUBLISH","topic":"t","payload":1,"key":"k"}',
      '{"type":"PUBLISH","x","payload":1}',
      '{"type":"PUBLISH","topic":"t","group":"g","id":"a","type":"ACK","payload":1}',
      frame("1 "),
    ],
  ])("is left to be parsed if it is anything else: %s", (text) => {
    expect(read(text)).toBeNull();
  });

  it("P1: says what JSON.parse says of it, whatever it holds", () => {
    const one = fc.record(
      {
        corr: fc.oneof(fc.nat(), fc.maxSafeInteger(), fc.double({ noNaN: true }), fc.string()),
        id: fc.oneof({ weight: 4, arbitrary: fc.uuid() }, fc.string(), fc.nat()),
        topic: fc.oneof(fc.constantFrom("t.a", "t.b", "t.ab"), fc.string()),
        key: fc.oneof(fc.constant("k"), fc.string({ unit: "binary" }), fc.constant(null)),
        partition: fc.nat(),
        headers: fc.dictionary(fc.constantFrom("a", "payload", '"payload":'), fc.string()),
        payload: fc.jsonValue({ maxDepth: 5 }),
      },
      { requiredKeys: ["payload"] },
    );
    const written = fc
      .array(one, { minLength: 1, maxLength: 5 })
      .map((all) => all.map(({ payload, ...rest }) => ({ type: "PUBLISH", ...rest, payload })));
    fc.assert(
      fc.property(written, (frames) => {
        const found = read(JSON.stringify(frames));
        if (found === null) return;
        const told = found.all.map(({ frame, text }) => ({ ...frame, payload: JSON.parse(text) as unknown }));
        expect(told).toEqual(JSON.parse(JSON.stringify(frames)));
        for (const { frame, options } of found.all) expect(options).toEqual(publishOptions(frame));
      }),
      { numRuns: 500 },
    );
  });
});

describe("a payload that was left in its text", () => {
  let f: HubFixture;
  let client: PromClient;

  beforeEach(async () => {
    f = await hubFixture({ bus: { limits: { maxPayloadBytes: 1_000 } } });
    client = new PromClient(f.hub.url, { token: "all" });
    await client.connect();
  });

  afterEach(async () => {
    await client.close();
    await f.close();
  });

  const stored = async (): Promise<unknown[]> => {
    const { events } = await f.bus.store.log.read("t.a", 0, { after: 0, limit: 10 });
    return events.map(({ record }) => record.payload);
  };

  it("is read for a layer, which may change it", async () => {
    const seen: unknown[] = [];
    f.bus.use({
      publish: (event, next) => {
        seen.push(event.payload);
        return next(event);
      },
    });
    await client.publish("t.a", { n: 1 });
    expect([seen, await stored()]).toEqual([[{ n: 1 }], [{ n: 1 }]]);
  });

  it("is read for a topic's schema, which may refuse it", async () => {
    await f.bus.defineTopic(defineTopic("t.a", { schema: z.object({ n: z.number() }) }));
    await client.publish("t.a", { n: 1 });
    await expect(client.publish("t.a", { n: "1" })).rejects.toMatchObject({ code: "SCHEMA_VIOLATION" });
    expect(await stored()).toEqual([{ n: 1 }]);
  });

  it("is measured if it may be too large", async () => {
    await client.publish("t.a", "x".repeat(900));
    await expect(client.publish("t.a", "x".repeat(1_000))).rejects.toMatchObject({
      code: "PAYLOAD_TOO_LARGE",
    });
    expect(await stored()).toEqual(["x".repeat(900)]);
  });

  it("is not lost while its AUTH is looked at", async () => {
    const socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`);
    await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
    socket.send('{"type":"AUTH","token":"all"}');
    socket.send('{"type":"PUBLISH","topic":"t.a","payload":{"early":true}}');
    await expect.poll(stored).toEqual([{ early: true }]);
    socket.terminate();
  });
});
