/** The hub on the embedded store, beside bare `ws` and bare node:http with the same frames and bodies. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Case, Suite } from "../suite.js";
import {
  consumeOverWs,
  dial,
  framesOf,
  paced,
  postAll,
  publishOverWs,
  publishText,
  quantiles,
  TOPIC,
} from "./hub/load.js";
import { syncedFile } from "./hub/synced-file.js";

const PUBLISHED = 60_000;
const POSTED = 15_000;
const BATCHES = 300;
const BATCH = 100;
const CONSUMED = 100_000;
const SUBSCRIBERS = 100;
const FANNED = 500;
const LATENCY_EVENTS = 3_000;
const WINDOW = 1_024;
const CONNECTIONS = 64;

interface ServerProcess {
  readonly port: number;
  readonly process: ChildProcess;
}

/** Started when first asked for, ended with this process: it sees that nobody listens any more. */
function server(name: string): () => Promise<ServerProcess> {
  let started: Promise<ServerProcess> | undefined;
  return () => {
    started ??= (async () => {
      const profile = process.env.PROMETHEAN_BENCH_PROFILE;
      const execArgv = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}/${name}`];
      const child = fork(fileURLToPath(new URL(`./hub/${name}.js`, import.meta.url)), { execArgv });
      const [message] = (await once(child, "message")) as [{ port: number }];
      child.unref();
      child.channel?.unref();
      return { port: message.port, process: child };
    })();
    return started;
  };
}

const hub = server("hub-server");
const bare = server("bare-server");
let topics = 0;
const freshTopic = (): string => `${TOPIC}.t${++topics}`;

/** Events a second, and the processor time that the server spent on one, in microseconds: all of its threads. */
async function timed(
  at: () => Promise<ServerProcess>,
  events: number,
  work: () => Promise<void>,
): Promise<readonly [number, number]> {
  const { process: child } = await at();
  const before = await spent(child);
  const startMs = performance.now();
  await work();
  const tookMs = performance.now() - startMs;
  return [(events / tookMs) * 1_000, ((await spent(child)) - before) / events];
}

/** Microseconds of processor time since it began. */
async function spent(child: ChildProcess): Promise<number> {
  child.channel?.ref();
  child.send("spent");
  const [{ spentUs }] = (await once(child, "message")) as [{ spentUs: number }];
  child.channel?.unref();
  return spentUs;
}

async function publishing(to: () => Promise<ServerProcess>, path: string): Promise<readonly number[]> {
  const socket = await dial((await to()).port, path);
  const topic = freshTopic();
  await publishOverWs(socket, topic, 2_000, WINDOW);
  const figures = await timed(to, PUBLISHED, () => publishOverWs(socket, topic, PUBLISHED, WINDOW));
  socket.terminate();
  return figures;
}

async function posting(
  to: () => Promise<ServerProcess>,
  requests: number,
  batch: number,
): Promise<readonly number[]> {
  const { port } = await to();
  const topic = freshTopic();
  const one = (n: number): string =>
    publishText(n, topic)
      .replace('"type":"PUBLISH",', "")
      .replace(/,"corr":\d+}$/, "}");
  const body = (n: number): string =>
    batch === 1 ? one(n) : `[${Array.from({ length: batch }, (_, i) => one(n * batch + i)).join(",")}]`;
  await postAll(port, { connections: CONNECTIONS, requests: Math.ceil(requests / 10), body });
  return timed(to, requests * batch, () => postAll(port, { connections: CONNECTIONS, requests, body }));
}

let filled: Promise<string> | undefined;
function filledTopic(): Promise<string> {
  filled ??= (async () => {
    const socket = await dial((await hub()).port, "/ws");
    const topic = freshTopic();
    await publishOverWs(socket, topic, CONSUMED, WINDOW);
    socket.terminate();
    return topic;
  })();
  return filled;
}

let groups = 0;
async function consuming(): Promise<readonly number[]> {
  const topic = await filledTopic();
  const socket = await dial((await hub()).port, "/ws");
  const group = `g${++groups}`;
  const opts = { from: "earliest", maxInFlight: 1_000 };
  const figures = await timed(hub, CONSUMED, () =>
    consumeOverWs(
      socket,
      [{ type: "SUBSCRIBE", topic, group, opts }],
      CONSUMED,
      ({ event, ctx }) =>
        `{"type":"ACK","topic":"${topic}","group":"${group}","id":"${event?.id}","attempt":${ctx?.attempt},"epoch":${ctx?.epoch}}`,
    ),
  );
  socket.terminate();
  return figures;
}

async function taking(): Promise<readonly number[]> {
  const socket = await dial((await bare()).port, "/sends");
  const figures = await timed(bare, CONSUMED, () =>
    consumeOverWs(
      socket,
      { events: CONSUMED, window: 1_000 },
      CONSUMED,
      ({ event, ctx }) =>
        `{"type":"ACK","topic":"${TOPIC}","group":"g","id":"${event?.id}","attempt":${ctx?.attempt},"epoch":${ctx?.epoch}}`,
    ),
  );
  socket.terminate();
  return figures;
}

/** Deliveries a second to subscribers that each get everything. */
async function fanningOut(): Promise<readonly number[]> {
  const { port } = await hub();
  const topic = freshTopic();
  const publisher = await dial(port, "/ws");
  await publishOverWs(publisher, topic, 1, 1);
  let taken = 0;
  let done: () => void = () => undefined;
  const subscribers = await Promise.all(
    Array.from({ length: SUBSCRIBERS }, async (_, i) => {
      const socket = await dial(port, "/ws");
      const group = `f${++groups}-${i}`;
      await new Promise<void>((resolve) => {
        socket.on("message", (data) => {
          const frames = framesOf(data);
          const events = frames.filter(({ type }) => type === "EVENT");
          if (events.length < frames.length) resolve();
          if (events.length === 0) return;
          taken += events.length;
          socket.send(
            `[${events.map(({ event }) => `{"type":"ACK","topic":"${topic}","group":"${group}","id":"${event?.id}"}`).join(",")}]`,
          );
          if (taken === FANNED * SUBSCRIBERS) done();
        });
        socket.send(JSON.stringify([{ type: "SUBSCRIBE", topic, group, opts: { from: "latest" }, corr: 1 }]));
      });
      return socket;
    }),
  );
  const figures = await timed(hub, FANNED * SUBSCRIBERS, async () => {
    const all = new Promise<void>((resolve) => {
      done = resolve;
    });
    await publishOverWs(publisher, topic, FANNED, 64);
    await all;
  });
  for (const socket of [publisher, ...subscribers]) socket.terminate();
  return figures;
}

/** From just before a publish is sent until the event is there, at a thousand a second: median and 99th percentile. */
async function latency(): Promise<readonly number[]> {
  const { port } = await hub();
  const topic = freshTopic();
  const [publisher, subscriber] = [await dial(port, "/ws"), await dial(port, "/ws")];
  await publishOverWs(publisher, topic, 1, 1);
  const group = `l${++groups}`;
  const found: number[] = [];
  const sentMs: number[] = [];
  publisher.on("message", (data) => void framesOf(data));
  await new Promise<void>((resolve) => {
    subscriber.on("message", (data) => {
      const nowMs = performance.now();
      for (const { type, event } of framesOf(data)) {
        if (type === "OK") resolve();
        if (type !== "EVENT" || event === undefined) continue;
        found.push(nowMs - (sentMs[(event.payload as { order: number }).order] ?? nowMs));
        subscriber.send(`[{"type":"ACK","topic":"${topic}","group":"${group}","id":"${event.id}"}]`);
      }
    });
    subscriber.send(JSON.stringify([{ type: "SUBSCRIBE", topic, group, opts: { from: "latest" }, corr: 1 }]));
  });
  await paced(LATENCY_EVENTS, (n) => {
    sentMs[n] = performance.now();
    publisher.send(`[${publishText(n, topic)}]`);
  });
  while (found.length < LATENCY_EVENTS) await new Promise((resolve) => setTimeout(resolve, 5));
  for (const socket of [publisher, subscriber]) socket.terminate();
  return quantiles(found, [0.5, 0.99]);
}

const rate = (name: string, measure: Case["measure"]): Case => ({
  name,
  unit: "events/s",
  also: [{ name: `${name}, processor time`, unit: "µs/event" }],
  measure,
});

const WS_PUBLISH = "WS publish, window 1,024: hub";
const WS_ECHO = "WS publish, window 1,024: bare ws";
const HTTP_PUBLISH = "HTTP publish, 64 connections: hub";
const HTTP_BARE = "HTTP publish, 64 connections: bare node:http";
const CONSUME = "consume and ack over one WS: hub";
const SENDS = "consume and ack over one WS: bare corked ws";

export const suite: Suite = {
  name: "hub",
  cases: [
    rate(WS_PUBLISH, () => publishing(hub, "/ws")),
    rate(WS_ECHO, () => publishing(bare, "/echo")),
    rate(HTTP_PUBLISH, () => posting(hub, POSTED, 1)),
    rate(HTTP_BARE, () => posting(bare, POSTED, 1)),
    rate("HTTP publish by 100, 64 connections: hub", () => posting(hub, BATCHES, BATCH)),
    rate("HTTP publish by 100, 64 connections: bare node:http", () => posting(bare, BATCHES, BATCH)),
    rate(CONSUME, consuming),
    rate(SENDS, taking),
    rate("fan-out to 100 WS subscribers: hub", fanningOut),
    {
      name: "published to received at 1,000/s, median",
      unit: "ms",
      also: [{ name: "published to received at 1,000/s, 99th percentile", unit: "ms" }],
      measure: latency,
    },
    {
      name: "appended to synced at 1,000/s, a file alone, median",
      unit: "ms",
      also: [{ name: "appended to synced at 1,000/s, a file alone, 99th percentile", unit: "ms" }],
      measure: () => syncedFile(LATENCY_EVENTS),
    },
  ],
  ratios: [
    { name: "WS publish: hub / bare ws", of: WS_PUBLISH, to: WS_ECHO, atLeast: 0.5 },
    { name: "HTTP publish: hub / bare node:http", of: HTTP_PUBLISH, to: HTTP_BARE, atLeast: 0.7 },
    { name: "consume and ack: hub / bare corked ws", of: CONSUME, to: SENDS, atLeast: 0.4 },
  ],
};
