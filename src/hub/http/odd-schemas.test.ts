/** Schemas as anybody may send them: none makes the hub fail. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { turnsDuring } from "../../../test/support/turns.js";

let f: HubFixture;
beforeEach(async () => {
  f = await hubFixture();
  const first = { version: 1, schema: { type: "object", properties: { a: { type: "string" } } } };
  expect((await f.post("/schemas/orders", first)).status).toBe(200);
});
afterEach(() => f.close());

const nested = (levels: number): string => `${'{"items":'.repeat(levels)}{}${"}".repeat(levels)}`;

it("P15: how the versions follow each other is found out in as many turns of the event loop as there are", async () => {
  for (let version = 2; version <= 64; version++)
    expect((await f.post("/schemas/orders", { version, compat: "none", schema: {} })).status).toBe(200);
  expect(await turnsDuring(() => f.get("/schemas/orders"))).toBeGreaterThanOrEqual(64);
});

describe.each(["/schemas/orders", "/schemas/orders/check"])("POST %s refuses", (path) => {
  const ask = (schema: string): Promise<Response> =>
    f.get(path, {
      method: "POST",
      body: path.endsWith("check")
        ? `{"schema":${schema}}`
        : `{"version":2,"compat":"none","schema":${schema}}`,
      headers: { "content-type": "application/json" },
    });

  it.each([
    ["what says that it is a schema of Zod's", '{"_zod":{}}', "INVALID_OPTION"],
    ["the same with a definition", '{"_zod":{"def":{"type":"object"}},"_def":{}}', "INVALID_OPTION"],
    ["one that is nested without end", nested(20_000), "BAD_REQUEST"],
    ["lists in lists", `{"enum":${"[".repeat(20_000)}${"]".repeat(20_000)}}`, "BAD_REQUEST"],
  ])("%s", async (_, schema, code) => {
    const response = await ask(schema);
    expect([response.status, await response.json()]).toMatchObject([400, { code }]);
  });

  it("nothing that people write", async () => {
    expect((await ask(nested(190))).status).toBe(200);
  });
});
