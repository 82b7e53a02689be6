/** Buses that close, and what they leave behind: nothing. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { compileModule } from "../../scripts/embedded-sources.mjs";
import { BusBench, forever, recorder, useBench } from "../../test/support/bus-bench.js";
import { gate, settled } from "../../test/support/eventually.js";
import { InMemoryEventBus } from "../in-memory.js";
import { BusError } from "../model/errors.js";
import { defineTopic } from "../model/topic.js";
import { runOutboxDrainer } from "../project/outbox-drainer.js";
import { memoryStore } from "../stores/memory/index.js";
import { faultyStore } from "../testing/faulty-store/index.js";
import { interceptStore } from "../testing/store-calls.js";
import type { Bus } from "./bus.js";
import { createBus } from "./create-bus.js";

const bench = useBench();

async function floors(bus: Bus, topic = "t.a"): Promise<number[] | undefined> {
  return (await bus.getCursor(topic, "g"))?.partitions.map(({ floor }) => floor);
}

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
    expect(own.troubles).toMatchObject([{ error: { code: "HANDLER_FAILED" } }]);
  });

  it("ends everything else when a part of it cannot be stopped, and tells of that one in the end", async () => {
    const own = new BusBench();
    const bus = await createBus({ store: own.store, clock: own.clock });
    await bus.subscribe("t.a", "g", () => undefined);
    const outbox = {
      claimBatch: async () => [],
      markSent: async () => true,
      markError: async () => true,
      watch: () => () => {
        throw new Error("the outbox does not let go");
      },
    };
    const stopped: string[] = [];
    const early = runOutboxDrainer({ ...outbox, watch: () => () => void stopped.push("early") }, bus);
    runOutboxDrainer(outbox, bus);
    await expect(bus.close()).rejects.toThrow("the outbox does not let go");
    expect(stopped).toEqual(["early"]);
    await early.stop();
    expect(own.clock.nextTimerMs()).toBeUndefined();
    await expect(own.store.registry.topics()).rejects.toMatchObject({ code: "CLOSED" });
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
    const urls = ["./create-bus.ts", "../stores/memory/index.ts"].map((path) =>
      compileModule(new URL(path, import.meta.url)),
    );
    const [bus, store] = (await Promise.all(urls)).map(({ href }) => JSON.stringify(href));
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
    const args = ["--input-type=module", "--eval", program];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
    expect({ stdout, stderr }).toEqual({ stdout: "handled 3", stderr: "" });
  }, 60_000);
});
