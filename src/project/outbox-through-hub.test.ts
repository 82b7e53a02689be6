import { describe, expect, it } from "vitest";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { keptSockets } from "../../test/support/kept-sockets.js";
import { type ClientTrouble, PromClient } from "../client/index.js";
import type { SocketLike } from "../client/socket.js";
import type { OutboxStore } from "../ports/outbox.js";
import { memoryStore } from "../stores/memory/index.js";
import { runOutboxDrainer } from "./outbox-drainer.js";

const ENTRIES = 50;

async function shopWith(payloadOf: (n: number) => unknown): Promise<ReturnType<typeof memoryStore>> {
  const shop = memoryStore();
  await shop.open();
  for (let n = 0; n < ENTRIES; n++)
    await shop.outbox.add({ id: `order-${n}`, topic: "orders", key: "a", payload: payloadOf(n) as never });
  return shop;
}

const range = (to: number): string[] => Array.from({ length: to }, (_, n) => `order-${n}`);

async function idsInLog(bus: HubFixture["bus"]): Promise<string[]> {
  const ids: string[] = [];
  for await (const event of bus.read("orders")) ids.push(event.id);
  return ids;
}

/** Hands on what a client says, and notes the types of its frames. `ofGreeting`: what the hub's first answer is made into. */
function listened(types: string[], ofGreeting = (text: string): string => text) {
  const { makeSocket } = keptSockets();
  return (url: string): SocketLike => {
    const socket = makeSocket(url);
    const send = socket.send.bind(socket);
    socket.send = (data: string) => {
      types.push(...[JSON.parse(data) as { type: string }].flat().map(({ type }) => type));
      send(data);
    };
    const line: SocketLike = {
      get readyState() {
        return socket.readyState;
      },
      onopen: null,
      onmessage: null,
      onclose: null,
      onerror: null,
      send: socket.send,
      close: (code, reason) => socket.close(code, reason),
    };
    socket.onopen = () => line.onopen?.();
    socket.onmessage = ({ data }) => line.onmessage?.({ data: ofGreeting(String(data)) });
    socket.onclose = (event) => line.onclose?.(event);
    socket.onerror = (event) => line.onerror?.(event);
    return line;
  };
}

async function drained(outbox: OutboxStore, client: PromClient, wanted: object): Promise<void> {
  const drainer = runOutboxDrainer(outbox, client, { everyMs: 5, maxAttempts: 1 });
  await expect.poll(() => outbox.stats()).toMatchObject(wanted);
  await drainer.stop();
  await client.close();
}

