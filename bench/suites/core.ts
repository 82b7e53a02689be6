/** The bus itself, on the memory store: what publishing and delivery cost when storing costs nothing. */
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { keyOf, payloadOf, timed, windowed } from "../events.js";
import type { Case, Suite } from "../suite.js";

const TOPIC = "bench.events";
const WINDOW = 1_024;
const BATCH = 100;
/**
 * The collection before each turn throws compiled code away: the first 20,000 events after it cost four times as much as those
 * that follow, and until 200,000 have passed the compiler's threads take 1.5 to 2 µs an event. A process that is at work is not in that state.
 */
const WARM = 200_000;
/** All events are kept, so the heap grows: among so many there is always a full collection, among 100,000 only now and then. */
const UNTIL_COLLECTED = 300_000;
/** A catch-up is short, and what the compiler does in it a matter of chance: several in a row count, after several that do not. */
const CATCH_UPS = 4;

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

type Publish = (bus: Bus, events: number) => Promise<void>;

/** Counts what its groups handle; `all` resolves when they have handled so many together. */
class Handlers {
  #left = 0;
  #finish: () => void = () => undefined;

  async subscribe(bus: Bus, group: string): Promise<void> {
    const handle = async (): Promise<void> => {
      if (--this.#left === 0) this.#finish();
    };
    await bus.subscribe(TOPIC, group, handle, { from: "earliest" });
  }

  all(events: number): Promise<void> {
    this.#left = events;
    return new Promise((resolve) => {
      this.#finish = resolve;
    });
  }
}

function published(publish: Publish, events: number): Promise<readonly number[]> {
  return withBus(async (bus) => {
    await publish(bus, WARM);
    return timed(events, () => publish(bus, events));
  });
}

function endToEnd(publish: Publish, groups: number, events: number): Promise<readonly number[]> {
  return withBus(async (bus) => {
    const handlers = new Handlers();
    for (let group = 0; group < groups; group++) await handlers.subscribe(bus, `group-${group}`);
    const untilHandled = async (count: number): Promise<void> => {
      const done = handlers.all(groups * count);
      await publish(bus, count);
      await done;
    };
    await untilHandled(WARM);
    return timed(events, () => untilHandled(events));
  });
}

function catchUp(events: number): Promise<readonly number[]> {
  return withBus(async (bus) => {
    const handlers = new Handlers();
    const untilHandled = async (kind: string): Promise<void> => {
      for (let n = 0; n < CATCH_UPS; n++) {
        const done = handlers.all(events);
        await handlers.subscribe(bus, `${kind}-${n}`);
        await done;
      }
    };
    await publishInBatches(bus, events);
    await untilHandled("warm");
    return timed(CATCH_UPS * events, () => untilHandled("measured"));
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
/** Each in a process of its own: what V8 has learned from ten groups must not cost the one that publishes anything. */
const timedCase = (name: string, measure: Case["measure"]): Case => ({
  name,
  place: name,
  unit: "events/s",
  also: [{ name: cpu(name), unit: "µs/event" }],
  measure,
});

const ONE_GROUP = "publish to handled, 1 group";
const TEN_GROUPS = "publish to handled, 10 groups";

export const suite: Suite = {
  name: "core",
  cases: [
    timedCase("publish one by one, window 1,024", () => published(publishOneByOne, 50_000)),
    timedCase("publishMany by 100", () => published(publishInBatches, 50_000)),
    { ...timedCase(ONE_GROUP, () => endToEnd(publishOneByOne, 1, UNTIL_COLLECTED)), atLeast: 400_000 },
    timedCase("publishMany by 100 to handled, 1 group", () => endToEnd(publishInBatches, 1, UNTIL_COLLECTED)),
    timedCase(TEN_GROUPS, () => endToEnd(publishOneByOne, 10, UNTIL_COLLECTED)),
    timedCase("catch up, 1 group", () => catchUp(50_000)),
    { name: "heap of an event in the log", unit: "bytes", measure: () => heapPerEvent(50_000) },
  ],
  ratios: [
    { name: "10 groups / 1 group, processor time", of: cpu(TEN_GROUPS), to: cpu(ONE_GROUP), atMost: 3 },
    { name: "10 groups / 1 group, time", of: ONE_GROUP, to: TEN_GROUPS, atMost: 3 },
  ],
};
