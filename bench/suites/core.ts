/** The bus itself, on the memory store: what publishing and delivery cost when storing costs nothing. */
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { keyOf, payloadOf, timed, windowed } from "../events.js";
import type { Case, Suite } from "../suite.js";

const TOPIC = "bench.events";
const WINDOW = 1_024;
const BATCH = 100;

async function withBus<T>(work: (bus: Bus) => Promise<T>): Promise<T> {
  const bus = await createBus({ store: memoryStore() });
  try {
    return await work(bus);
  } finally {
    await bus.close();
  }
}

function publishOneByOne(bus: Bus, events: number): Promise<void> {
  return windowed(events, WINDOW, (n) => bus.publish(TOPIC, payloadOf(n), { key: keyOf(n) }));
}

async function publishInBatches(bus: Bus, events: number): Promise<void> {
  for (let n = 0; n < events; n += BATCH) {
    const items = Array.from({ length: BATCH }, (_, i) => ({
      payload: payloadOf(n + i),
      key: keyOf(n + i),
    }));
    await bus.publishMany(TOPIC, items);
  }
}

/** Resolves when every group has handled that many events. */
async function subscribeAll(bus: Bus, groups: number, events: number): Promise<{ done: Promise<unknown> }> {
  const waits: Promise<void>[] = [];
  for (let group = 0; group < groups; group++) {
    let handled = 0;
    let finish: () => void = () => undefined;
    waits.push(
      new Promise((resolve) => {
        finish = resolve;
      }),
    );
    const handle = async (): Promise<void> => {
      if (++handled === events) finish();
    };
    await bus.subscribe(TOPIC, `group-${group}`, handle, { from: "earliest" });
  }
  return { done: Promise.all(waits) };
}

async function endToEnd(groups: number, events: number): Promise<readonly number[]> {
  return withBus(async (bus) => {
    const { done } = await subscribeAll(bus, groups, events);
    return timed(events, async () => {
      await publishOneByOne(bus, events);
      await done;
    });
  });
}

async function catchUp(events: number): Promise<readonly number[]> {
  return withBus(async (bus) => {
    await publishInBatches(bus, events);
    return timed(events, async () => {
      const { done } = await subscribeAll(bus, 1, events);
      await done;
    });
  });
}

async function heapPerEvent(events: number): Promise<number> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error("the heap is measured with node --expose-gc");
  return withBus(async (bus) => {
    await publishInBatches(bus, BATCH);
    gc();
    const before = process.memoryUsage().heapUsed;
    await publishInBatches(bus, events);
    gc();
    return (process.memoryUsage().heapUsed - before) / events;
  });
}

const cpu = (name: string): string => `${name}, processor time`;
const timedCase = (name: string, measure: Case["measure"]): Case => ({
  name,
  unit: "events/s",
  also: [{ name: cpu(name), unit: "µs/event" }],
  measure,
});

const ONE_GROUP = "publish to handled, 1 group";
const TEN_GROUPS = "publish to handled, 10 groups";

export const suite: Suite = {
  name: "core",
  cases: [
    timedCase("publish one by one, window 1,024", () =>
      withBus((bus) => timed(50_000, () => publishOneByOne(bus, 50_000))),
    ),
    timedCase("publishMany by 100", () =>
      withBus((bus) => timed(50_000, () => publishInBatches(bus, 50_000))),
    ),
    { ...timedCase(ONE_GROUP, () => endToEnd(1, 100_000)), atLeast: 400_000 },
    timedCase(TEN_GROUPS, () => endToEnd(10, 50_000)),
    timedCase("catch up, 1 group", () => catchUp(50_000)),
    { name: "heap of an event in the log", unit: "bytes", measure: () => heapPerEvent(50_000) },
  ],
  ratios: [
    { name: "10 groups / 1 group, processor time", of: cpu(TEN_GROUPS), to: cpu(ONE_GROUP), atMost: 3 },
    { name: "10 groups / 1 group, time", of: ONE_GROUP, to: TEN_GROUPS, atMost: 3 },
  ],
};