describe("an outbox that is drained through a hub", () => {
  it("P10: sends the entries of a key as one ordered request", async () => {
    const { hub, bus, close } = await hubFixture();
    const types: string[] = [];
    const shop = await shopWith((n) => n);
    const client = new PromClient(hub.url, { token: "all", makeSocket: listened(types) });
    await drained(shop.outbox, client, { sent: ENTRIES, pending: 0 });
    expect(types).toEqual(["AUTH", "PUBLISH_MANY"]);
    expect(await idsInLog(bus)).toEqual(range(ENTRIES));
    await shop.close();
    await close();
  });

  it("P10: does so without a token, too, where none is needed", async () => {
    const { hub, bus, close } = await hubFixture({ auth: "none" });
    const types: string[] = [];
    const shop = await shopWith((n) => n);
    const client = new PromClient(hub.url, { makeSocket: listened(types) });
    await drained(shop.outbox, client, { sent: ENTRIES, pending: 0 });
    expect(types).toEqual(["PING", "RESUME", "PUBLISH_MANY"]);
    expect(await idsInLog(bus)).toEqual(range(ENTRIES));
    await shop.close();
    await close();
  });

  it("P10: does so in several, one after the other, where they are large", async () => {
    const { hub, bus, close } = await hubFixture();
    const types: string[] = [];
    const shop = await shopWith(() => "x".repeat(10_000));
    const client = new PromClient(hub.url, { token: "all", makeSocket: listened(types) });
    await drained(shop.outbox, client, { sent: ENTRIES, pending: 0 });
    expect(types.filter((type) => type === "PUBLISH_MANY")).toHaveLength(9);
    expect(await idsInLog(bus)).toEqual(range(ENTRIES));
    await shop.close();
    await close();
  });

  it("P10: keeps the order of a key where one in the middle is refused: what stands behind it waits", async () => {
    const { hub, bus, close } = await hubFixture();
    await bus.defineTopic({ name: "orders", partitions: 1 });
    const deep = JSON.parse(`${"[".repeat(100)}${"]".repeat(100)}`);
    for (const size of [1, 10_000]) {
      const shop = await shopWith((n) => (n === 20 ? deep : "x".repeat(size)));
      const client = new PromClient(hub.url, { token: "all" });
      await drained(shop.outbox, client, { sent: 20, dead: 1, pending: ENTRIES - 21 });
      expect(await idsInLog(bus)).toEqual(range(20));
      await bus.admin.removeTopic("orders");
      await shop.close();
    }
    await close();
  });

  it("P10: keeps the order of a key, and doubles nothing, where an answer is lost", async () => {
    const { hub, bus, close } = await hubFixture();
    const types: string[] = [];
    const shop = await shopWith((n) => n);
    const { sockets, makeSocket } = keptSockets();
    const client = new PromClient(hub.url, { token: "all", retry: { baseMs: 1 }, makeSocket });
    let lost = 0;
    const publishMany = bus.publishMany.bind(bus);
    bus.publishMany = async (topic, items) => {
      const records = await publishMany(topic, items);
      types.push(...records.map(({ duplicate = false }) => String(duplicate)));
      if (lost++ === 0) sockets[0]?.terminate();
      return records;
    };
    await drained(shop.outbox, client, { sent: ENTRIES, pending: 0 });
    expect(types).toEqual([...range(ENTRIES).map(() => "false"), ...range(ENTRIES).map(() => "true")]);
    expect(await idsInLog(bus)).toEqual(range(ENTRIES));
    await shop.close();
    await close();
  });

  it("P10: sends them one after the other to a hub that takes no such request", async () => {
    const { hub, bus, close } = await hubFixture();
    const types: string[] = [];
    const shop = await shopWith((n) => n);
    const older = listened(types, (text) => text.replace(',"many"', ""));
    const client = new PromClient(hub.url, { token: "all", makeSocket: older });
    await drained(shop.outbox, client, { sent: ENTRIES, pending: 0 });
    expect(types).toEqual(["AUTH", ...range(ENTRIES).map(() => "PUBLISH")]);
    expect(await idsInLog(bus)).toEqual(range(ENTRIES));
    await shop.close();
    await close();
  });

  it("P10: keeps the order of a key: nothing goes out before an entry that the hub refuses", async () => {
    const { hub, bus, close } = await hubFixture();
    const shop = memoryStore();
    await shop.open();
    const client = new PromClient(hub.url, { token: "all" });
    await bus.defineTopic({ name: "orders", partitions: 1 });
    // The outbox takes what is too deep for the hub's bus.
    const deep = JSON.parse(`${"[".repeat(100)}${"]".repeat(100)}`);
    for (const [id, key, payload] of [
      ["1", "a", 1],
      ["2", "a", deep],
      ["3", "a", 3],
      ["4", "b", 4],
    ] as const)
      await shop.outbox.add({ id: `order-${id}`, topic: "orders", key, payload });
    const drainer = runOutboxDrainer(shop.outbox, client, { maxAttempts: 1, everyMs: 5 });
    await expect.poll(() => shop.outbox.stats()).toMatchObject({ dead: 1, sent: 2, pending: 1 });
    await drainer.stop();
    const events: unknown[] = [];
    for await (const event of bus.read("orders")) events.push(event.id);
    expect(events.sort()).toEqual(["order-1", "order-4"]);
    await client.close();
    await shop.close();
    await close();
  });

  it("P10: tells the client's listener what is refused and what is dead, by default as a warning", async () => {
    const { hub, close } = await hubFixture();
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", listen);
    const troubles: ClientTrouble[] = [];
    const shop = memoryStore();
    await shop.open();
    const clients = [
      new PromClient(hub.url, { token: "all", onTrouble: (trouble) => troubles.push(trouble) }),
      new PromClient(hub.url, { token: "all" }),
    ];
    for (const [n, client] of clients.entries()) {
      await shop.outbox.add({ id: `order-${n}`, topic: "Not A Topic", key: "a", payload: 1 });
      const options = { maxAttempts: 2 - n, retry: { maxMs: 1 }, everyMs: 5 };
      const drainer = runOutboxDrainer(shop.outbox, client, options);
      await expect.poll(() => drainer.stats().dead).toBe(1);
      await drainer.stop();
      await shop.outbox.discardDead([`order-${n}`]);
      await client.close();
    }
    process.off("warning", listen);
    const waits = 'entries of its key ("a") wait';
    expect(troubles).toMatchObject([
      {
        topic: "Not A Topic",
        error: { code: "INVALID_TOPIC", message: expect.stringContaining("is refused") },
      },
      { givenUp: true, error: { message: `entry order-0 of the outbox is dead; ${waits}` } },
    ]);
    expect(warnings.filter((text) => text.startsWith("entry"))).toEqual([
      expect.stringMatching(/^entry order-1 of the outbox is dead; .*: "Not A Topic" is not a topic name/),
    ]);
    await shop.close();
    await close();
  });
});
