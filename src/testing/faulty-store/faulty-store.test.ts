import { describe, expect, it } from "vitest";
import { BusError } from "../../model/errors.js";
import type { EventDraft } from "../../model/event.js";
import { JsonBody } from "../../model/json.js";
import { ManualClock } from "../../model/manual-clock.js";
import type { Signal, Store } from "../../ports/store.js";
import { memoryStore } from "../../stores/memory/index.js";
import { combinedFaults, type Fault, type FaultPlan, scheduledFaults, seededFaults } from "./fault-plan.js";
import { type FaultyStore, type FaultyStoreOptions, faultyStore } from "./faulty-store.js";

const clock = () => new ManualClock({ startMs: 0, seed: 1 });
const none: FaultPlan = { call: () => null };

function draft(id: string): EventDraft {
  return { id, ts: 0, key: undefined, meta: undefined, body: JsonBody.ofText("1"), freshId: true };
}

async function opened(): Promise<Store> {
  const store = memoryStore();
  await store.open();
  await store.registry.defineTopic({ name: "t", partitions: 1 });
  return store;
}

interface Setup {
  readonly inner: Store;
  readonly store: FaultyStore;
  readonly time: ManualClock;
  ids(): Promise<string[]>;
}

async function setUp(plan: FaultPlan, options: FaultyStoreOptions = {}): Promise<Setup> {
  const inner = await opened();
  const time = clock();
  const store = faultyStore(inner, plan, { clock: time, shared: true, ...options });
  const ids = async (): Promise<string[]> =>
    (await inner.log.read("t", 0, { after: 0, limit: 100 })).events.map((e) => e.id);
  return { inner, store, time, ids };
}

const onAppend = (...faults: Fault[]): FaultPlan =>
  scheduledFaults(faults.map((fault, i) => ({ on: "log.append", nth: i + 1, fault })));

/** What has become of a promise, without waiting for it. */
async function standing(promise: Promise<unknown>, time: ManualClock): Promise<string> {
  let result = "pending";
  promise.then(
    () => {
      result = "done";
    },
    (error: unknown) => {
      result = BusError.is(error) ? error.code : String(error);
    },
  );
  await time.advance(0);
  return result;
}

