/**
 * This project beside others, on one machine and in one run: the same events, the same windows, and of each what it has
 * done before it answers. Servers of others run with their files in the temporary folder, as ours do: point TMPDIR at
 * the disk to be measured. What is not installed is reported as absent; `node scripts/peers.mjs` installs it on Debian.
 */
import { perSecond, windowed } from "../events.js";
import { findProgram } from "../server-process.js";
import type { Absent, Case, Ratio, Suite } from "../suite.js";
import { canSync, jetStream } from "./peers/jetstream.js";
import { latencies } from "./peers/latency.js";
import {
  bareHttp,
  bareSocket,
  busOnMongo,
  hubHttp,
  mongoDriver,
  rawLog,
  syncedSocket,
} from "./peers/others.js";
import { embedded, hub, memory } from "./peers/ours.js";
import { redis } from "./peers/redis.js";
import { redisClient } from "./peers/redis-client.js";
import { type Line, once, type System } from "./peers/system.js";

/** So many that every system has a fifth of a second to do at least. */
const EVENTS = 40_000;
/** What consumers read: enough that it is not their start that is measured. */
const LOGGED = 120_000;
const SINGLE = 2_000;
const POSTS = 5_000;
/** Before the clock starts: connections are open then, files have their first pages, and code that runs for weeks is compiled. */
const WARM = 5_000;

const PUBLISH = "publish, window 1,024";
const SERIAL = "publish, one at a time";
const POST = "publish, 64 at once";
const CONSUME = "consume and ack";
const P50 = "published to handled at 1,000 a second, p50";
const P99 = "published to handled at 1,000 a second, p99";

const nameOf = (kind: string, { name }: Pick<System, "name">): string => `${kind}: ${name}`;

/** A program speaks to one system: what another one made of the process must not cost it anything. */
const placeOf = ({ name, place = name }: System): string => place;

function publishing(kind: string, system: System, events: number, window: number): Case {
  return {
    name: nameOf(kind, system),
    unit: "events/s",
    durability: system.durability,
    place: placeOf(system),
    measure: async () => {
      const line = await system.open();
      try {
        await windowed(WARM, window, (n) => line.publish(n));
        return await perSecond(events, () => windowed(events, window, (n) => line.publish(n)));
      } finally {
        await line.close();
      }
    },
  };
}

const logs: ReturnType<typeof once<Line>>[] = [];

/** From the start of a new group until everything is handled, and settled in the system's books. The log is written once. */
function consuming(system: System): Case {
  const log = once(() => writtenLog(system));
  logs.push(log);
  let groups = 0;
  return {
    name: nameOf(CONSUME, system),
    unit: "events/s",
    place: placeOf(system),
    measure: async () => {
      const line = await log.get();
      return await perSecond(LOGGED, () => consumeAll(line, `bench-${++groups}`));
    },
  };
}

async function consumeAll(line: Line, group: string): Promise<void> {
  let handled = 0;
  let finish: () => void = () => undefined;
  const all = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const onEvent = (): void => {
    if (++handled === LOGGED) finish();
  };
  const consumer = await line.consume?.(onEvent, "earliest", group);
  await all;
  await consumer?.settled();
}

/** A line to a log of the system that holds what is to be read. */
async function writtenLog(system: System): Promise<Line> {
  const line = await system.open();
  await windowed(LOGGED, 1_024, (n) => line.publish(n));
  return line;
}

function waiting(system: System): Case {
  return {
    name: nameOf(P50, system),
    unit: "ms",
    durability: system.durability,
    place: placeOf(system),
    also: [{ name: nameOf(P99, system), unit: "ms" }],
    measure: async () => {
      const line = await system.open();
      try {
        return await latencies(line);
      } finally {
        await line.close();
      }
    },
  };
}

const CLIENT = { name: "JetStream, its client" };
const RAW = { name: "JetStream, bare inbox" };
const REDIS = { name: "Redis Streams always, its client" };
const PIPELINE = { name: "Redis Streams always, bare pipeline" };
const PIPELINE_EVERYSEC = { name: "Redis Streams everysec, bare pipeline" };
const ADVICE = "not installed: node scripts/peers.mjs";

const missing = ({ name }: Pick<System, "name">, why = ADVICE): Absent => ({ name, why });

/** What is here, and of the rest why it is not. */
interface Found {
  readonly systems: readonly System[];
  readonly absent: readonly Absent[];
}

