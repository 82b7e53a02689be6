import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { startChangelogProjector } from "../../project/views/changelog.js";

/** Streams that go on are read no further than their head. */
async function statusOf(response: Response): Promise<number> {
  await response.body?.cancel();
  return response.status;
}

describe("whatever is sent over HTTP", { timeout: 60_000 }, () => {
  let f: HubFixture;
  let paths: string[];
  beforeAll(async () => {
    f = await hubFixture();
    await f.bus.publish("orders", { n: 1 }, { key: "k" });
    await startChangelogProjector(f.bus, { topic: "orders", view: "orders" });
    const document = (await (await f.get("/openapi.json")).json()) as {
      paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>;
    };
    paths = Object.entries(document.paths).flatMap(([path, { get }]) => {
      if (get === undefined) return [];
      const names = (get.parameters ?? []).filter((one) => one.in === "query").map(({ name }) => name);
      return [`${path}?${names.map((name) => `${name}={${name}}`).join("&")}`, path];
    });
  });
  afterAll(() => f.close());

  const rough = fc.oneof(
    fc.constantFrom(
      "orders",
      "k",
      "latest",
      "0",
      "1",
      "-1",
      "1e99",
      "",
      "..",
      "%",
      "null",
      "__proto__",
      "0:1",
      "id:x",
    ),
    fc.string({ unit: "binary", maxLength: 20 }),
  );

  it("P13: no query makes the hub fail", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.array(rough, { minLength: 8, maxLength: 8 }), async (at, values) => {
        let i = 0;
        const path = (paths[at % paths.length] as string).replaceAll(/\{\w+\}/g, () =>
          encodeURIComponent(values[i++ % values.length] ?? "x"),
        );
        if (path.includes("min=")) return;
        const status = await statusOf(await f.get(path));
        expect([path, status === 500]).toEqual([path, false]);
      }),
      { numRuns: 400 },
    );
  });

  const event = fc.record(
    {
      topic: fc.oneof(fc.constantFrom("orders", "other.one"), rough, fc.jsonValue()),
      payload: fc.jsonValue(),
      key: fc.oneof(fc.string(), fc.jsonValue()),
      id: fc.oneof(fc.string(), fc.jsonValue()),
      headers: fc.jsonValue(),
      tags: fc.jsonValue(),
      ts: fc.jsonValue(),
      partition: fc.jsonValue(),
      sid: fc.jsonValue(),
      caused_by: fc.jsonValue(),
    },
    { requiredKeys: ["topic"] },
  );
  const body = fc.oneof(
    event.map((value) => JSON.stringify(value)),
    fc.array(event, { maxLength: 4 }).map((value) => JSON.stringify(value)),
    fc.json(),
    fc.string({ unit: "binary" }),
  );
  const type = fc.constantFrom(
    "application/json",
    "application/x-ndjson",
    "application/cloudevents+json",
    "application/cloudevents-batch+json",
    "text/plain",
    "",
  );

  it("P13: no body makes the hub fail", async () => {
    const targets = [
      "/publish",
      "/publish?topic=orders",
      "/import",
      "/replay",
      "/groups/g/cursor",
      "/dlq/orders/redrive",
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...targets), type, body, async (path, contentType, text) => {
        const headers = { "content-type": contentType };
        const status = await statusOf(await f.get(path, { method: "POST", body: text, headers }));
        expect([path, contentType, text, status === 500]).toEqual([path, contentType, text, false]);
      }),
      { numRuns: 600 },
    );
  });
});
