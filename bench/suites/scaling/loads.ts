/** The loads of the scaling suite: what an event costs in a log, among topics, partitions and groups; what idling costs. */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import type { PublishOptions } from "../../../src/model/event-bus.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";
import { countdown, keyOf, milliseconds, payloadOf, timed, windowed } from "../../events.js";
import { publish, storeSink, TOPIC } from "../embedded/sinks.js";

export const WINDOW = 1_024;
/**
 * The code has to be compiled, in both threads, and the file to be grown, before an event costs what it will cost. The thread that
 * writes is a new one each time.
 */
const WARM = 120_000;
/** Where an append carries 16 events, or one, an event costs what it will cost after about 250,000: until then, up to half as much again. */
const SPREAD_WARM = 250_000;
const INDEXED_WARM = 60_000;
const WARM_TOPIC = "bench.warm";
/** Longer ones are filled once and grow a little with each measurement. */
const REFILL_UP_TO = 100_000;
const IDLE_MS = 4_000;
const SETTLE_MS = 1_000;

let files = 0;
const filled = new Map<string, string>();

/** A file of a kind with so many events. */
async function fileWith(
  folder: string,
  [kind, events]: readonly [kind: string, events: number],
  fill: (path: string) => Promise<void>,
): Promise<string> {
  const known = filled.get(`${kind} ${events}`);
  if (known !== undefined) return known;
  const path = join(folder, `log-${++files}`);
  await fill(path);
  if (events > REFILL_UP_TO) filled.set(`${kind} ${events}`, path);
  return path;
}

async function fillLog(path: string, events: number): Promise<void> {
  const sink = await storeSink(path);
  await publish(sink, { events, window: WINDOW, ids: "fresh" });
  await sink.close();
}

function remove(path: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
}

const send = (bus: Bus, topic: string, events: number): Promise<void> =>
  windowed(events, WINDOW, (n) => bus.publish(topic, payloadOf(n), { key: keyOf(n) }));

/** Processor time of an event that is published at the end of such a log, and of one that is consumed there. */
export async function inLog(folder: string, size: number, events: number): Promise<readonly number[]> {
  const path = await fileWith(folder, ["log", size], (file) => fillLog(file, size));
  const bus = await createBus({ store: embeddedStore({ path }) });
  try {
    // In another topic, so that the log keeps its size.
    await publishAndConsume(bus, WARM_TOPIC, WARM);
    return await publishAndConsume(bus, TOPIC, events);
  } finally {
    await bus.close();
    if (size <= REFILL_UP_TO) remove(path);
  }
}

/** Events that get an entry in an index each, anywhere among those that are there. */
export interface Indexed {
  readonly kind: string;
  readonly topic: { readonly name: string; readonly partitions: number; readonly keyed: boolean };
  options(n: number): PublishOptions;
}

/** Under ids that are nothing but chance. */
export const RANDOM_IDS: Indexed = {
  kind: "ids",
  topic: { name: TOPIC, partitions: 1, keyed: false },
  options: (n) => ({ key: keyOf(n), id: randomUUID() }),
};

/** Of a million customers in any order. */
export const MANY_KEYS: Indexed = {
  kind: "keys",
  topic: { name: TOPIC, partitions: 1, keyed: true },
  options: () => ({ key: `customer-${Math.floor(Math.random() * 1_000_000)}` }),
};

/** Processor time of such an event in a store with so many of them. */
export async function amongIndexed(
  folder: string,
  { kind, topic, options }: Indexed,
  { size, events }: { readonly size: number; readonly events: number },
): Promise<number> {
  const open = (path: string): Promise<Bus> => createBus({ store: embeddedStore({ path }), topics: [topic] });
  const sendTo = (bus: Bus, count: number): Promise<void> =>
    windowed(count, WINDOW, (n) => bus.publish(topic.name, payloadOf(n), options(n)));
  const path = await fileWith(folder, [kind, size], async (file) => {
    const filling = await open(file);
    await sendTo(filling, size);
    await filling.close();
  });
  const bus = await open(path);
  try {
    await sendTo(bus, INDEXED_WARM);
    const [, cost = Number.NaN] = await timed(events, () => sendTo(bus, events));
    return cost;
  } finally {
    await bus.close();
    if (size <= REFILL_UP_TO) remove(path);
  }
}

/** Processor time of an event in each of the two. */
async function publishAndConsume(bus: Bus, topic: string, events: number): Promise<readonly number[]> {
  const last = await bus.publish(topic, payloadOf(0));
  const [, published = Number.NaN] = await timed(events, () => send(bus, topic, events));
  const [, consumed = Number.NaN] = await timed(events, async () => {
    const handled = countdown(events);
    const group = `bench-${++files}`;
    const stop = await bus.subscribe(topic, group, handled.one, { from: "afterId", afterId: last.id });
    await handled.all;
    await stop();
  });
  return [published, consumed];
}

export interface Spread {
  readonly topics: number;
  readonly partitions: number;
  readonly groups: number;
  /** Events of one topic before the next has its turn: as many as one append holds, or one. */
  readonly run: number;
  /** Events that are published before the first of them is awaited. */
  readonly inFlight: number;
}

/** Processor time of an event from its publish until every group has handled it, spread evenly over the topics. */
export async function endToEnd(folder: string, spread: Spread, events: number): Promise<number> {
  const path = join(folder, `spread-${++files}`);
  const topics = Array.from({ length: spread.topics }, (_, n) => ({
    name: `bench.t${n}`,
    partitions: spread.partitions,
  }));
  const bus = await createBus({ store: embeddedStore({ path }), topics });
  try {
    const names = topics.map(({ name }) => name);
    const [warm, measured] = [countdown(spread.groups * SPREAD_WARM), countdown(spread.groups * events)];
    let handled = warm;
    for (let group = 0; group < spread.groups; group++)
      await bus.subscribe(names, `group-${group}`, () => handled.one());
    const sendAll = (count: number): Promise<void> =>
      windowed(count, spread.inFlight, (n) =>
        bus.publish(names[Math.floor(n / spread.run) % names.length] as string, payloadOf(n), {
          key: keyOf(n),
        }),
      );
    await sendAll(SPREAD_WARM);
    await warm.all;
    handled = measured;
    const [, cost = Number.NaN] = await timed(events, async () => {
      await sendAll(events);
      await measured.all;
    });
    return cost;
  } finally {
    await bus.close();
    remove(path);
  }
}

/** Share of a core, in percent, that groups use which have nothing to do; how long it took to subscribe them, and to look up their lags. */
export async function idling(
  folder: string,
  spread: Pick<Spread, "topics" | "groups">,
): Promise<readonly number[]> {
  const path = join(folder, `idle-${++files}`);
  const names = Array.from({ length: spread.topics }, (_, n) => `bench.idle${n}`);
  const topics = names.map((name) => ({ name, partitions: 1 }));
  const bus = await createBus({ store: embeddedStore({ path }), topics });
  try {
    const subscribedMs = await milliseconds(() =>
      Promise.all(
        Array.from({ length: spread.groups }, (_, n) => bus.subscribe(names, `group-${n}`, () => undefined)),
      ),
    );
    await sleep(SETTLE_MS);
    const before = process.cpuUsage();
    await sleep(IDLE_MS);
    const { user, system } = process.cpuUsage(before);
    const lagsMs = await milliseconds(() => bus.admin.lag());
    return [(user + system) / IDLE_MS / 10, subscribedMs, lagsMs];
  } finally {
    await bus.close();
    remove(path);
  }
}
