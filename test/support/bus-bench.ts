/** Buses for tests: on one memory store and one manual clock, closed when the test is over. */
import { afterEach } from "vitest";
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import type { BusInternals, BusOptions } from "../../src/bus/options.js";
import type { EventRecord } from "../../src/model/event.js";
import type { DeliveryContext, Handler, ReadPosition } from "../../src/model/event-bus.js";
import { ManualClock } from "../../src/model/manual-clock.js";
import type { Trouble } from "../../src/model/trouble.js";
import type { Store } from "../../src/ports/store.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import type { FaultyStore } from "../../src/testing/faulty-store/index.js";
import { settled } from "./eventually.js";

/** What a handler saw of one delivery. */
export interface Seen {
  readonly payload: unknown;
  readonly key: string | undefined;
  readonly topic: string;
  readonly seq: number;
  readonly attempt: number;
}

export class BusBench {
  readonly clock = new ManualClock();
  readonly store: Store;
  readonly troubles: Trouble[] = [];
  readonly #buses: Bus[] = [];

  constructor(store: Store = memoryStore()) {
    this.store = store;
  }

  async bus(options: Partial<BusOptions> = {}, internals: BusInternals = {}): Promise<Bus> {
    const bus = await createBus(
      {
        store: this.store,
        clock: this.clock,
        onTrouble: (trouble) => this.troubles.push(trouble),
        ...options,
      },
      internals,
    );
    this.#buses.push(bus);
    return bus;
  }

  /** Closes every bus, moving the clock for those that wait for something. A crashed process closes nothing. */
  async close(): Promise<void> {
    const living = this.#buses.filter(({ store }) => (store as Partial<FaultyStore>).state !== "dead");
    let open = living.length;
    for (const bus of living)
      void bus.close().finally(() => {
        open--;
      });
    for (let i = 0; i < 200 && open > 0; i++) await this.clock.advance(1_000);
    if (open > 0) throw new Error("a bus did not close");
  }

  /** Lets everything that is ready happen, then moves the clock. */
  async advance(ms: number): Promise<void> {
    await settled();
    await this.clock.advance(ms);
    await settled();
  }
}

/** A bench that is closed after each test; call it inside `describe`. */
export function useBench(makeStore: () => Store = memoryStore): () => BusBench {
  let bench: BusBench | undefined;
  afterEach(async () => {
    const over = bench;
    bench = undefined;
    await over?.close();
  });
  return () => {
    bench ??= new BusBench(makeStore());
    return bench;
  };
}

/** A handler that notes what it sees, then does what `act` does. */
export function recorder(act: (event: EventRecord, ctx: DeliveryContext) => unknown = () => undefined): {
  readonly seen: Seen[];
  readonly handler: Handler;
  payloads(): unknown[];
} {
  const seen: Seen[] = [];
  return {
    seen,
    handler: (event, ctx) => {
      const { payload, key, topic, seq } = event;
      seen.push({ payload, key, topic, seq, attempt: ctx.attempt });
      return act(event, ctx);
    },
    payloads: () => seen.map(({ payload }) => payload),
  };
}

/** Never ends. */
/** The payloads of a topic, as its partitions give them. */
export async function payloadsOf(bus: Bus, topic: string, position?: ReadPosition): Promise<unknown[]> {
  const payloads: unknown[] = [];
  for await (const event of bus.read(topic, position)) payloads.push(event.payload);
  return payloads;
}

export function forever(): Promise<never> {
  return new Promise(() => undefined);
}
