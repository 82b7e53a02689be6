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
import { bareHttp, bareSocket, busOnMongo, hubHttp, mongoDriver, rawLog } from "./peers/others.js";
import { embedded, hub, memory } from "./peers/ours.js";
import { redis } from "./peers/redis.js";
import type { System } from "./peers/system.js";

const EVENTS = 20_000;
const SINGLE = 1_000;
const POSTS = 3_000;

const PUBLISH = "publish, window 1,024";
const SERIAL = "publish, one at a time";
const POST = "publish, 64 at once";
const CONSUME = "consume and ack";
const P50 = "published to handled at 1,000 a second, p50";
const P99 = "published to handled at 1,000 a second, p99";

const nameOf = (kind: string, { name }: Pick<System, "name">): string => `${kind}: ${name}`;

function publishing(kind: string, system: System, events: number, window: number): Case {
  return {
    name: nameOf(kind, system),
    unit: "events/s",
    durability: system.durability,
    measure: async () => {
      const line = await system.open();
      try {
        await windowed(Math.min(events, 500), window, (n) => line.publish(n));
        return await perSecond(events, () => windowed(events, window, (n) => line.publish(n)));
      } finally {
        await line.close();
      }
    },
  };
}

/** From the start of a new consumer until everything is handled, and settled in the system's books. */
function consuming(system: System): Case {
  return {
    name: nameOf(CONSUME, system),
    unit: "events/s",
    measure: async () => {
      const line = await system.open();
      try {
        await windowed(EVENTS, 1_024, (n) => line.publish(n));
        return await perSecond(EVENTS, async () => {
          let handled = 0;
          let finish: () => void = () => undefined;
          const all = new Promise<void>((resolve) => {
            finish = resolve;
          });
          const consumer = await line.consume?.(() => {
            if (++handled === EVENTS) finish();
          }, "earliest");
          await all;
          await consumer?.settled();
        });
      } finally {
        await line.close();
      }
    },
  };
}

function waiting(system: System): Case {
  return {
    name: nameOf(P50, system),
    unit: "ms",
    durability: system.durability,
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

/** What is here, and of the rest why it is not. */
interface Found {
  readonly systems: Readonly<Record<"client" | "raw" | "always" | "everysec", System | undefined>>;
  readonly synced: readonly System[];
  readonly absent: readonly Absent[];
}

function find(): Found {
  const [nats, redisServer] = [findProgram("nats-server"), findProgram("redis-server")];
  const js = nats === undefined ? undefined : jetStream(nats, false);
  const synced = nats !== undefined && canSync(nats) ? jetStream(nats, true) : undefined;
  const advice = "not installed: node scripts/peers.mjs";
  const absent: Absent[] = [];
  if (nats === undefined) absent.push({ name: "JetStream, bare inbox", why: advice });
  if (js?.client === undefined) absent.push({ name: "JetStream, its client", why: advice });
  if (nats !== undefined && synced === undefined)
    absent.push({
      name: "JetStream synced, bare inbox",
      why: "nats-server before 2.10 cannot sync each write",
    });
  if (redisServer === undefined)
    for (const sync of ["always", "everysec"]) absent.push({ name: `Redis Streams, ${sync}`, why: advice });
  return {
    systems: {
      client: js?.client,
      raw: js?.raw,
      always: redisServer === undefined ? undefined : redis(redisServer, "always"),
      everysec: redisServer === undefined ? undefined : redis(redisServer, "everysec"),
    },
    synced: [synced?.client, synced?.raw].filter((system) => system !== undefined),
    absent,
  };
}

const { systems, synced, absent } = find();
const { client, raw, always, everysec } = systems;
const present = (...of: readonly (System | undefined)[]): System[] => of.filter((one) => one !== undefined);

const publishers = [
  rawLog,
  embedded,
  ...present(raw, client),
  ...synced,
  hub,
  bareSocket,
  ...present(always, everysec),
  mongoDriver,
  busOnMongo,
  memory,
];
const consumers = [embedded, hub, ...present(client, raw, always, everysec), mongoDriver, busOnMongo, memory];
const serial = [rawLog, embedded, hub, ...present(client, raw, always, everysec)];
const followers = [embedded, hub, ...present(client, raw, always)];

const CLIENT = { name: "JetStream, its client" };
const RAW = { name: "JetStream, bare inbox" };
const ALWAYS = { name: "Redis Streams, always" };

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
    ratio(PUBLISH, embedded, ALWAYS, { atLeast: 2.5 }),
    ratio(PUBLISH, embedded, rawLog, { atLeast: 0.85 }),
    ratio(PUBLISH, hub, CLIENT, { atLeast: 5 }),
    ratio(PUBLISH, hub, RAW, { atLeast: 0.8 }),
    ratio(PUBLISH, busOnMongo, mongoDriver, { atLeast: 0.95 }),
    ratio(SERIAL, hub, CLIENT, { atLeast: 0.9 }),
    ratio(POST, hubHttp, bareHttp, {}),
    ratio(CONSUME, hub, CLIENT, { atLeast: 2 }),
    ratio(CONSUME, hub, ALWAYS, { atLeast: 1 }),
    ratio(CONSUME, busOnMongo, mongoDriver, { atLeast: 0.8 }),
    ratio(P50, hub, CLIENT, { atMost: 1 }),
    ratio(P99, hub, CLIENT, { atMost: 1 }),
  ],
  absent,
  close: async () => {
    const all = new Set([...publishers, ...serial, hubHttp, bareHttp, ...consumers, ...followers]);
    for (const system of all) await system.close?.();
  },
};
