/** Workers of one group in one bus, which come and go. */
import { describe, expect, it } from "vitest";
import { forever, recorder, useBench } from "../../test/support/bus-bench.js";
import { gate, settled } from "../../test/support/eventually.js";
import type { Bus } from "./bus.js";

const bench = useBench();

async function floors(bus: Bus, topic = "t.a"): Promise<number[] | undefined> {
  return (await bus.getCursor(topic, "g"))?.partitions.map(({ floor }) => floor);
}

describe("several subscribers of one group in one bus", () => {
  it("share the events; each event goes to one of them", async () => {
    const bus = await bench().bus();
    const workers = [recorder(() => settled()), recorder(() => settled())];
    for (const { handler } of workers) await bus.subscribe("t.a", "g", handler, { maxInFlight: 5 });
    await bus.publishMany(
      "t.a",
      Array.from({ length: 40 }, (_, payload) => ({ payload })),
    );
    await settled(60);
    const all = workers.flatMap(({ payloads }) => payloads());
    expect(all.sort((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 40 }, (_, i) => i));
    for (const { seen } of workers) expect(seen.length).toBeGreaterThan(10);
  });

  it("P4: share by key: what one works on, the other does not overtake", async () => {
    const bus = await bench().bus();
    const held = gate();
    const order: unknown[] = [];
    const handler = async (event: { payload: unknown }): Promise<void> => {
      if (event.payload === 1) await held.passed;
      order.push(event.payload);
    };
    for (let i = 0; i < 3; i++) await bus.subscribe("t.a", "g", handler);
    await bus.publishMany(
      "t.a",
      [1, 2, 3].map((payload) => ({ payload, key: "k" })),
    );
    await settled();
    expect(order).toEqual([]);
    held.open();
    await settled();
    expect(order).toEqual([1, 2, 3]);
  });

  it("may come at any time: no partition moves for it, and the newcomer takes its part", async () => {
    const bus = await bench().bus();
    const first = recorder(forever);
    await bus.subscribe("t.a", "g", first.handler, { maxInFlight: 2 });
    await bus.publishMany(
      "t.a",
      Array.from({ length: 5 }, (_, payload) => ({ payload })),
    );
    await settled();
    const owned = bus.owned("t.a", "g");
    const second = recorder();
    await bus.subscribe("t.a", "g", second.handler);
    await settled();
    expect(first.payloads()).toEqual([0, 1]);
    expect(second.payloads()).toEqual([2, 3, 4]);
    expect(bus.owned("t.a", "g")).toEqual(owned);
  });

  it("may go at any time: what it runs it finishes, the rest is for the others, and no partition moves", async () => {
    const bus = await bench().bus();
    const held = gate();
    const leaver = recorder(() => held.passed);
    const stayer = recorder();
    const stop = await bus.subscribe("t.a", "g", leaver.handler, { maxInFlight: 1 });
    await bus.publishMany("t.a", [{ payload: 1 }, { payload: 2 }]);
    await settled();
    await bus.subscribe("t.a", "g", stayer.handler);
    await settled();
    const owned = bus.owned("t.a", "g");
    const stopping = stop();
    await bus.publish("t.a", 3);
    await settled();
    expect(leaver.payloads()).toEqual([1]);
    expect(stayer.payloads()).toEqual([2, 3]);
    expect(await floors(bus)).toEqual([0]);
    held.open();
    await stopping;
    expect(await floors(bus)).toEqual([3]);
    expect(bus.owned("t.a", "g")).toEqual(owned);
  });

  it("P5: what a leaver cannot finish in time goes to the others with the next attempt, uncounted", async () => {
    const bus = await bench().bus({ drainMs: 2_000 });
    let signal: AbortSignal | undefined;
    const stop = await bus.subscribe(
      "t.a",
      "g",
      (_event, ctx) => {
        signal = ctx.signal;
        return forever();
      },
      { maxInFlight: 1, maxAttempts: 1 },
    );
    await bus.publish("t.a", 1);
    await settled();
    const stayer = recorder();
    await bus.subscribe("t.a", "g", stayer.handler, { maxAttempts: 1 });
    const stopping = stop();
    await bench().advance(1_999);
    expect(signal?.aborted).toBe(false);
    await bench().advance(1);
    await stopping;
    expect(signal?.reason).toMatchObject({ code: "LEASE_LOST" });
    expect(stayer.seen).toMatchObject([{ payload: 1, attempt: 2 }]);
  });
});
