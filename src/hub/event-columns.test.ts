import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { embeddedStore } from "../stores/embedded/index.js";
import type { ColumnsFrame } from "./protocol.js";

type Frame = Record<string, unknown> & { readonly type: string; readonly corr?: number };

const subscription = { topic: "t.a", group: "g" };
const SUBSCRIBE = { type: "SUBSCRIBE", ...subscription, opts: { from: "earliest", maxInFlight: 1_000 } };

let f: HubFixture;
let socket: WebSocket;
let frames: Frame[];
const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  socket.terminate();
  await f.close();
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function connect(takes: readonly string[]): Promise<void> {
  socket = new WebSocket(`${f.hub.url.replace("http", "ws")}/ws`);
  frames = [];
  socket.on("message", (data) => void frames.push(...[JSON.parse(String(data)) as Frame | Frame[]].flat()));
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
  send({ type: "AUTH", token: "all", takes });
  send(SUBSCRIBE);
}

const send = (frame: object): void => socket.send(JSON.stringify(frame));
const publish = (payloads: readonly unknown[]) =>
  f.bus.publishMany(
    "t.a",
    payloads.map((payload, n) => ({ payload, key: `k"${n}` })),
  );
const columns = (): ColumnsFrame[] =>
  frames.filter(({ type }) => type === "COLUMNS") as unknown as ColumnsFrame[];
const payloads = (): unknown[] => columns().flatMap((frame) => frame.payloads);
const seqs = (): number[] => columns().flatMap(({ seq, seqs, ids }) => seqs ?? ids.map((_, n) => seq + n));
const leases = (): number[] => columns().flatMap(({ lease, ids }) => ids.map((_, n) => lease + n));
const answer = (corr: number) => expect.poll(() => frames.find((frame) => frame.corr === corr));
const floor = () => expect.poll(async () => (await f.bus.getCursor("t.a", "g"))?.partitions[0]?.floor);

describe("events in columns", () => {
  it("P6: go to a client that takes them, numbered, few frames for many, and are settled by their numbers", async () => {
    f = await hubFixture();
    await publish(Array.from({ length: 500 }, (_, n) => ({ n })));
    await connect(["events", "columns"]);
    await expect.poll(() => payloads().length).toBe(500);
    const all = Array.from({ length: 500 }, (_, n) => n);
    expect(payloads()).toEqual(all.map((n) => ({ n })));
    expect(seqs()).toEqual(all.map((n) => n + 1));
    expect(columns().flatMap(({ keys }) => keys)).toEqual(all.map((n) => `k"${n}`));
    expect(leases()).toEqual(all.map((n) => n + 1));
    expect(columns().length).toBeLessThan(50);
    expect(columns()[0]).toMatchObject({
      ...subscription,
      partition: 0,
      ctx: { attempt: 1, max_attempts: 5 },
    });
    send({ type: "ACK", ...subscription, leases: [[1, 499]], corr: 2 });
    await answer(2).toEqual({ type: "OK", corr: 2 });
    await floor().toBe(499);
    send({ type: "NACK", ...subscription, lease: 500 });
    await expect.poll(() => columns().at(-1)).toMatchObject({ lease: 501, seq: 500, ctx: { attempt: 2 } });
  });

  it.each([
    [["columns"], "COLUMNS"],
    [["events"], "EVENTS"],
    [[], "EVENT"],
  ])("go to one that takes them and nothing else: who takes %o gets %s", async (takes, type) => {
    f = await hubFixture();
    await publish([1]);
    await connect(takes);
    await expect
      .poll(() =>
        frames
          .filter((frame) => frame.type.startsWith("EVENT") || frame.type === "COLUMNS")
          .map((frame) => frame.type),
      )
      .toEqual([type]);
  });

  it("P1: have payloads of every size and letter as they were stored, on a store that keeps bytes", async () => {
    const folder = await mkdtemp(join(tmpdir(), "promethean-columns-"));
    cleanUps.push(() => rm(folder, { recursive: true, force: true }));
    f = await hubFixture({ bus: { store: embeddedStore({ path: join(folder, "bus.db") }) } });
    const given = [
      ...["ä€😀", "x".repeat(70_000), "€".repeat(100_000), { a: [null, true, 'q"\\'] }],
      ...Array.from({ length: 40 }, (_, n) => "ü".repeat(n * 100)),
      ...[7, "", "x".repeat(300_000), null],
    ];
    await publish(given);
    await connect(["columns"]);
    await expect.poll(() => payloads().length).toBe(given.length);
    expect(payloads()).toEqual(given);
    send({ type: "ACK", ...subscription, leases: [[1, given.length]] });
    await floor().toBe(given.length);
  });

  it("P13: wait while their client does not read, and come in order then", async () => {
    f = await hubFixture({ limits: { maxSendBufferBytes: 10_000 } });
    await connect(["columns"]);
    socket.pause();
    for (let n = 0; n < 60; n++) await publish(Array.from({ length: 10 }, () => "x".repeat(20_000)));
    socket.resume();
    for (let acked = 0; acked < 600; acked = leases().length) {
      await expect.poll(() => leases().length).toBeGreaterThan(acked);
      send({ type: "ACK", ...subscription, leases: [[acked + 1, leases().length]] });
    }
    await floor().toBe(600);
    expect(seqs()).toEqual(Array.from({ length: 600 }, (_, n) => n + 1));
  });
});
