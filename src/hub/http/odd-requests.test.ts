/** Requests at the edge of HTTP: what can be understood is answered as any other, and the rest is told as every fault is. */
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { type RawAnswer, RawConnection } from "../../../test/support/raw-http.js";

let f: HubFixture;
const connections: RawConnection[] = [];
beforeEach(async () => {
  f = await hubFixture();
});
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  await f.close();
});

async function answerTo(bytes: string): Promise<RawAnswer | null> {
  const connection = await RawConnection.to(f.hub.url);
  connections.push(connection);
  await connection.write(bytes);
  return connection.next();
}

const TOKEN = "Authorization: Bearer all\r\n";
const HOST = `Host: h\r\n${TOKEN}`;
const WEB_SOCKET = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
const EVENT = '{"topic":"orders","payload":1}';
const EVENT_HEADERS = `Content-Type: application/json\r\nContent-Length: ${EVENT.length}\r\n`;

describe("requests that are answered as any other", () => {
  it.each([
    ["one of HTTP/1.0, as checks of load balancers send it", "GET /readyz HTTP/1.0\r\n\r\n"],
    ["one of HTTP/1.0 with a token", `GET /topics HTTP/1.0\r\n${TOKEN}\r\n`],
    [
      "one that expects what nobody knows",
      `POST /publish HTTP/1.1\r\n${HOST}Expect: much\r\n${EVENT_HEADERS}\r\n${EVENT}`,
    ],
    [
      "one with spaces before its token",
      "GET /topics HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer   all\r\n\r\n",
    ],
    [
      "one that says in capitals that its body is as it is",
      `POST /publish HTTP/1.1\r\n${HOST}Content-Encoding: IDENTITY\r\n${EVENT_HEADERS}\r\n${EVENT}`,
    ],
  ])("%s", async (_, bytes) => {
    expect(await answerTo(bytes)).toMatchObject({ status: 200 });
  });
});

describe("requests that cannot be understood are told why, with a code", () => {
  it.each([
    ["no HTTP", "hello there\r\n\r\n", 400, "BAD_REQUEST"],
    ["no host", `GET /topics HTTP/1.1\r\n${TOKEN}\r\n`, 400, "BAD_REQUEST"],
    ["a host that is none", `GET /topics HTTP/1.1\r\nHost: a b/c\r\n${TOKEN}\r\n`, 400, "BAD_REQUEST"],
    ["no path", `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, 400, "BAD_REQUEST"],
    [
      "two lengths",
      `POST /publish HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}`,
      400,
      "BAD_REQUEST",
    ],
    [
      "a chunk that is none",
      `POST /publish HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
      "BAD_REQUEST",
    ],
    [
      "a long head",
      `GET /topics HTTP/1.1\r\n${HOST}X-Long: ${"y".repeat(20_000)}\r\n\r\n`,
      431,
      "HEADERS_TOO_LARGE",
    ],
    ["a WebSocket elsewhere", `GET /socket HTTP/1.1\r\n${HOST}${WEB_SOCKET}\r\n`, 404, "NOT_FOUND"],
    [
      "a WebSocket with a bad token",
      `GET /ws HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer no\r\n${WEB_SOCKET}\r\n`,
      401,
      "UNAUTHENTICATED",
    ],
    [
      "a WebSocket of a foreign page",
      `GET /ws HTTP/1.1\r\n${HOST}Origin: https://evil.example\r\n${WEB_SOCKET}\r\n`,
      403,
      "FORBIDDEN",
    ],
  ])("%s", async (_, bytes, status, code) => {
    const answer = await answerTo(bytes);
    expect(answer).toMatchObject({ status, headers: { "content-type": "application/problem+json" } });
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({
      status,
      code,
      detail: expect.any(String) as string,
    });
  });
});

it("nothing is written into an answer that is on its way", async () => {
  await f.bus.publish("orders", 1);
  const socket = connect(Number(new URL(f.hub.url).port), "127.0.0.1");
  let text = "";
  socket.on("data", (chunk) => {
    text += String(chunk);
  });
  const closed = once(socket, "close");
  socket.write(`GET /events?topic=orders&from=earliest HTTP/1.1\r\n${HOST}\r\n`);
  await expect.poll(() => text).toContain("data: ");
  socket.write("no HTTP at all\r\n\r\n");
  await closed;
  expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
});
