/** What is under way when the hub begins to go down: it takes on nothing new, and says so. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { gate } from "../../test/support/eventually.js";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import type { ClientContext } from "../client/deliveries.js";
import { PromClient } from "../client/index.js";
import { startChangelogProjector } from "../project/views/changelog.js";
import { startHub } from "./server.js";

let f: HubFixture;
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await f.close();
});

describe("a hub that goes down", () => {
  it("P5: hands out nothing to a subscription that was being made", async () => {
    f = await hubFixture();
    await f.bus.publish("t.a", 1);
    const { passed, open } = gate();
    const { attach } = f.bus;
    const attached = vi.spyOn(f.bus, "attach").mockImplementationOnce(async (topics, request) => {
      await passed;
      return attach.call(f.bus, topics, request);
    });
    const headers = { authorization: "Bearer all" };
    const socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`, { headers });
    ends.push(() => socket.terminate());
    const frames: Record<string, unknown>[] = [];
    socket.on("message", (data) => void frames.push(...[JSON.parse(String(data))].flat()));
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "PUBLISH", topic: "t.b", payload: 1, corr: 1 }));
    socket.send(JSON.stringify({ type: "SUBSCRIBE", topic: "t.a", group: "g", corr: 2 }));
    await expect.poll(() => attached).toHaveBeenCalled();
    // The answer of this one holds up the end.
    const { passed: answered, open: answer } = gate();
    vi.spyOn(f.bus, "submit").mockImplementationOnce((_topic, _payload, _options, waiter) => {
      void answered.then(() => waiter.fail(new Error("stopped")));
    });
    socket.send(JSON.stringify({ type: "PUBLISH", topic: "t.b", payload: 2, corr: 3 }));
    await expect.poll(() => f.bus.submit).toHaveBeenCalledTimes(1);
    const closed = f.hub.close();
    open();
    await expect
      .poll(() => frames.find(({ corr }) => corr === 2))
      .toMatchObject({ type: "ERR", code: "CLOSED" });
    answer();
    await closed;
    expect(frames.filter(({ type }) => type === "EVENT")).toEqual([]);
  });

  it("takes on no connection whose token was being looked at", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    const { passed, open } = gate();
    const asked = gate();
    const found = JSON.stringify({ keys: [await exportJWK(publicKey)] });
    const keys = createServer((_, response) => {
      asked.open();
      void passed.then(() => response.end(found));
    });
    await once(keys.listen(0, "127.0.0.1"), "listening");
    ends.push(() => keys.close());
    const jwksUrl = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/`;
    f = await hubFixture({ auth: { jwt: { jwksUrl } } });
    const token = await new SignJWT({ scopes: ["*:*"] })
      .setProtectedHeader({ alg: "ES256" })
      .setExpirationTime("1h")
      .sign(privateKey);
    const headers = { authorization: `Bearer ${token}` };
    const socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`, { headers });
    const refused = new Promise((resolve) =>
      socket.on("unexpected-response", (_, { statusCode }) => resolve(statusCode)).on("open", resolve),
    );
    await asked.passed;
    const closed = f.hub.close();
    open();
    expect(await refused).toBe(503);
    await closed;
  });

  it("P10: refuses what an outbox publishes through a client as something to be tried again", async () => {
    f = await hubFixture();
    const client = new PromClient(f.hub.url, { token: "all", retry: { baseMs: 1, maxMs: 5 } });
    ends.push(() => client.close());
    await f.bus.publish("t.a", 1);
    const leased = gate();
    const hold = { from: "earliest", manualAck: true } as const;
    const held: ClientContext[] = [];
    await client.subscribe("t.a", "g", (_, ctx) => leased.open(void held.push(ctx)), hold);
    await leased.passed;
    const closed = f.hub.close();
    const refused = client.publishTogether("t.b", [{ payload: 1 }]);
    await expect(refused).rejects.toMatchObject({ code: "CLOSED", retryable: true });
    held[0]?.ack();
    await closed;
  });

  it("ends streams that are asked for meanwhile at once: nobody has to cut them off", async () => {
    f = await hubFixture();
    const client = new PromClient(f.hub.url, { token: "all" });
    ends.push(() => client.close());
    await f.bus.publish("t.a", 1);
    const leased = gate();
    const held: ClientContext[] = [];
    const hold = { from: "earliest", manualAck: true } as const;
    await client.subscribe("t.a", "g", (_, ctx) => leased.open(void held.push(ctx)), hold);
    await leased.passed;
    const closed = f.hub.close();
    for (const path of ["/events?topic=t.a", "/stats/stream"]) {
      const stream = await f.get(path);
      expect([stream.status, await stream.text()]).toEqual([200, expect.not.stringContaining("data:")]);
    }
    held[0]?.ack();
    await closed;
  });

  it("sends whoever waits for a view to another hub, and does not say that it came too late", async () => {
    f = await hubFixture();
    await (await startChangelogProjector(f.bus, { topic: "t.a", view: "v" })).stop();
    const floors = vi.spyOn(f.bus, "getCursor");
    const asked = f.get("/snap/v/k?min=0:9&wait_ms=60000");
    await expect.poll(() => floors).toHaveBeenCalled();
    await f.hub.close();
    const answer = await asked;
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await answer.json()).toMatchObject({ code: "CLOSED" });
  });

  it("P15: has subscriptions of clients wait for the next one", async () => {
    f = await hubFixture();
    const { bus } = f;
    const port = Number(new URL(f.hub.url).port);
    const client = new PromClient(f.hub.url, { token: "all", retry: { baseMs: 1, maxMs: 5 } });
    ends.push(() => client.close());
    await bus.publish("t.a", 1);
    const leased = gate();
    const hold = { from: "earliest", manualAck: true } as const;
    await client.subscribe("t.a", "g", (_, ctx) => leased.open(void ends.push(() => ctx.ack())), hold);
    await leased.passed;
    const closed = f.hub.close();
    const subscribed = client.subscribe("t.b", "g", () => undefined);
    await ends.pop()?.();
    await closed;
    const next = await startHub({ bus, port, auth: { tokens: { all: { scopes: ["*:*"] } } } });
    await subscribed;
    await client.close();
    await next.close();
  });
});
