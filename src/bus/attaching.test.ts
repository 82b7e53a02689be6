/** Subscriptions as gateways use them: paused, abandoned, raw; and a bus on the machine's own clock. */
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { forever, recorder, useBench } from "../../test/support/bus-bench.js";
import { eventually, type Gate, gate, settled } from "../../test/support/eventually.js";
import type { Delivered } from "../consume/context.js";
import type { StoredEvent } from "../model/event.js";
import type { Handler } from "../model/event-bus.js";
import { memoryStore } from "../stores/memory/index.js";
import type { Bus } from "./bus.js";
import { createBus } from "./create-bus.js";
import type { Subscription } from "./subscriptions.js";

const bench = useBench();

/** Handlers that end when they are told to. */
class Held {
  readonly kind = "single";
  readonly finished = new Set<unknown>();
  #running: { readonly payload: unknown; readonly end: Gate }[] = [];

  get running(): number {
    return this.#running.length;
  }

  readonly handler: Handler = async ({ payload }, { signal }) => {
    const one = { payload, end: gate() };
    this.#running.push(one);
    signal.addEventListener("abort", () => this.#drop(one));
    await one.end.passed;
  };

  finish(from: number, count = 1): void {
    for (const one of this.#running.slice(from, from + count)) {
      this.finished.add(one.payload);
      this.#drop(one);
      one.end.open();
    }
  }

  #drop(one: object): void {
    this.#running = this.#running.filter((other) => other !== one);
  }
}

describe("an attached subscription", () => {
  it("takes nothing while it is paused, keeps what it holds, and goes on afterwards", async () => {
    const bus = await bench().bus();
    const { handler, payloads } = recorder();
    const work = { kind: "single", handler } as const;
    const subscription = await bus.attach(["t.a", "t.b"], { group: "g", work, options: {} });
    subscription.setPaused(true);
    await bus.publish("t.a", 1);
    await bus.publish("t.b", 2);
    await settled();
    expect(payloads()).toEqual([]);
    subscription.setPaused(false);
    await settled();
    expect(payloads().sort()).toEqual([1, 2]);
  });

  it("stays paused in topics that it joins meanwhile", async () => {
    const bus = await bench().bus();
    const { handler, payloads } = recorder();
    const work = { kind: "single", handler } as const;
    const subscription = await bus.attach("shop.*", { group: "g", work, options: {} });
    subscription.setPaused(true);
    await bus.publish("shop.new", 1);
    await settled();
    expect(payloads()).toEqual([]);
    subscription.setPaused(false);
    await settled();
    expect(payloads()).toEqual([1]);
  });

  it("P13: whatever happens, works on no more than it may over all its topics, and leaves no topic waiting", async () => {
    const act = fc.record({
      op: fc.constantFrom(
        "publish",
        "publish",
        "publish",
        "finish",
        "finish",
        "pause",
        "resume",
        "come",
        "go",
      ),
      n: fc.nat(7),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 60 }), async (acts) => {
        const bus = await createBus({ store: memoryStore() });
        const topics = Array.from({ length: 8 }, (_, n) => `t.n${n}`);
        const work = new Held();
        const attach = (): Promise<Subscription> =>
          bus.attach(topics, { group: "g", work, options: { maxInFlight: 3, from: "earliest" } });
        const first = await attach();
        const others: Subscription[] = [];
        let published = 0;
        for (const { op, n } of acts) {
          if (op === "publish") await bus.publish(topics[n] as string, ++published);
          if (op === "finish") work.finish(n);
          if (op === "pause" || op === "resume") first.setPaused(op === "pause");
          if (op === "come") others.push(await attach());
          if (op === "go") void others.pop()?.abandon("it leaves");
          await settled();
          expect(work.running).toBeLessThanOrEqual(3 * (1 + others.length));
        }
        first.setPaused(false);
        for (let i = 0; i <= published && work.finished.size < published; i++) {
          work.finish(0, 1_000);
          await settled();
        }
        expect(work.finished.size).toBe(published);
        await bus.close();
      }),
      { numRuns: 40 },
    );
  });

  it("a topic that waits for room gets it, also when another that was told first has nothing left to take", async () => {
    const bus = await bench().bus();
    const [work, helper] = [new Held(), recorder()];
    const options = { maxInFlight: 1 };
    await bus.attach(["t.a", "t.b", "t.c"], { group: "g", work, options });
    await bus.attach("t.a", { group: "g", work: { kind: "single", handler: helper.handler }, options });
    await bus.publish("t.c", "keeps it busy");
    await settled();
    // Both of its subscribers are asked for t.a: one has no room, the other takes it.
    await bus.publish("t.a", "taken by the other");
    await settled();
    await bus.publish("t.b", "waits");
    await settled();
    expect(helper.payloads()).toEqual(["taken by the other"]);
    expect(work.running).toBe(1);
    work.finish(0);
    await settled();
    work.finish(0);
    expect([...work.finished]).toEqual(["keeps it busy", "waits"]);
  });

  it("P5: abandoned, gives back at once what it holds, uncounted, for others to take", async () => {
    const bus = await bench().bus();
    const stuck = recorder(forever);
    const options = { maxAttempts: 1 };
    const work = { kind: "single", handler: stuck.handler } as const;
    const subscription = await bus.attach("t.a", { group: "g", work, options });
    await bus.publishMany(
      "t.a",
      [1, 2].map((payload) => ({ payload })),
    );
    await settled();
    const other = recorder();
    await bus.subscribe("t.a", "g", other.handler, options);
    await subscription.abandon("its connection is gone");
    await settled();
    expect(other.seen).toMatchObject([
      { payload: 1, attempt: 2 },
      { payload: 2, attempt: 2 },
    ]);
  });

  it("raw handlers get events as the log has them, and settle them by their return or by hand", async () => {
    const bus = await bench().bus();
    const texts: string[] = [];
    const held: Delivered[] = [];
    const handler = (event: StoredEvent, delivery: Delivered): void => {
      texts.push(event.body.text);
      held.push(delivery);
    };
    await bus.attach("t.a", { group: "g", work: { kind: "raw", handler }, options: { manualAck: true } });
    await bus.publish("t.a", { x: 1 });
    await settled();
    expect(texts).toEqual(['{"x":1}']);
    expect((await bus.getCursor("t.a", "g"))?.partitions[0]).toMatchObject({ floor: 0, inFlight: 1 });
    expect(await held[0]?.ack()).toMatchObject({ ok: true });
    expect((await bus.getCursor("t.a", "g"))?.partitions[0]).toMatchObject({ floor: 1, inFlight: 0 });
  });

  it("tells when it has stopped, whoever stopped it, also those who ask late", async () => {
    const bus = await bench().bus();
    const work = { kind: "single", handler: () => undefined } as const;
    const subscription = await bus.attach("t.a", { group: "g", work, options: {} });
    const told: string[] = [];
    subscription.onStopped(() => told.push("early"));
    expect(told).toEqual([]);
    await bus.close();
    subscription.onStopped(() => told.push("late"));
    expect(told).toEqual(["early", "late"]);
  });
});