describe("faultyStore", () => {
  it("passes calls and results on when the plan has nothing against it", async () => {
    const { store, ids } = await setUp(none);
    const result = await store.log.append("t", 0, [draft("a"), draft("b")]);
    expect(result.events.map((e) => e.seq)).toEqual([1, 2]);
    expect(await ids()).toEqual(["a", "b"]);
    expect(Object.values(store.injected).every((n) => n === 0)).toBe(true);
  });

  it("error-before: nothing happens and the caller sees STORE_UNAVAILABLE", async () => {
    const { store, ids } = await setUp(onAppend({ type: "error-before" }));
    await expect(store.log.append("t", 0, [draft("a")])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(await ids()).toEqual([]);
    expect(store.injected["error-before"]).toBe(1);
  });

  it("error-after: it happened and the caller sees OUTCOME_UNKNOWN, or the code of the plan", async () => {
    const faults = onAppend({ type: "error-after" }, { type: "error-after", code: "STORE_UNAVAILABLE" });
    const { store, ids } = await setUp(faults);
    await expect(store.log.append("t", 0, [draft("a")])).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    await expect(store.log.append("t", 0, [draft("b")])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(await ids()).toEqual(["a", "b"]);
  });

  it("error-after on a read is a plain failure: there is no outcome to wonder about", async () => {
    const plan = scheduledFaults([{ on: "log.heads", nth: 1, fault: { type: "error-after" } }]);
    const { store } = await setUp(plan);
    await expect(store.log.heads("t")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  it("lost-reply: it happened, and the caller waits before it gives up", async () => {
    const { store, time, ids } = await setUp(onAppend({ type: "lost-reply", silentMs: 500 }));
    const append = store.log.append("t", 0, [draft("a")]);
    expect(await standing(append, time)).toBe("pending");
    expect(await ids()).toEqual(["a"]);
    await time.advance(500);
    await expect(append).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  });

  it("delay: it happens at once, the reply comes later", async () => {
    const { store, time, ids } = await setUp(onAppend({ type: "delay", replyMs: 30 }));
    const append = store.log.append("t", 0, [draft("a")]);
    expect(await standing(append, time)).toBe("pending");
    expect(await ids()).toEqual(["a"]);
    await time.advance(30);
    expect((await append).events).toHaveLength(1);
  });

  it("reorder: a later call overtakes", async () => {
    const { store, time, ids } = await setUp(onAppend({ type: "reorder", applyMs: 20, survivesCrash: true }));
    const slow = store.log.append("t", 0, [draft("a")]);
    await store.log.append("t", 0, [draft("b")]);
    await time.advance(20);
    await slow;
    expect(await ids()).toEqual(["b", "a"]);
  });

  it("late-apply: the caller gives up first, then it happens", async () => {
    const { store, time, ids } = await setUp(
      onAppend({ type: "late-apply", applyMs: 20, survivesCrash: true }),
    );
    const append = store.log.append("t", 0, [draft("a")]);
    append.catch(() => undefined);
    await time.advance(10);
    await expect(append).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(await ids()).toEqual([]);
    await time.advance(10);
    expect(await ids()).toEqual(["a"]);
  });

  it("torn: an append applies a prefix and says so", async () => {
    const { store, ids } = await setUp(onAppend({ type: "torn", share: 0.7 }));
    const result = await store.log.append("t", 0, [draft("a"), draft("b"), draft("c")]);
    expect(result.events.map((e) => e.id)).toEqual(["a", "b"]);
    expect(result.error).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
    expect(await ids()).toEqual(["a", "b"]);
  });

  it("P7: torn: an append that has lost its lease applies nothing", async () => {
    const { inner, store, ids } = await setUp(onAppend({ type: "torn", share: 0.7 }));
    const ref = { topic: "t", group: "g", partition: 0 };
    await inner.groups.start(ref, [0]);
    await inner.groups.claim(ref, "later", { nowMs: 0 });
    const append = store.log.append("t", 0, [draft("a"), draft("b")], { ref, epoch: 0 });
    await expect(append).rejects.toMatchObject({ code: "LEASE_LOST" });
    expect(await ids()).toEqual([]);
  });

  it("torn before the first draft is a refusal", async () => {
    const { store, ids } = await setUp(onAppend({ type: "torn", share: 0.3 }));
    await expect(store.log.append("t", 0, [draft("a")])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(await ids()).toEqual([]);
  });

  it("wraps every part", async () => {
    const everywhere: FaultPlan = { call: () => ({ type: "error-before" }) };
    const { store } = await setUp(everywhere);
    const calls = [
      store.log.heads("t"),
      store.groups.list(),
      store.documents.views(),
      store.outbox.stats(),
      store.registry.topics(),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(store.injected["error-before"]).toBe(5);
  });
});

describe("a crash", () => {
  it("by plan: the call did or did not happen, and nobody ever hears", async () => {
    for (const applies of [true, false]) {
      let crashed = 0;
      const { store, time, ids } = await setUp(onAppend({ type: "crash", applies }), {
        onCrash: () => crashed++,
      });
      expect(await standing(store.log.append("t", 0, [draft("a")]), time)).toBe("pending");
      expect(await ids()).toEqual(applies ? ["a"] : []);
      expect(await standing(store.log.append("t", 0, [draft("b")]), time)).toBe("pending");
      await time.advance(1_000_000);
      expect(await ids()).toEqual(applies ? ["a"] : []);
      expect([crashed, store.state]).toEqual([1, "dead"]);
    }
  });

  it("by hand: replies under way are not heard, and calls on their way may or may not arrive", async () => {
    const { store, time, ids } = await setUp(
      onAppend(
        { type: "reorder", applyMs: 10, survivesCrash: true },
        { type: "reorder", applyMs: 10, survivesCrash: false },
        { type: "delay", replyMs: 10 },
      ),
    );
    const calls = ["a", "b", "c"].map((id) => store.log.append("t", 0, [draft(id)]));
    store.crash();
    await time.advance(100);
    for (const call of calls) expect(await standing(call, time)).toBe("pending");
    expect(await ids()).toEqual(["c", "a"]);
  });

  it("may be answered with CLOSED instead of silence", async () => {
    const { store, time } = await setUp(none, { afterCrash: "closed" });
    store.crash();
    expect(await standing(store.log.heads("t"), time)).toBe("CLOSED");
  });

  it("leaves other handles of the same store alone", async () => {
    const { inner, store } = await setUp(none);
    const other = faultyStore(inner, none, { shared: true });
    store.crash();
    expect(await other.log.heads("t")).toHaveLength(1);
  });
});

describe("a pause", () => {
  it("holds replies and signals back until it ends; what was sent still happens", async () => {
    const { inner, store, time, ids } = await setUp(none);
    const signals: Signal[] = [];
    store.watch?.((signal) => signals.push(signal));
    store.freeze();
    const append = store.log.append("t", 0, [draft("a")]);
    expect(await standing(append, time)).toBe("pending");
    await inner.log.append("t", 0, [draft("b")]);
    await time.advance(60_000);
    expect([await ids(), signals.length]).toEqual([["a", "b"], 0]);
    store.thaw();
    expect((await append).events).toHaveLength(1);
    expect(signals.length).toBeGreaterThan(0);
  });

  it("may end in a crash", async () => {
    const { store, time } = await setUp(none);
    store.freeze();
    const append = store.log.append("t", 0, [draft("a")]);
    store.crash();
    store.thaw();
    expect(await standing(append, time)).toBe("pending");
    expect(store.state).toBe("dead");
  });
});

describe("signals", () => {
  it("are dropped and delayed by plan: they are hints", async () => {
    const dropped = await setUp(seededFaults({ seed: 1, signals: { drop: 1 } }));
    const late = await setUp(seededFaults({ seed: 1, signals: { delay: 1 }, delayMs: [40, 40] }));
    const heard: string[] = [];
    dropped.store.watch?.(() => heard.push("dropped"));
    late.store.watch?.(() => heard.push("late"));
    await dropped.inner.log.append("t", 0, [draft("a")]);
    await late.inner.log.append("t", 0, [draft("a")]);
    await late.time.advance(39);
    expect(heard).toEqual([]);
    await late.time.advance(1);
    expect(heard).toEqual(["late"]);
    expect([dropped.store.injected["signal-dropped"], late.store.injected["signal-delayed"]]).toEqual([1, 1]);
  });

  it("are blurred by plan: something happened, and that is all", async () => {
    const { inner, store, time } = await setUp(seededFaults({ seed: 1, signals: { blur: 1 } }));
    const heard: Signal[] = [];
    store.watch?.((signal) => heard.push(signal));
    await inner.log.append("t", 0, [draft("a")]);
    await time.advance(0);
    expect(heard).toEqual([{ type: "any" }]);
  });

  it("stop when the listener leaves", async () => {
    const { inner, store, time } = await setUp(none);
    let heard = 0;
    store.watch?.(() => heard++)();
    await inner.log.append("t", 0, [draft("a")]);
    await time.advance(0);
    expect(heard).toBe(0);
  });
});

describe("closing", () => {
  it("fails later calls with CLOSED and, if shared, leaves the store open", async () => {
    const { inner, store } = await setUp(none);
    await store.close();
    await store.close();
    await expect(store.log.heads("t")).rejects.toMatchObject({ code: "CLOSED" });
    expect(await inner.log.heads("t")).toHaveLength(1);
    await store.open();
    expect(await store.log.heads("t")).toHaveLength(1);
  });

  it("closes the store it owns", async () => {
    const inner = await opened();
    await faultyStore(inner, none).close();
    await expect(inner.log.heads("t")).rejects.toMatchObject({ code: "CLOSED" });
  });
});

describe("plans", () => {
  /** The sorts of fault that 200 appends meet. */
  async function met(plan: FaultPlan): Promise<string> {
    const { store, time } = await setUp(plan);
    const outcomes: string[] = [];
    for (let i = 0; i < 200; i++) {
      store.log.append("t", 0, [draft(`e${i}`), draft(`f${i}`)]).then(
        (result) => outcomes.push(`${i}:${result.events.length}`),
        (error: BusError) => outcomes.push(`${i}:${error.code}`),
      );
      await time.advance(3);
    }
    await time.advance(1_000);
    return `${outcomes.join(" ")} ${JSON.stringify(store.injected)}`;
  }

  const rates = {
    "error-before": 0.1,
    "error-after": 0.1,
    "lost-reply": 0.1,
    delay: 0.1,
    reorder: 0.1,
    torn: 0.1,
  };

  it("with one seed strike the same calls in the same way, with another not", async () => {
    const once = await met(seededFaults({ seed: 5, rates }));
    expect(await met(seededFaults({ seed: 5, rates }))).toBe(once);
    expect(await met(seededFaults({ seed: 6, rates }))).not.toBe(once);
  });

  it("deal faults out by kind of call", async () => {
    const { store } = await setUp(seededFaults({ seed: 1, byKind: { append: { "error-before": 1 } } }));
    await expect(store.log.append("t", 0, [draft("a")])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(await store.log.heads("t")).toHaveLength(1);
  });

  it("end when they are told to stop", async () => {
    const plan = seededFaults({ seed: 1, rates: { "error-before": 1 }, signals: { drop: 1 } });
    const { store } = await setUp(plan);
    await expect(store.log.heads("t")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    plan.stop();
    expect(await store.log.heads("t")).toHaveLength(1);
  });

  it("combine: an appointment goes before chance", async () => {
    const plan = combinedFaults(
      onAppend({ type: "error-after" }),
      seededFaults({ seed: 1, rates: { "error-before": 1 } }),
    );
    const { store, ids } = await setUp(plan);
    await expect(store.log.append("t", 0, [draft("a")])).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    await expect(store.log.append("t", 0, [draft("b")])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(await ids()).toEqual(["a"]);
  });
});
