/** Groups that were paused elsewhere, as buses learn of them while several ask, and while answers come late. */
import { describe, expect, it } from "vitest";
import { BusBench, recorder } from "../../test/support/bus-bench.js";
import { type Gate, gate, settled } from "../../test/support/eventually.js";
import { memoryStore } from "../stores/memory/index.js";
import { interceptStore } from "../testing/store-calls.js";

/** A store whose answers to "which groups are paused" wait for a gate each, as long as there are any. */
function slowToTell(gates: Gate[]): {
  store: ReturnType<typeof memoryStore>;
  slow: ReturnType<typeof interceptStore>;
} {
  const store = memoryStore();
  const slow = interceptStore(store, {
    around: async (call, proceed) => {
      const answer = await proceed();
      if (call.name === "registry.tokens") await gates.shift()?.passed;
      return answer;
    },
  });
  return { store, slow };
}

describe("a group that was paused before a bus began", () => {
  it("is handed nothing, also if it is subscribed to while the bus still asks which groups are paused", async () => {
    const gates: Gate[] = [];
    const { slow } = slowToTell(gates);
    const own = new BusBench(slow);
    const first = await own.bus();
    await first.subscribe("t.a", "g", () => undefined);
    await first.admin.pause({ topic: "t.a", group: "g" });
    await first.publish("t.a", 1);
    const held = gate();
    gates.push(held);
    const late = await own.bus();
    const asking = late.admin.lag();
    const { handler, seen } = recorder();
    const subscribing = late.subscribe("t.a", "g", handler, { from: "earliest" });
    await first.close();
    await settled();
    held.open();
    await Promise.all([asking, subscribing]);
    await own.advance(100);
    expect(seen).toEqual([]);
    expect(await asking).toMatchObject([{ paused: { by: "bus" } }]);
    await own.close();
  });

  it("is told of as paused to all who ask at the same time", async () => {
    const gates: Gate[] = [];
    const { slow } = slowToTell(gates);
    const own = new BusBench(slow);
    const first = await own.bus();
    await first.subscribe("t.a", "g", () => undefined);
    await first.admin.pause({ topic: "t.a", group: "g" });
    const held = gate();
    gates.push(held);
    const other = await own.bus();
    const asking = Promise.all([other.admin.lag(), other.admin.lag()]);
    await settled();
    held.open();
    for (const lags of await asking) expect(lags).toMatchObject([{ paused: { by: "bus" } }]);
    await own.close();
  });
});

describe("an answer that comes late", () => {
  it("does not undo a newer one: a group that was paused meanwhile stays paused", async () => {
    const gates: Gate[] = [];
    const { slow } = slowToTell(gates);
    const own = new BusBench(slow);
    const bus = await own.bus();
    const { handler, seen } = recorder();
    await bus.subscribe("t.a", "g", handler);
    await own.advance(1_500);
    const held = gate();
    gates.push(held);
    const before = bus.admin.lag();
    await settled();
    const pausing = bus.admin.pause({ topic: "t.a", group: "g" });
    await settled();
    held.open();
    await Promise.all([before, pausing]);
    await bus.publish("t.a", 1);
    await settled();
    expect(seen).toEqual([]);
    await own.close();
  });
});
