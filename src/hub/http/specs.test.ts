import asyncApiSpecs from "@asyncapi/specs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv } from "ajv";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { as, type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { defineTopic } from "../../model/topic.js";

interface OpenApi {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Record<string, Record<string, { readonly security?: unknown[] }>>;
}

interface AsyncApi {
  readonly servers: { readonly hub: Record<"protocol" | "host", string> & { readonly pathname?: string } };
  readonly channels: Record<string, unknown> & { readonly ws: { readonly address: string } };
  readonly operations: Record<string, unknown>;
  readonly components: { readonly messages: Record<string, unknown> };
}

describe("what the hub says of itself", { timeout: 30_000 }, () => {
  let f: HubFixture;
  beforeEach(async () => {
    f = await hubFixture({
      bus: { topics: [defineTopic("orders.placed"), defineTopic("secret")] },
      tokens: { reader: ["read:orders.*"] },
    });
  });
  afterEach(() => f.close());

  it("gives a valid OpenAPI 3.1 document without a token, and it holds every route", async () => {
    const document = (await (await fetch(`${f.hub.url}/openapi.json`)).json()) as OpenApi;
    expect(document.openapi).toBe("3.1.0");
    const result = await new Validator().validate(
      structuredClone(document) as unknown as Record<string, unknown>,
    );
    expect(result).toMatchObject({ valid: true });
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const method of Object.keys(methods)) {
        const url = f.hub.url + path.replaceAll(/\{\w+\}/g, "x");
        const { status } = await fetch(url, {
          method: method.toUpperCase(),
          headers: { authorization: "Bearer no" },
        });
        const open = methods[method]?.security?.length === 0;
        expect([method, path, status === 401]).toEqual([method, path, !open]);
      }
    }
    for (const path of [
      "/publish",
      "/events",
      "/lag",
      "/snap/{view}/{key}",
      "/dlq/{topic}/redrive",
      "/import",
    ])
      expect(document.paths).toHaveProperty([path]);
  });

  it("says in OpenAPI where the routes are, also below a path of a proxy", async () => {
    const { servers } = (await (await f.get("/openapi.json")).json()) as OpenApi;
    const from = (document: string): string[] => servers.map(({ url }) => new URL(url, document).href);
    expect(from("https://bus.example/openapi.json")).toEqual(["https://bus.example/"]);
    expect(from("https://shop.example/bus/openapi.json")).toEqual(["https://shop.example/bus/"]);
  });

  it("says in AsyncAPI where the socket is: the channel's address goes on from the server's", async () => {
    const document = (await (await f.get("/asyncapi.json")).json()) as AsyncApi;
    const { protocol, host, pathname = "" } = document.servers.hub;
    expect(`${protocol}://${host}${pathname}${document.channels.ws.address}`).toBe(
      `${f.hub.url.replace("http", "ws")}/ws`,
    );
  });

  it("gives a valid AsyncAPI 3.0 document of the frames and of the topics the caller may use", async () => {
    const schema = asyncApiSpecs.schemas["3.0.0"] as object;
    const validate = new Ajv({
      meta: false,
      validateSchema: false,
      strict: false,
      logger: false,
      validateFormats: false,
    }).compile(schema);
    const all = (await (await f.get("/asyncapi.json")).json()) as AsyncApi;
    expect([validate(all), validate.errors]).toEqual([true, null]);
    expect(Object.keys(all.channels)).toEqual(["ws", "topic-orders_placed", "topic-secret"]);
    expect(Object.keys(all.components.messages)).toEqual(
      expect.arrayContaining(["MODACK", "EVENTS", "PLACED"]),
    );
    const registered = { type: "object", properties: { total: { type: "number" } }, required: ["total"] };
    const waived = { version: 1, schema: registered, waive: "the first one" };
    expect((await f.post("/schemas/orders.placed", waived)).status).toBe(200);
    const told = (await (await f.get("/asyncapi.json")).json()) as AsyncApi;
    expect(told.channels["topic-orders_placed"]).toMatchObject({
      messages: { event: { payload: registered } },
    });
    const own = (await (await f.get("/asyncapi.json", as("reader"))).json()) as AsyncApi;
    expect(Object.keys(own.channels)).toEqual(["ws", "topic-orders_placed"]);
    expect(own.operations).not.toHaveProperty(["publish-topic-orders_placed"]);
    expect(validate({ ...all, channels: 7 })).toBe(false);
  });
});