function findJetStream(): Found {
  const program = findProgram("nats-server");
  if (program === undefined) return { systems: [], absent: [missing(RAW), missing(CLIENT)] };
  const { raw, client } = jetStream(program, false);
  const found = client === undefined ? [raw] : [raw, client];
  const absent = client === undefined ? [missing(CLIENT)] : [];
  if (!canSync(program)) {
    const why = "nats-server before 2.10 cannot sync each write";
    return { systems: found, absent: [...absent, missing({ name: "JetStream synced, bare inbox" }, why)] };
  }
  const synced = jetStream(program, true);
  return { systems: [...found, synced.raw, ...(synced.client ? [synced.client] : [])], absent };
}

function findRedis(): Found {
  const program = findProgram("redis-server");
  if (program === undefined)
    return { systems: [], absent: [REDIS, PIPELINE, PIPELINE_EVERYSEC].map((one) => missing(one)) };
  const bare = [redis(program, "always"), redis(program, "everysec")];
  const open = redisClient();
  if (open === undefined) return { systems: bare, absent: [missing(REDIS)] };
  return { systems: [...bare, redis(program, "always", { name: "its client", open })], absent: [] };
}

const peers = [findJetStream(), findRedis()];
const others = peers.flatMap(({ systems }) => systems);
const absent = peers.flatMap((found) => found.absent);

const publishers = [rawLog, embedded, hub, ...others, bareSocket, mongoDriver, busOnMongo, memory];
// The bare pipeline reads an answer anew with each piece of it that comes: of pages of a thousand it has no good figure.
const readers = others.filter(({ name }) => name !== PIPELINE.name && name !== PIPELINE_EVERYSEC.name);
const consumers = [embedded, hub, ...readers, mongoDriver, busOnMongo, memory];
const serial = [rawLog, embedded, hub, ...others, bareSocket, syncedSocket];
const followers = [embedded, hub, ...others];

function ratio(
  kind: string,
  of: System,
  to: Pick<System, "name">,
  goal: Pick<Ratio, "atLeast" | "atMost">,
): Ratio {
  return {
    name: `${kind}: ${of.name} / ${to.name}`,
    of: nameOf(kind, of),
    to: nameOf(kind, to),
    ...goal,
  };
}

export const suite: Suite = {
  name: "peers",
  // Servers that run for weeks are compared: a hub gets faster until it has seen some 200,000 events.
  warmUps: 3,
  cases: [
    ...publishers.map((system) => publishing(PUBLISH, system, EVENTS, 1_024)),
    ...serial.map((system) => publishing(SERIAL, system, SINGLE, 1)),
    ...[hubHttp, bareHttp].map((system) => publishing(POST, system, POSTS, 64)),
    ...consumers.map(consuming),
    ...followers.map(waiting),
  ],
  ratios: [
    ratio(PUBLISH, embedded, CLIENT, { atLeast: 8 }),
    ratio(PUBLISH, embedded, RAW, { atLeast: 1.1 }),
    ratio(PUBLISH, embedded, REDIS, { atLeast: 2.5 }),
    ratio(PUBLISH, embedded, PIPELINE, {}),
    ratio(PUBLISH, embedded, rawLog, { atLeast: 0.85 }),
    ratio(PUBLISH, hub, CLIENT, { atLeast: 5 }),
    ratio(PUBLISH, hub, RAW, { atLeast: 0.8 }),
    ratio(PUBLISH, busOnMongo, mongoDriver, { atLeast: 0.95 }),
    ratio(SERIAL, hub, CLIENT, { atLeast: 0.9 }),
    ratio(SERIAL, syncedSocket, CLIENT, {}),
    ratio(SERIAL, hub, syncedSocket, {}),
    ratio(POST, hubHttp, bareHttp, {}),
    ratio(CONSUME, hub, CLIENT, { atLeast: 2 }),
    ratio(CONSUME, hub, REDIS, { atLeast: 1 }),
    ratio(CONSUME, busOnMongo, mongoDriver, { atLeast: 0.8 }),
    ratio(P50, hub, CLIENT, { atMost: 1 }),
    ratio(P99, hub, CLIENT, { atMost: 1 }),
  ],
  absent,
  close: async () => {
    for (const log of logs) await (await log.made())?.close();
    const all = new Set([...publishers, ...serial, hubHttp, bareHttp, ...consumers, ...followers]);
    for (const system of all) await system.close?.();
  },
};
