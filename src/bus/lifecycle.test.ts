/** Subscriptions that stop, and a store that fails while a bus runs. */
import { describe, expect, it } from "vitest";
import { recorder, useBench } from "../../test/support/bus-bench.js";
import { gate, settled } from "../../test/support/eventually.js";
import { nextTurn } from "../model/next-turn.js";
import { memoryStore } from "../stores/memory/index.js";
import { type Fault, faultyStore, scheduledFaults } from "../testing/faulty-store/index.js";
import type { Bus } from "./bus.js";

const bench = useBench();

async function floors(bus: Bus, topic = "t.a"): Promise<number[] | undefined> {
  return (await bus.getCursor(topic, "g"))?.partitions.map(({ floor }) => floor);
}

describe("stopping a subscription", () => {
  it("waits for what runs, hands out nothing more, commits, and gives the partitions back", async () => {
    const bus = await bench().bus();
    const held = gate();
    const { handler, payloads } = recorder((event) => (event.payload === 1 ? held.passed : undefined));
    const stop = await bus.subscribe("t.a", "g", handler, { maxInFlight: 1 });
    await bus.publishMany("t.a", [{ payload: 1 }, { payload: 2 }]);
    await settled();
    let stopped = false;
    const stopping = stop().then(() => {
      stopped = true;
    });
    await settled();
    expect(stopped).toBe(false);
    held.open();
    await stopping;
    expect(payloads()).toEqual([1]);
    const state = await bench().store.groups.state(
      { topic: "t.a", group: "g" },
      { nowMs: bench().clock.now() },
    );
    expect(state).toMatchObject({
      members: [],
      leases: [{ owner: null, cursor: { floor: 1, attempts: [] } }],
    });
  });

  it("twice is harmless, and the group goes on where it was", async () => {
    const bus = await bench().bus();
    const first = recorder();
    const stop = await bus.subscribe("t.a", "g", first.handler);
    await bus.publish("t.a", 1);
    await settled();
    await Promise.all([stop(), stop()]);
    await stop();
    await bus.publish("t.a", 2);
    const second = recorder();
    await bus.subscribe("t.a", "g", second.handler);
    await settled();
    expect(second.seen).toMatchObject([{ payload: 2, attempt: 1 }]);
  });

  it("a subscriber that comes back at once finds its place", async () => {
    const bus = await bench().bus();
    for (let i = 0; i < 5; i++) {
      const { handler, payloads } = recorder();
      const stop = await bus.subscribe("t.a", "g", handler);
      await bus.publish("t.a", i);
      await settled();
      expect(payloads()).toEqual([i]);
      void stop();
    }
  });

  it("by an AbortSignal, as by stop()", async () => {
    const bus = await bench().bus();
    const abort = new AbortController();
    const { handler, payloads } = recorder();
    const stop = await bus.subscribe("t.a", "g", handler, { signal: abort.signal });
    await bus.publish("t.a", 1);
    await settled();
    abort.abort();
    await stop();
    await bus.publish("t.a", 2);
    await settled();
    expect(payloads()).toEqual([1]);
    expect(bus.owned("t.a", "g")).toEqual([]);
  });

  it("by a signal that is aborted already: nothing is ever delivered", async () => {
    const bus = await bench().bus();
    await bus.publish("t.a", 1);
    const { handler, seen } = recorder();
    await bus.subscribe("t.a", "g", handler, { from: "earliest", signal: AbortSignal.abort() });
    await bus.publish("t.a", 2);
    await settled();
    expect(seen).toEqual([]);
    expect(await bus.getCursor("t.a", "g")).toBeNull();
  });

  it("leaves nothing behind on the signal it was given", async () => {
    const bus = await bench().bus();
    const abort = new AbortController();
    let listeners = 0;
    const { signal } = abort;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => {
        listeners++;
        add(...args);
      },
      removeEventListener: (...args: Parameters<typeof remove>) => {
        listeners--;
        remove(...args);
      },
    });
    const stop = await bus.subscribe("t.a", "g", () => undefined, { signal });
    expect(listeners).toBe(1);
    await stop();
    expect(listeners).toBe(0);
  });
});

describe("a store that fails while the bus runs", () => {
  it("P15: reads, commits and claims are tried again, and everything is delivered once it is back", async () => {
    const faults = Array.from({ length: 4 }, (_, i) => i + 1).flatMap((nth) => [
      { on: "groups.state" as const, nth: nth + 1, fault: { type: "error-before" } as const },
      { on: "log.read" as const, nth, fault: { type: "error-before" } as const },
      { on: "groups.commit" as const, nth, fault: { type: "error-after" } as const },
    ]);
    const store = memoryStore();
    const writer = await bench().bus({ store });
    await writer.publishMany(
      "t.a",
      [1, 2, 3].map((payload) => ({ payload })),
    );
    const bus = await bench().bus({ store: faultyStore(store, scheduledFaults(faults), { shared: true }) });
    const { handler, payloads } = recorder();
    await bus.subscribe("t.a", "g", handler, { from: "earliest" });
    await bench().advance(30_000);
    expect(payloads()).toEqual([1, 2, 3]);
    expect(await floors(writer)).toEqual([3]);
    expect(bench().troubles.length).toBeGreaterThan(5);
  });

  it("a listener to troubles that throws is warned of, once in a minute, and delivery goes on", async () => {
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", listen);
    const store = faultyStore(
      memoryStore(),
      scheduledFaults(
        [1, 2, 3].map((nth) => ({ on: "groups.commit", nth, fault: { type: "error-before" } })),
      ),
    );
    const onTrouble = (): never => {
      throw new Error("cannot listen");
    };
    const bus = await bench().bus({ store, onTrouble });
    const { handler, payloads } = recorder();
    await bus.subscribe("t.a", "g", handler, { from: "earliest" });
    await bus.publish("t.a", 1);
    await bench().advance(5_000);
    process.off("warning", listen);
    expect(payloads()).toEqual([1]);
    expect(warnings.filter((text) => text.startsWith("onTrouble"))).toEqual([
      "onTrouble failed: cannot listen",
    ]);
  });

  it("appends of many partitions that are tried again are no reason for a warning of the platform", async () => {
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.name);
    process.on("warning", listen);
    const topics = Array.from({ length: 20 }, (_, n) => `t.n${n}`);
    let fails = topics.length;
    const call = ({ name }: { name: string }): Fault | null =>
      name === "log.append" && fails-- > 0 ? { type: "error-before" } : null;
    const bus = await bench().bus({ store: faultyStore(memoryStore(), { call }) });
    const published = Promise.all(topics.map((topic) => bus.publish(topic, 1)));
    await expect.poll(() => fails).toBe(0);
    await bench().advance(5_000);
    expect(await published).toHaveLength(20);
    await nextTurn();
    process.off("warning", listen);
    expect(warnings).not.toContain("MaxListenersExceededWarning");
  });
});
