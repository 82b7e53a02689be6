/** A client in front of hubs that say odd things, or nothing at all. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { BusError } from "../model/errors.js";
import { type ClientOptions, PromClient } from "./index.js";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function clientOf(url: string, options: Pick<ClientOptions, "pingMs" | "onTrouble"> = {}): PromClient {
  const client = new PromClient(url, { token: "all", retry: { baseMs: 1, maxMs: 5 }, ...options });
  closers.push(() => client.close());
  return client;
}

/** A hub that takes every token, and says this behind the first subscription of its first connection. */
async function hubThatSays(text: string): Promise<{ url: string; subscribed: () => number }> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  closers.push(() => server.close());
  await once(server, "listening");
  let subscribed = 0;
  const answer = (socket: WebSocket, { type, corr }: { type: string; corr?: unknown }): void => {
    if (type === "AUTH" || type === "SUBSCRIBE")
      socket.send(JSON.stringify({ type: "OK", corr, result: {} }));
    if (type === "SUBSCRIBE" && ++subscribed === 1) socket.send(text);
  };
  server.on("connection", (socket) => {
    socket.on("message", (data) => {
      for (const frame of [JSON.parse(data.toString()) as { type: string }].flat()) answer(socket, frame);
    });
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, subscribed: () => subscribed };
}

