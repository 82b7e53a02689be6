/** Subscribing: how much a group gets at once, and in which order. */
import { describe, expect, it } from "vitest";
import { recorder, useBench } from "../../test/support/bus-bench.js";
import { eventually, gate, settled } from "../../test/support/eventually.js";
import { seededRandom } from "../model/manual-clock.js";
import { defineTopic } from "../model/topic.js";

const bench = useBench();

describe("how much at once, and in which order", () => {
  it("P13: no more than maxInFlight at once", async () => {
    const bus = await bench().bus();
    const gates = Array.from({ length: 10 }, () => gate());
    let running = 0;
    let most = 0;
    await bus.subscribe(
      "t.a",
      "g",
      async (event) => {
        most = Math.max(most, ++running);
        await gates[event.payload as number]?.passed;
        running--;
      },
      { maxInFlight: 3 },
    );
    await bus.publishMany(
      "t.a",
      gates.map((_, payload) => ({ payload })),
    );
    await settled();
    expect(running).toBe(3);
    for (const { open } of gates) {
      open();
      await settled();
    }
    expect(most).toBe(3);
    expect(running).toBe(0);
  });

  it("P13: maxInFlight is the subscriber's, over all its topics together", async () => {
    const bus = await bench().bus();
    let running = 0;
    let most = 0;
    const gates: (() => void)[] = [];
    await bus.subscribe(
      ["t.a", "t.b", "t.c"],
      "g",
      async () => {
        most = Math.max(most, ++running);
        const { passed, open } = gate();
        gates.push(open);
        await passed;
        running--;
      },
      { maxInFlight: 2 },
    );
    for (const topic of ["t.a", "t.b", "t.c"]) await bus.publishMany(topic, [{ payload: 1 }, { payload: 2 }]);
    for (let i = 0; i < 6; i++) {
      await settled();
      gates.shift()?.();
    }
    await settled();
    expect(most).toBe(2);
    expect(running).toBe(0);
  });

  it("P4: each key in order, one at a time, also when handlers fail and take their time as they please", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: 3 })] });
    const random = seededRandom(7);
    const done = new Map<string, number[]>();
    const running = new Set<string>();
    await bus.subscribe(
      "t.p",
      "g",
      async (event) => {
        const key = event.key as string;
        expect(running.has(key)).toBe(false);
        running.add(key);
        for (let hops = random() * 6; hops > 0; hops--) await null;
        running.delete(key);
        if (random() < 0.2) throw new Error("not yet");
        done.set(key, [...(done.get(key) ?? []), event.payload as number]);
      },
      { from: "earliest", maxAttempts: 50, retry: { baseMs: 5, maxMs: 50 } },
    );
    await bus.publishMany(
      "t.p",
      Array.from({ length: 300 }, (_, i) => ({ payload: i, key: `k${i % 9}` })),
    );
    await bench().advance(20_000);
    for (let k = 0; k < 9; k++) {
      const expected = Array.from({ length: 300 }, (_, i) => i).filter((i) => i % 9 === k);
      expect(done.get(`k${k}`)).toEqual(expected);
    }
  });

  it("P4: a key that fails holds up no other key", async () => {
    const bus = await bench().bus();
    const { handler, payloads } = recorder((event) => {
      if (event.key === "bad") throw new Error("no");
    });
    await bus.subscribe("t.a", "g", handler, { deadLetter: false });
    await bus.publishMany("t.a", [
      { payload: "bad 1", key: "bad" },
      { payload: "bad 2", key: "bad" },
      { payload: "good 1", key: "good" },
      { payload: "none" },
      { payload: "good 2", key: "good" },
    ]);
    await settled();
    expect(payloads()).toEqual(["bad 1", "good 1", "none", "good 2"]);
  });

  it('P4: ordering "partition" keeps a partition in line, "none" lets everything go', async () => {
    const bus = await bench().bus();
    const first = gate();
    const inLine = recorder((event) => (event.payload === 1 ? first.passed : undefined));
    const loose = recorder((event) => (event.payload === 1 ? first.passed : undefined));
    await bus.subscribe("t.a", "in-line", inLine.handler, { ordering: "partition" });
    await bus.subscribe("t.a", "loose", loose.handler, { ordering: "none" });
    await bus.publishMany(
      "t.a",
      [1, 2, 3].map((payload) => ({ payload, key: "k" })),
    );
    await settled();
    expect(inLine.payloads()).toEqual([1]);
    expect(loose.payloads()).toEqual([1, 2, 3]);
    first.open();
    await settled();
    expect(inLine.payloads()).toEqual([1, 2, 3]);
  });

  it("all subscribers of a group agree on the ordering, or the later one is refused", async () => {
    const bus = await bench().bus();
    await bus.subscribe("t.a", "g", () => undefined);
    await expect(bus.subscribe("t.a", "g", () => undefined, { ordering: "none" })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining('"key"'),
    });
  });

  it("P13: takes in only so much, however large the batches that were asked for", async () => {
    const bus = await bench().bus({ limits: { maxBufferedEvents: 20 } });
    const held = gate();
    await bus.subscribe("t.a", "g", () => held.passed, {
      from: "earliest",
      batchSize: 5_000,
      maxInFlight: 5_000,
    });
    await bus.publishMany(
      "t.a",
      Array.from({ length: 500 }, (_, payload) => ({ payload })),
    );
    await settled();
    const position = await bus.getCursor("t.a", "g");
    expect(position?.partitions[0]?.inFlight).toBeLessThanOrEqual(20);
    held.open();
    await bench().advance(100);
    expect(await bus.getCursor("t.a", "g")).toMatchObject({ partitions: [{ floor: 500 }] });
  });

  it("P15: a handler that publishes for ever does not keep timers from their turn", async () => {
    const bus = await bench().bus();
    let rounds = 0;
    let over = false;
    await bus.subscribe("t.a", "g", async (_event, ctx) => {
      rounds++;
      if (!over) await ctx.emit("t.a", rounds);
    });
    await bus.publish("t.a", 0);
    // Asked by a timer again and again: it would never be if the rounds kept the event loop to themselves.
    await eventually(() => rounds > 10, "ten rounds");
    over = true;
    await settled();
  });

  it("quick handlers end before many others begin, among many partitions too", async () => {
    const bus = await bench().bus({ topics: [{ name: "t.many", partitions: 64 }] });
    let running = 0;
    let most = 0;
    let handled = 0;
    await bus.publishMany(
      "t.many",
      Array.from({ length: 2_048 }, (_, n) => ({ payload: n, partition: n % 64 })),
    );
    const handle = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await null;
      running--;
      handled++;
    };
    await bus.subscribe("t.many", "g", handle, { from: "earliest" });
    await eventually(() => handled === 2_048, "all of them");
    expect(most).toBeLessThanOrEqual(256);
  });

  it("P15: large events are handed out a few at a time, alone and in batches, so that timers have their turn", async () => {
    const bus = await bench().bus();
    const payload = "x".repeat(262_144);
    await bus.publishMany(
      "t.a",
      Array.from({ length: 40 }, () => ({ payload })),
    );
    let turn = 0;
    let handled = 0;
    const byTurn: number[] = [];
    const batches: number[] = [];
    const count = (): void => {
      turn++;
      if (handled < 40) setImmediate(count);
    };
    count();
    const handle = (): void => {
      byTurn[turn] = (byTurn[turn] ?? 0) + 1;
      handled++;
    };
    await bus.subscribe("t.a", "alone", handle, { from: "earliest" });
    await bus.subscribeBatch("t.a", "together", async (events) => void batches.push(events.length), {
      from: "earliest",
      batchSize: 100,
    });
    await eventually(() => handled === 40, "all of them alone");
    await eventually(() => batches.reduce((sum, size) => sum + size, 0) === 40, "all of them in batches");
    expect(Math.max(...byTurn.filter(Boolean))).toBeLessThanOrEqual(20);
    expect(Math.max(...batches)).toBeLessThanOrEqual(8);
  });
});