describe("on the machine's own clock", () => {
  let bus: Bus | undefined;
  afterEach(async () => {
    await bus?.close();
  });

  it("P4, P5, P8: delivers, retries, misses deadlines and buries, just the same", async () => {
    bus = await createBus({ store: memoryStore() });
    const { handler, seen } = recorder((event, ctx) => {
      if (event.payload === "fails once" && ctx.attempt === 1) throw new Error("once");
      if (event.payload === "hangs") return forever();
      if (event.payload === "poison") throw new Error("always");
      return undefined;
    });
    await bus.subscribe("t.a", "g", handler, { maxAttempts: 2, ackTimeoutMs: 30, retry: { baseMs: 5 } });
    const payloads = ["fails once", "hangs", "poison", "fine"];
    await bus.publishMany(
      "t.a",
      payloads.map((payload) => ({ payload, key: payload })),
    );
    const { store } = bus;
    await eventually(async () => {
      const state = await store.groups.state({ topic: "t.a", group: "g" }, { nowMs: Date.now() });
      return state?.leases[0]?.cursor.floor === 4;
    }, "everything is settled and committed");
    const attempts = (payload: string) => seen.filter((s) => s.payload === payload).map((s) => s.attempt);
    expect(payloads.map(attempts)).toEqual([[1, 2], [1, 2], [1, 2], [1]]);
    const letters: unknown[] = [];
    for await (const letter of bus.read("dlq.t.a")) letters.push(letter.key);
    expect(letters.sort()).toEqual(["hangs", "poison"]);
  });
});
