/** Thousands of topics in one process: whatever goes through all of them leaves others their turns. */
import { describe, expect, it } from "vitest";
import { BusBench, forever, recorder } from "../../test/support/bus-bench.js";
import { eventually, settled } from "../../test/support/eventually.js";
import { turnsDuring } from "../../test/support/turns.js";
import { memoryStore } from "../stores/memory/index.js";
import { interceptStore } from "../testing/store-calls.js";
import type { Bus } from "./bus.js";

const TOPICS = Array.from({ length: 512 }, (_, n) => ({ name: `t.${n}`, partitions: 2 }));
const NAMES = TOPICS.map(({ name }) => name);

/** The most states of groups that were asked for in one turn of the event loop. */
class StatesPerTurn {
  most = 0;
  #asked = 0;

  readonly store = interceptStore(memoryStore(), {
    around: (call, proceed) => {
      if (call.name === "groups.state") this.#count();
      return proceed();
    },
  });

  #count(): void {
    if (this.#asked === 0)
      setImmediate(() => {
        this.#asked = 0;
      });
    this.most = Math.max(this.most, ++this.#asked);
  }
}

const ownedBy = (bus: Bus): number => NAMES.reduce((sum, name) => sum + bus.owned(name, "g").length, 0);

describe("a process with a thousand topics", () => {
  it("P15: defines, joins and leaves them in turns", async () => {
    const own = new BusBench();
    let bus: Bus | undefined;
    const defining = await turnsDuring(async () => {
      bus = await own.bus({ topics: TOPICS });
    });
    expect(defining).toBeGreaterThanOrEqual(8);
    const joining = await turnsDuring(async () => bus?.subscribe(NAMES, "g", () => undefined));
    // As many for looking them up.
    expect(joining).toBeGreaterThanOrEqual(16);
    expect(await turnsDuring(async () => bus?.close())).toBeGreaterThanOrEqual(4);
  });

  it("P15: leaves in turns what it has joined by a call each", async () => {
    const own = new BusBench();
    const bus = await own.bus();
    for (const name of NAMES) await bus.subscribe(name, "g", () => undefined);
    expect(await turnsDuring(() => bus.close())).toBeGreaterThanOrEqual(4);
  });

  it("hands out nothing more once it is told to stop, in the last of the topics too", async () => {
    const own = new BusBench();
    const bus = await own.bus({ topics: TOPICS });
    const { seen, handler } = recorder();
    const stop = await bus.subscribe(NAMES, "g", handler);
    const stopping = stop();
    await Promise.all(NAMES.map((name) => bus.publish(name, 1)));
    await stopping;
    expect(seen).toEqual([]);
    await bus.subscribe(NAMES, "g", handler);
    await eventually(() => seen.length === NAMES.length, "all of them");
    expect(seen.every(({ attempt }) => attempt === 1)).toBe(true);
    await own.close();
  });

  it("handlers that do not end hold up the end of all for one drain time, not for one after the other", async () => {
    const own = new BusBench();
    const bus = await own.bus({ topics: TOPICS, drainMs: 3_000 });
    await bus.subscribe(NAMES, "g", forever, { maxInFlight: NAMES.length });
    await Promise.all(NAMES.map((name) => bus.publish(name, 1)));
    await settled();
    const startMs = own.clock.steady();
    let open = true;
    void bus.close().then(() => {
      open = false;
    });
    while (open) await own.clock.advance(100);
    expect(own.clock.steady() - startMs).toBeLessThanOrEqual(4_000);
  });

  it("P15: looks in turns at what a member that comes or goes means for each", async () => {
    const own = new BusBench();
    const states = new StatesPerTurn();
    const bus = await own.bus({ store: states.store, topics: TOPICS });
    await bus.subscribe(NAMES, "g", () => undefined);
    await states.store.groups.open(
      { member: "other", host: "h", pid: 1, processStart: "1" },
      { ttlMs: 60_000, nowMs: own.clock.now() },
    );
    states.most = 0;
    await Promise.all(NAMES.map((name) => states.store.groups.join({ topic: name, group: "g" }, "other")));
    await eventually(() => ownedBy(bus) === NAMES.length, "half of them given up");
    await states.store.groups.close("other", { nowMs: own.clock.now() });
    await eventually(() => ownedBy(bus) === NAMES.length * 2, "all of them back");
    expect(states.most).toBeLessThanOrEqual(256);
    await own.close();
  });
});
