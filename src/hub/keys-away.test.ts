/** A hub that cannot fetch the keys of tokens: whoever comes is neither let in nor refused, and is back once it can. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { as, type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import type { ClientTrouble } from "../client/client-options.js";
import { PromClient } from "../client/index.js";

let f: HubFixture;
let keys: Server;
let status: number;
let token: string;

beforeEach(async () => {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwk = await exportJWK(publicKey);
  status = 503;
  keys = createServer((_, response) =>
    response.writeHead(status, { connection: "close" }).end(JSON.stringify({ keys: [jwk] })),
  );
  await once(keys.listen(0, "127.0.0.1"), "listening");
  token = await new SignJWT({ scopes: ["*:*"] })
    .setProtectedHeader({ alg: "ES256" })
    .setExpirationTime("1h")
    .sign(privateKey);
  const jwksUrl = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/`;
  f = await hubFixture({ auth: { jwt: { jwksUrl } } });
});
afterEach(async () => {
  await f.close();
  keys.close();
});

it("P15: a client goes on trying, says why, and is in once they are there", async () => {
  const troubles: ClientTrouble[] = [];
  const client = new PromClient(f.hub.url, {
    token,
    retry: { baseMs: 1, maxMs: 5 },
    onTrouble: (trouble) => void troubles.push(trouble),
  });
  const published = client.publish("t.a", 1);
  await expect.poll(() => troubles).toHaveLength(1);
  expect(troubles[0]?.error).toMatchObject({
    code: "STORE_UNAVAILABLE",
    message:
      "the hub does not let this client in: the keys by which tokens are checked cannot be had for now; the client goes on trying",
  });
  status = 200;
  expect(await published).toMatchObject({ seq: 1 });
  await client.close();
});

it("HTTP requests, upgrades and AUTHs are told to come again", async () => {
  const asked = await fetch(`${f.hub.url}/topics`, as(token));
  expect([asked.status, asked.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await asked.json()).toMatchObject({ code: "STORE_UNAVAILABLE" });

  const url = `${f.hub.url.replace("http", "ws")}/ws`;
  const upgraded = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
  const [, { statusCode, headers }] = await once(upgraded, "unexpected-response");
  expect([statusCode, headers["retry-after"]]).toEqual([503, "1"]);

  const socket = new WebSocket(url);
  await once(socket, "open");
  const closed = once(socket, "close");
  socket.send(JSON.stringify({ type: "AUTH", token, corr: 1 }));
  const [data] = await once(socket, "message");
  expect(JSON.parse(String(data))).toMatchObject({
    code: "STORE_UNAVAILABLE",
    corr: 1,
    retry_after_ms: 1_000,
  });
  expect((await closed)[0]).toBe(1013);

  status = 200;
  expect((await fetch(`${f.hub.url}/topics`, as(token))).status).toBe(200);
});
