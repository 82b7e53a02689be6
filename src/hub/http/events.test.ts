import { SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { gate } from "../../../test/support/eventually.js";
import { as, type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import type { EventRecord } from "../../model/event.js";
import { ManualClock } from "../../model/manual-clock.js";
import { defineTopic } from "../../model/topic.js";

interface Sent {
  readonly id: string;
  readonly event: EventRecord<number>;
}

/** Reads an SSE stream until it has `count` events, or to its end. */
async function readEvents(
  response: Response,
  count: number,
  onEvent: () => void = () => undefined,
): Promise<Sent[]> {
  const found: Sent[] = [];
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() as string;
    for (const block of blocks) {
      const lines = block.split("\n");
      const data = lines.filter((line) => line.startsWith("data: "));
      const id = lines.find((line) => line.startsWith("id: "))?.slice(4) ?? "";
      expect(data.length).toBeLessThanOrEqual(1);
      if (data[0] !== undefined) {
        found.push({ id, event: JSON.parse(data[0].slice(6)) as EventRecord<number> });
        onEvent();
      }
      if (found.length === count) return found;
    }
  }
  return found;
}

describe("GET /events", () => {
  let f: HubFixture;
  beforeEach(async () => {
    f = await hubFixture({ bus: { topics: [defineTopic("ticks", { partitions: 3 })] } });
    for (let n = 0; n < 30; n++) await f.bus.publish("ticks", n, { key: `k${n}` });
  });
  afterEach(() => f.close());

  it("P4: sends what is there, then what comes, each partition in order, one data line an event", async () => {
    const response = await f.get("/events?topic=ticks&from=earliest");
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const reading = readEvents(response, 31);
    await f.bus.publish("ticks", 30, { key: "k30" });
    const events = (await reading).map(({ event }) => event);
    expect(events.map(({ payload }) => payload).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 31 }, (_, n) => n),
    );
    for (const partition of [0, 1, 2]) {
      const seqs = events.filter((event) => event.partition === partition).map(({ seq }) => seq);
      expect(seqs).toEqual(seqs.map((_, i) => i + 1));
    }
  });

  it("goes on exactly after any event, by Last-Event-ID", async () => {
    const all = await readEvents(await f.get("/events?topic=ticks&from=earliest"), 30);
    for (const at of [0, 7, 13, 28]) {
      const headers = { "last-event-id": all[at]?.id as string };
      const rest = await readEvents(await f.get("/events?topic=ticks", { headers }), 29 - at);
      const seen = [...all.slice(0, at + 1), ...rest].map(({ event }) => event.id);
      expect(new Set(seen).size).toBe(30);
    }
    const headers = { "last-event-id": "nonsense" };
    expect((await f.get("/events?topic=ticks", { headers })).status).toBe(400);
  });

  it("begins at the end unless told otherwise, and passes over other keys and partitions", async () => {
    const latest = readEvents(await f.get("/events?topic=ticks&key=mine"), 1);
    await f.bus.publish("ticks", 100, { key: "other" });
    const { partition } = await f.bus.publish("ticks", 101, { key: "mine" });
    expect((await latest).map(({ event }) => event.payload)).toEqual([101]);
    const lane = await f.get(`/events?topic=ticks&from=earliest&partition=${partition}`);
    expect((await readEvents(lane, 3)).every(({ event }) => event.partition === partition)).toBe(true);
  });

  it("reads no other partition than the one that is asked for", async () => {
    const read = vi.spyOn(f.bus.store.log, "read");
    const ends = await f.bus.store.log.heads("ticks");
    const { head = 0 } = ends.find(({ partition }) => partition === 1) ?? {};
    const lane = await f.get("/events?topic=ticks&from=earliest&partition=1");
    const events = (await readEvents(lane, head)).map(({ event }) => event);
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: head }, (_, n) => n + 1));
    expect(new Set(read.mock.calls.map(([, partition]) => partition))).toEqual(new Set([1]));
  });

  it("P13: HEAD is answered as GET is, and leaves no stream behind", async () => {
    await f.close();
    f = await hubFixture({ limits: { maxConnectionsPerSubject: 1 } });
    await f.bus.publish("ticks", 1);
    for (let n = 0; n < 2; n++) {
      const response = await f.get("/events?topic=ticks&from=earliest", { method: "HEAD" });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toContain("text/event-stream");
    }
    expect(await readEvents(await f.get("/events?topic=ticks&from=earliest"), 1)).toHaveLength(1);
  });

  it("P13: a reader that stops holds back its own stream only, and gets everything once it reads on", async () => {
    const slow = await f.get("/events?topic=ticks&from=earliest");
    const filler = "x".repeat(20_000);
    for (let n = 0; n < 300; n++) await f.bus.publish("ticks", `${n}${filler}`);
    const quick = await readEvents(await f.get("/events?topic=ticks&from=earliest"), 330);
    expect(quick).toHaveLength(330);
    expect(await readEvents(slow, 330)).toHaveLength(330);
  });
});

