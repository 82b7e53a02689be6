/** Workers that come and go, subscriptions that stop, buses that close. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { BusBench, forever, recorder, useBench } from "../../test/support/bus-bench.js";
import { compileSources } from "../../test/support/compiled-sources.js";
import { gate, settled } from "../../test/support/eventually.js";
import { InMemoryEventBus } from "../in-memory.js";
import { BusError } from "../model/errors.js";
import { defineTopic } from "../model/topic.js";
import { memoryStore } from "../stores/memory/index.js";
import { faultyStore, scheduledFaults } from "../testing/faulty-store/index.js";
import { interceptStore } from "../testing/store-calls.js";
import type { Bus } from "./bus.js";
import { createBus } from "./create-bus.js";

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

describe("closing a bus", () => {
  it("lets running handlers finish, also what they emit, commits, and ends every session", async () => {
    const store = memoryStore();
    const own = new BusBench(store);
    const witness = await own.bus();
    const bus = await own.bus();
    const held = gate();
    await bus.subscribe("t.a", "g", async (_event, ctx) => {
      await held.passed;
      await ctx.emit("t.out", "done");
    });
    await bus.publish("t.a", 1);
    await settled();
    const closing = bus.close();
    await settled();
    held.open();
    await closing;
    expect(await floors(witness)).toEqual([1]);
    const out: unknown[] = [];
    for await (const { payload } of witness.read("t.out")) out.push(payload);
    expect(out).toEqual(["done"]);
    expect(await store.groups.sessions({ nowMs: own.clock.now() })).toEqual([]);
    await own.close();
  });

  it("does not wait for ever: a handler that never ends is left behind, its event given back", async () => {
    const witness = await bench().bus();
    const bus = await bench().bus({ drainMs: 3_000 });
    let signal: AbortSignal | undefined;
    await bus.subscribe("t.a", "g", (_event, ctx) => {
      signal = ctx.signal;
      return forever();
    });
    await bus.publish("t.a", 1);
    await settled();
    let closed = false;
    const closing = bus.close().then(() => {
      closed = true;
    });
    await bench().advance(2_900);
    expect(closed).toBe(false);
    await bench().advance(200);
    await closing;
    expect(signal?.aborted).toBe(true);
    const next = recorder();
    await witness.subscribe("t.a", "g", next.handler);
    await settled();
    expect(next.seen).toMatchObject([{ payload: 1, attempt: 2 }]);
  });

  it("P1: waits for publishes that are under way", async () => {
    const witness = await bench().bus();
    const bus = await bench().bus();
    const publishing = [1, 2, 3].map((payload) => bus.publish("t.a", payload));
    const closing = bus.close();
    expect((await Promise.all(publishing)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    await closing;
    expect((await witness.getCursor("t.a", "g"))?.partitions).toBeUndefined();
  });

  it("after it, every call says CLOSED", async () => {
    const bus = await bench().bus();
    await bus.close();
    const calls: (() => Promise<unknown>)[] = [
      () => bus.publish("t.a", 1),
      () => bus.publishMany("t.a", [{ payload: 1 }]),
      () => bus.subscribe("t.a", "g", () => undefined),
      () => bus.subscribeBatch("t.a", "g", () => undefined),
      () => bus.getCursor("t.a", "g"),
      () => bus.setCursor("t.a", "g", "earliest"),
      () => bus.read("t.a").next(),
      () => bus.latestByKey("t.a", []),
      () => bus.topics(),
      () => bus.defineTopic(defineTopic("t.a")),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "CLOSED" });
    expect(await bus.ack("t.a", "g", "x")).toMatchObject({ ok: false });
    await bus.close();
  });

  it("a subscribe that was under way when the bus closed leaves nothing running", async () => {
    for (let hops = 0; hops < 25; hops++) {
      const own = new BusBench();
      const bus = await own.bus();
      const subscribing = bus.subscribe(["t.a", "t.b"], "g", () => undefined);
      const outcome = subscribing.then(
        () => "subscribed",
        (error: unknown) => (error as BusError).code,
      );
      for (let hop = 0; hop < hops; hop++) await null;
      await bus.close();
      expect(["subscribed", "CLOSED"]).toContain(await outcome);
      expect(bus.owned("t.a", "g")).toEqual([]);
      expect(own.clock.nextTimerMs()).toBeUndefined();
    }
  });

  it("leaves no timer behind", async () => {
    const own = new BusBench();
    const bus = await own.bus();
    await bus.subscribe(["t.a", "t.*"], "g", () => {
      throw new Error("waits for its retry");
    });
    await bus.publish("t.a", 1);
    await settled();
    expect(own.clock.nextTimerMs()).toBeDefined();
    await bus.close();
    expect(own.clock.nextTimerMs()).toBeUndefined();
    expect(own.troubles).toEqual([]);
  });

  it("a bus that could not open gives its store back, so that another may use it", async () => {
    const store = memoryStore();
    const first = await createBus({ store, topics: [defineTopic("t.a", { partitions: 2 })] });
    const failing = createBus({ store, topics: [defineTopic("t.a", { partitions: 3 })] });
    await expect(failing).rejects.toMatchObject({ code: "TOPIC_CONFLICT" });
    await first.publish("t.a", 1);
    await first.close();
    await expect(store.registry.topics()).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("of several buses on one store, the last one closes it; a bus may open it again", async () => {
    const store = memoryStore();
    const [a, b] = [await createBus({ store }), await createBus({ store })];
    await a.publish("t.a", 1);
    await a.close();
    await b.publish("t.a", 2);
    await b.close();
    await expect(store.registry.topics()).rejects.toMatchObject({ code: "CLOSED" });
    const again = await createBus({ store });
    expect((await again.publish("t.a", 3)).seq).toBe(3);
    await again.close();
  });

  it("a bus that opens a store while the last one closes it finds it open", async () => {
    for (let hops = 0; hops < 25; hops++) {
      const inner = memoryStore();
      const slow = interceptStore(inner, {
        around: (_call, proceed) => proceed(),
        close: async () => {
          await settled(2);
          await inner.close();
        },
      });
      const before = await createBus({ store: slow });
      const closing = before.close();
      for (let hop = 0; hop < hops; hop++) await null;
      const after = await createBus({ store: slow });
      await closing;
      expect((await after.publish("t.a", 1)).seq).toBe(1);
      await after.close();
    }
  });

  it("P15: a store that is away does not keep it from closing", async () => {
    const away = faultyStore(memoryStore(), {
      call: (call) => (call.kind === "registry" || down === 0 ? null : { type: "error-before" }),
    });
    let down = 0;
    const own = new BusBench(away);
    const bus = await own.bus({ drainMs: 1_000 });
    await bus.subscribe("t.a", "g", () => undefined);
    await bus.publish("t.a", 1);
    await own.advance(100);
    down = 1;
    await own.close();
    expect(own.troubles.every(({ error }) => BusError.is(error, "STORE_UNAVAILABLE"))).toBe(true);
  });

  it("an InMemoryEventBus that was never used closes at once", async () => {
    const bus = new InMemoryEventBus();
    await bus.close();
    await expect(bus.publish("t.a", 1)).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("can be left to the end of a block", async () => {
    let kept: Bus | undefined;
    {
      await using bus = await createBus({ store: memoryStore() });
      kept = bus;
      await bus.publish("t.a", 1);
    }
    await expect(kept.publish("t.a", 2)).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("nothing keeps the process alive afterwards: a program that closes its bus ends by itself", async () => {
    const compiled = compileSources("bus/create-bus.ts", "stores/memory/index.ts");
    const [bus, store] = compiled.entries.map((entry) => JSON.stringify(entry));
    const program = `
      const { createBus } = await import(${bus});
      const { memoryStore } = await import(${store});
      const bus = await createBus({ store: memoryStore() });
      let handled = 0;
      await bus.subscribe(["jobs.a", "jobs.*"], "g", async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        handled++;
      });
      await bus.publishMany("jobs.a", [1, 2, 3].map((payload) => ({ payload })));
      while (handled < 3) await new Promise((resolve) => setTimeout(resolve, 5));
      await bus.close();
      process.stdout.write("handled " + handled);`;
    try {
      const args = ["--input-type=module", "--eval", program];
      const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
      expect({ stdout, stderr }).toEqual({ stdout: "handled 3", stderr: "" });
    } finally {
      compiled.remove();
    }
  }, 60_000);
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

  it("a listener to troubles that throws is warned of, and delivery goes on", async () => {
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", listen);
    const store = faultyStore(
      memoryStore(),
      scheduledFaults([1, 2].map((nth) => ({ on: "log.read", nth, fault: { type: "error-before" } }))),
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
    expect(warnings).toContain("onTrouble failed: cannot listen");
  });
});