const ofFeed = '"topic":"a","group":"g"';
describe("where no hub answers", () => {
  it("a client goes on trying, and says so once, without what the address holds beside the host", async () => {
    // The port stays taken: else somebody else might have it before the hub.
    let f: HubFixture | undefined;
    const server = createServer((socket) => {
      if (f === undefined) socket.destroy();
      else pipeline(socket, connect(f.hub.port, "127.0.0.1"), socket, () => undefined);
    });
    closers.push(() => server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const troubles: unknown[] = [];
    const client = clientOf(`http://ada:secret@127.0.0.1:${port}/`, {
      onTrouble: (trouble) => troubles.push(trouble),
    });
    let tries = 0;
    client.onStatus((status) => void (status === "connecting" && tries++));
    const connected = client.connect();
    await expect.poll(() => tries).toBeGreaterThan(15);
    const words = `no hub answers at http://127.0.0.1:${port}; the client goes on trying`;
    expect(troubles).toEqual([{ error: new BusError("STORE_UNAVAILABLE", words) }]);
    f = await hubFixture();
    closers.push(() => f?.close());
    await connected;
  });
});

describe("of a hub that says what is no frame", () => {
  it.each([
    ["no JSON", "{oops"],
    ["a number", "5"],
    ["answers to nobody", '{"type":"PLACED"}'],
    ["events without any of their parts", `{"type":"EVENTS",${ofFeed}}`],
    ["an event that is none", `{"type":"EVENT",${ofFeed},"ctx":{},"event":null}`],
    ["events without times", `{"type":"EVENTS",${ofFeed},"ctx":{},"ids":["x"],"lease":1,"payloads":[1]}`],
    ["a list that is none in its greeting", '{"type":"OK","corr":"auth","result":{"takes":5}}'],
  ])("a client connects anew, or passes it over: %s", async (name, text) => {
    const { url, subscribed } = await hubThatSays(text);
    const client = clientOf(url);
    await client.connect();
    await client.subscribe("a", "g", () => undefined);
    const isPassedOver = name.includes("greeting");
    await expect.poll(subscribed).toBe(isPassedOver ? 1 : 2);
    expect(client.status).toBe("online");
  });
});

describe("of a hub that says nothing", () => {
  let f: HubFixture;

  /** Takes every connection; the first `dumb` get no answer, the others get the hub. */
  async function dumbProxy(dumb: number): Promise<{ url: string; ends: Socket[]; server: Server }> {
    f = await hubFixture();
    closers.push(() => f.close());
    const ends: Socket[] = [];
    const server = createServer((socket) => {
      ends.push(socket.on("error", () => undefined));
      if (ends.length <= dumb) return void socket.resume();
      const line = connect(f.hub.port, "127.0.0.1");
      pipeline(socket, line, socket, () => undefined);
    });
    closers.push(() => {
      for (const socket of ends) socket.destroy();
      server.close();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ends, server };
  }

  it("P15: a client does not wait for ever for its greeting, and tries again", async () => {
    const { url, ends } = await dumbProxy(1);
    const client = clientOf(url, { pingMs: 20 });
    await client.connect();
    expect(ends.length).toBeGreaterThan(1);
    expect(await client.publish("a", 1)).toMatchObject({ seq: 1 });
  });
});

describe("a client that is closed", () => {
  it("lets go of a hub that does not say goodbye", async () => {
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    closers.push(() => server.close());
    await once(server, "listening");
    const lines: Socket[] = [];
    server.on("connection", (socket, { socket: line }) => {
      lines.push(line);
      socket.once("message", () => {
        socket.send('{"type":"OK","corr":"auth","result":{}}');
        socket.removeAllListeners();
        line.removeAllListeners("data").resume();
      });
    });
    const client = clientOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await client.connect();
    await client.close();
    await expect.poll(() => lines[0]?.readableEnded).toBe(true);
  });

  it("does not connect again, and says so", async () => {
    const client = clientOf("http://127.0.0.1:1");
    await client.close();
    await expect(client.connect()).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("does not connect again either if the hub refused its token", async () => {
    const f = await hubFixture();
    closers.push(() => f.close());
    const client = new PromClient(f.hub.url, { token: "wrong" });
    await expect(client.connect()).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await expect(client.connect()).rejects.toMatchObject({ code: "CLOSED" });
  });
});

describe("of a hub that goes down", () => {
  it("P15: a client asks the next one once for each subscription, whatever it had been told to wait", async () => {
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    closers.push(() => server.close());
    await once(server, "listening");
    const asked: string[] = [];
    let published = 0;
    const answer = (
      socket: WebSocket,
      line: number,
      { type, corr }: { type: string; corr?: unknown },
    ): void => {
      const say = (frame: object): void => socket.send(JSON.stringify({ corr, ...frame }));
      const wait = (code: string, retry_after_ms: number): void =>
        say({ type: "ERR", code, msg: "", retry_after_ms });
      if (type === "AUTH") say({ type: "OK", result: {} });
      if (type === "SUBSCRIBE") asked.push(`line ${line}`);
      if (type === "SUBSCRIBE" && line === 1) {
        wait("CLOSED", 20);
        socket.close(1012);
      }
      // When this is sent again, the wait of the first line has been over for long.
      if (type === "PUBLISH" && ++published === 1) wait("RATE_LIMITED", 60);
      else if (type === "PUBLISH") say({ type: "OK", result: {} });
    };
    let lines = 0;
    server.on("connection", (socket) => {
      const line = ++lines;
      socket.on("message", (data) => {
        for (const frame of [JSON.parse(data.toString()) as { type: string }].flat())
          answer(socket, line, frame);
      });
    });
    const client = clientOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    void client.subscribe("a", "g", () => undefined).catch(() => undefined);
    await expect.poll(() => asked).toContain("line 2");
    await client.publish("b", 1);
    expect(asked).toEqual(["line 1", "line 2"]);
  });
});

describe("of a hub that takes so many a second", () => {
  it("P13: publishes that were too fast are asked for again one after the other, not all of them each time there is room for one", async () => {
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    closers.push(() => server.close());
    await once(server, "listening");
    let [asked, roomAtMs] = [0, 0];
    const answer = (socket: WebSocket, { type, corr }: { type: string; corr?: unknown }): void => {
      const say = (frame: object): void => socket.send(JSON.stringify({ corr, ...frame }));
      if (type === "AUTH") say({ type: "OK", result: {} });
      if (type !== "PUBLISH") return;
      asked++;
      const waitMs = Math.ceil(roomAtMs - performance.now());
      if (waitMs > 0) say({ type: "ERR", code: "RATE_LIMITED", msg: "", retry_after_ms: waitMs });
      else {
        roomAtMs = performance.now() + 5;
        say({ type: "OK", result: {} });
      }
    };
    server.on("connection", (socket) => {
      socket.on("message", (data) => {
        for (const frame of [JSON.parse(data.toString()) as { type: string }].flat()) answer(socket, frame);
      });
    });
    const client = clientOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const payloads = Array.from({ length: 200 }, (_, n) => ({ payload: n }));
    await client.publishMany("a", payloads);
    expect(asked).toBeLessThan(2_000);
  });
});