describe("GET /events in time", () => {
  const text = (chunk: Uint8Array | undefined): string => new TextDecoder().decode(chunk);

  it("sends a sign of life every 15 s, with the place to go on from", async () => {
    const clock = new ManualClock();
    const f = await hubFixture({ bus: { clock } });
    await f.bus.publish("ticks", 1);
    const response = await f.get("/events?topic=ticks");
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const first = text((await reader.read()).value);
    expect(first).toMatch(/^: ticks\nid: (\S+)\n\n$/);
    for (let beats = 0; beats < 3; beats++) {
      await clock.advance(15_000);
      expect(text((await reader.read()).value)).toBe(first.replace(": ticks", ":"));
    }
    await reader.cancel();
    await f.close();
  });

  it("ends when the caller's token runs out", async () => {
    const secret = "0123456789abcdef0123456789abcdef";
    const clock = new ManualClock({ startMs: Date.now() });
    const f = await hubFixture({ bus: { clock }, auth: { jwt: { secret } } });
    await f.bus.publish("ticks", 1);
    const token = await new SignJWT({ scopes: ["read:ticks"] })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime(Math.floor(Date.now() / 1_000) + 60)
      .sign(new TextEncoder().encode(secret));
    const response = await f.get("/events?topic=ticks&from=earliest", as(token));
    expect(response.status).toBe(200);
    const first = gate();
    const reading = readEvents(response, 2, first.open);
    await first.passed;
    await clock.advance(120_000);
    expect(await reading).toHaveLength(1);
    await f.close();
  });

  it("ends when the hub closes, at once: no time has to pass for it", async () => {
    const f = await hubFixture({ bus: { clock: new ManualClock() } });
    for (let n = 0; n < 30; n++) await f.bus.publish("ticks", n);
    const reading = readEvents(await f.get("/events?topic=ticks&from=earliest"), 1_000);
    await f.hub.close();
    expect((await reading).length).toBeLessThanOrEqual(30);
    await f.close();
  });

  it("P13: ends a stream whose reader stays behind, in bounded memory; it goes on where it was", async () => {
    const clock = new ManualClock();
    const f = await hubFixture({ bus: { clock }, limits: { slowConsumerMs: 20_000 } });
    const filler = "x".repeat(50_000);
    for (let n = 0; n < 400; n++) await f.bus.publish("ticks", { n, filler });
    const follow = vi.spyOn(f.bus, "follow");
    const response = await f.get("/events?topic=ticks&from=earliest");
    const signal = follow.mock.calls[0]?.[2];
    // It is behind once the sockets between it and the hub are full.
    const passTime = async (): Promise<boolean | undefined> => {
      await clock.advance(15_000);
      return signal?.aborted;
    };
    await expect.poll(passTime).toBe(true);
    const seen = await readEvents(response, 1_000);
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.length).toBeLessThan(400);
    const headers = { "last-event-id": seen.at(-1)?.id as string };
    const rest = await readEvents(await f.get("/events?topic=ticks", { headers }), 400 - seen.length);
    const ids = [...seen, ...rest].map(({ event }) => event.id);
    expect(new Set(ids).size).toBe(400);
    await f.close();
  });
});

it("many streams at once leave the process without warnings", async () => {
  const warnings: string[] = [];
  const warn = ({ name }: Error): void => void warnings.push(name);
  process.on("warning", warn);
  const f = await hubFixture();
  await f.bus.publish("ticks", 1);
  const streams = await Promise.all(
    Array.from({ length: 30 }, () => f.get("/events?topic=ticks&from=earliest")),
  );
  for (const stream of streams) expect(await readEvents(stream, 1)).toHaveLength(1);
  await f.close();
  process.off("warning", warn);
  expect(warnings).toEqual([]);
});
