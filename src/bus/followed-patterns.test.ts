/** Patterns among thousands of topics: what a signal costs, and that no topic is missed. */
import { describe, expect, it } from "vitest";
import { recorder, useBench } from "../../test/support/bus-bench.js";
import { gate, settled } from "../../test/support/eventually.js";
import type { Signal, Store } from "../ports/store.js";
import { memoryStore } from "../stores/memory/index.js";
import { type CallName, interceptStore } from "../testing/store-calls.js";

const bench = useBench();

/** A store that tells what the test has it tell, and nothing else. `after`: before an answer goes out. */
function telling(after: (call: CallName) => Promise<void> | void): {
  readonly store: Store;
  tell(signal: Signal): void;
} {
  const listeners = new Set<(signal: Signal) => void>();
  const intercepted = interceptStore(memoryStore(), {
    around: async (call, proceed) => {
      const answer = await proceed();
      await after(call.name);
      return answer;
    },
  });
  const watch = (listener: (signal: Signal) => void): (() => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const tell = (signal: Signal): void => {
    for (const listener of listeners) listener(signal);
  };
  return { store: { ...intercepted, watch }, tell };
}

describe("a subscription to a pattern", () => {
  it("P15: looks through the topics once more for all that is heard while it looks", async () => {
    let held = gate();
    held.open();
    let looks = 0;
    const { store, tell } = telling(async (call) => {
      if (call !== "registry.topics") return;
      looks++;
      await held.passed;
    });
    const bus = await bench().bus({ store });
    const { handler, payloads } = recorder();
    await bus.subscribe("t.*", "g", handler);
    await settled();
    held = gate();
    looks = 0;
    tell({ type: "any" });
    await settled();
    // Comes after the look that is under way has been answered.
    const other = await bench().bus({ store });
    await other.publish("t.new", 1);
    for (let n = 0; n < 50; n++) tell({ type: "any" });
    await settled();
    expect([looks, payloads()]).toEqual([1, []]);
    held.open();
    await settled();
    expect([looks, payloads()]).toEqual([2, [1]]);
  });

  it("P15: looks through them in turns of the event loop", async () => {
    let turns = 0;
    let isAnswered = false;
    let turnsUntilJoined = -1;
    const count = (): void => {
      turns++;
      if (turnsUntilJoined < 0) setImmediate(count);
    };
    const { store, tell } = telling((call) => {
      if (call === "registry.topics") isAnswered = true;
      else if (call === "groups.join" && isAnswered) turnsUntilJoined = turns;
    });
    const bus = await bench().bus({ store });
    for (let n = 0; n < 8_192; n++) await store.registry.defineTopic({ name: `a.n${n}`, partitions: 1 });
    await bus.subscribe("t.*", "g", () => undefined);
    await settled(50);
    await store.registry.defineTopic({ name: "t.last", partitions: 1 });
    isAnswered = false;
    setImmediate(count);
    tell({ type: "any" });
    await settled(50);
    expect(turnsUntilJoined).toBeGreaterThanOrEqual(8);
  });

  it("P15: waits for no topic that cannot be joined now, while there are others", async () => {
    const held = gate();
    const { store, tell } = telling(() => undefined);
    const slow = interceptStore(store, {
      around: async (call, proceed) => {
        if (call.name === "groups.state" && call.args[0].topic === "t.slow") await held.passed;
        return proceed();
      },
    });
    const bus = await bench().bus({ store: slow });
    const other = await bench().bus({ store });
    const { handler, payloads } = recorder();
    await bus.subscribe("t.*", "g", handler);
    await other.publish("t.slow", 1);
    await other.publish("t.quick", 2);
    tell({ type: "any" });
    await settled();
    expect(payloads()).toEqual([2]);
    await other.publish("t.later", 3);
    tell({ type: "any" });
    await bench().advance(100);
    expect(payloads()).toEqual([2, 3]);
    held.open();
    await settled();
    expect(payloads()).toEqual([2, 3, 1]);
  });

  it("P15: takes in what came while it was begun, and what a signal names, without looking through them", async () => {
    let looks = 0;
    let arrive: (() => Promise<unknown>) | undefined;
    const { store, tell } = telling(async (call) => {
      if (call !== "registry.topics") return;
      looks++;
      const arriving = arrive;
      arrive = undefined;
      await arriving?.();
    });
    const bus = await bench().bus({ store });
    const other = await bench().bus({ store });
    const { handler, payloads } = recorder();
    arrive = () => other.publish("t.meanwhile", 1);
    await bus.subscribe("t.*", "g", handler);
    await settled();
    expect(payloads()).toEqual([1]);
    looks = 0;
    await other.publish("t.later", 2);
    tell({ type: "topic", topic: "t.later" });
    tell({ type: "any", butTopics: true });
    await settled();
    expect([looks, payloads()]).toEqual([0, [1, 2]]);
    // Whatever it was that nobody told of.
    await other.publish("t.untold", 3);
    await bench().advance(2_000);
    expect(payloads()).toEqual([1, 2, 3]);
  });
});
