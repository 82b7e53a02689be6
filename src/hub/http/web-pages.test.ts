/** What web pages of other sites can do with a hub that needs no token, through the browser of somebody who runs one. */
import { request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createBus } from "../../bus/create-bus.js";
import { memoryStore } from "../../stores/memory/index.js";
import { type Hub, startHub } from "../index.js";

const bus = await createBus({ store: memoryStore() });
let hub: Hub;
afterEach(() => hub.close());
afterAll(() => bus.close());

type Headers = Record<string, string>;

function ask(
  method: string,
  path: string,
  headers: Headers,
  body?: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(hub.url + path, { method, headers }, (response) => {
      text(response).then((said) => resolve({ status: response.statusCode ?? 0, text: said }), reject);
    });
    asked.on("error", reject).end(body);
  });
}

const statusOf = async (...asked: Parameters<typeof ask>): Promise<number> => (await ask(...asked)).status;

/** The status of an upgrade: 101 if it was taken. */
function upgrade(headers: Headers): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${hub.url.replace("http", "ws")}/ws`, { headers });
    socket.on("error", reject);
    socket.on("open", () => {
      resolve(101);
      socket.terminate();
    });
    socket.on("unexpected-response", (_, response) => {
      socket.off("error", reject).on("error", () => undefined);
      resolve(response.statusCode ?? 0);
      socket.terminate();
    });
  });
}

/** A publish as the hub reads it off the socket itself. */
function publishRaw(host: string): Promise<string> {
  const body = '{"topic":"a","payload":1}';
  const head = `POST /publish HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  return new Promise((resolve, reject) => {
    const socket = connect(hub.port, "127.0.0.1", () => socket.write(head + body));
    socket.on("error", reject).once("data", (data) => {
      resolve(data.toString().slice(9, 12));
      socket.destroy();
    });
  });
}

describe("a hub without tokens", () => {
  it("does nothing for a page of another site, which may send a form's kind of request anywhere", async () => {
    hub = await startHub({ bus, auth: "none" });
    await bus.subscribe("a", "g", () => undefined);
    const form = { "content-type": "text/plain" };
    for (const origin of ["https://evil.example", "null", "http://127.0.0.1:1"]) {
      const said = await ask("POST", "/groups/g/pause", { ...form, origin }, '{"topic":"a"}');
      expect([said.status, said.text]).toEqual([403, expect.stringContaining('"FORBIDDEN"')]);
      expect(await upgrade({ origin })).toBe(403);
    }
    expect(await bus.store.registry.audits({ limit: 10 })).toEqual([]);
  });

  it("answers to no name but its own, whoever makes a name of theirs lead here", async () => {
    hub = await startHub({ bus, auth: "none" });
    for (const host of ["evil.example", "127.evil.example", "localhost.evil.example:80", "[::2]", "a@b"]) {
      const headers = { host, origin: `http://${host}` };
      expect(await statusOf("GET", "/topics", { host })).toBe(403);
      expect(await statusOf("GET", "/topics", headers)).toBe(403);
      expect(await statusOf("GET", "/", headers)).toBe(403);
      expect(await upgrade(headers)).toBe(403);
      expect(await publishRaw(host)).toBe("403");
    }
  });

  it("serves its own page, programs, and the sites that it was told of", async () => {
    hub = await startHub({ bus, auth: "none", origins: ["https://console.example"] });
    const own = [`127.0.0.1:${hub.port}`, `localhost:${hub.port}`, "LOCALHOST", "127.1.2.3", "[::1]:8420"];
    for (const host of own) {
      expect(await statusOf("GET", "/topics", { host })).toBe(200);
      expect(await statusOf("GET", "/topics", { host, origin: `http://${host}` })).toBe(200);
      expect(await upgrade({ host, origin: `http://${host}` })).toBe(101);
      expect(await publishRaw(host)).toBe("200");
    }
    const told = { host: "console.example", origin: "https://console.example" };
    expect(await statusOf("GET", "/topics", told)).toBe(200);
    expect(await upgrade({ origin: told.origin })).toBe(101);
    expect(await upgrade({})).toBe(101);
  });

  it("serves an app or an extension that it was told of, and not with it every page that has no site", async () => {
    const app = "capacitor://localhost";
    hub = await startHub({ bus, auth: "none", origins: [app] });
    expect(await statusOf("GET", "/topics", { origin: app })).toBe(200);
    expect(await upgrade({ origin: app })).toBe(101);
    expect(await statusOf("GET", "/topics", { origin: "null" })).toBe(403);
    expect(await upgrade({ origin: "null" })).toBe(403);
  });
});

describe("a page of another site", () => {
  const origin = "https://shop.example";
  const token = { authorization: "Bearer t" };

  it("may read answers, also refusals, if the hub was told of its site, and ask before it asks", async () => {
    const auth = { tokens: { t: { scopes: ["*:*"] } } };
    hub = await startHub({ bus, auth, origins: ["https://Shop.example/"] });
    const asked = {
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization",
    };
    const before = await fetch(`${hub.url}/publish`, { method: "OPTIONS", headers: { origin, ...asked } });
    expect(before.status).toBe(204);
    expect(Object.fromEntries(before.headers)).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-headers": "authorization",
      "access-control-allow-methods": "GET, HEAD, POST",
    });
    const body = JSON.stringify({ topic: "a", payload: 1 });
    const json = { "content-type": "application/json" };
    const answers = [
      await fetch(`${hub.url}/publish`, { method: "POST", body, headers: { origin, ...token, ...json } }),
      await fetch(`${hub.url}/topics`, { headers: { origin, ...token } }),
      await fetch(`${hub.url}/topics`, { headers: { origin } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 401]);
    for (const { headers } of answers) {
      expect(headers.get("access-control-allow-origin")).toBe(origin);
      expect(headers.get("vary")).toBe("Origin");
    }
  });

  it("may not if the hub was not", async () => {
    hub = await startHub({
      bus,
      auth: { tokens: { t: { scopes: ["*:*"] } } },
      origins: ["https://other.example"],
    });
    const asked = { origin, "access-control-request-method": "GET" };
    for (const [method, headers] of [
      ["GET", { origin, ...token }],
      ["OPTIONS", asked],
    ] as const) {
      const answer = await fetch(`${hub.url}/topics`, { method, headers });
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
      expect(answer.status).toBe(method === "GET" ? 200 : 401);
    }
  });
});

describe("a hub with tokens", () => {
  it("answers to any name: a page of another site has no token", async () => {
    hub = await startHub({ bus, auth: { tokens: { t: { scopes: ["*:*"] } } } });
    const headers = { host: "bus.example", authorization: "Bearer t" };
    expect(await statusOf("GET", "/topics", headers)).toBe(200);
    expect(await statusOf("GET", "/topics", { ...headers, origin: "https://other.example" })).toBe(200);
  });

  it("knows its own page by its name, also where a proxy names the port that goes without saying", async () => {
    hub = await startHub({ bus, auth: { tokens: { t: { scopes: ["*:*"] } } } });
    const host = "Bus.example:443";
    expect(await upgrade({ host, origin: "https://bus.example" })).toBe(101);
    for (const origin of ["http://bus.example", "https://bus.example:8443", "https://other.example"])
      expect([origin, await upgrade({ host, origin })]).toEqual([origin, 403]);
  });
});
