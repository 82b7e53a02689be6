import { describe, expect, it, vi } from "vitest";
import { collectGarbage } from "../../../test/support/collect-garbage.js";
import { ManualClock } from "../../model/manual-clock.js";
import type { Signal, Store } from "../../ports/store.js";
import { draft, drafts, failsWith, seqs, session } from "../../testing/conformance/samples.js";
import { describeStore } from "../../testing/index.js";
import { memoryStore } from "./index.js";

describeStore({
  name: "memory",
  async create() {
    const store = memoryStore();
    await store.open();
    return { store, dispose: () => store.close() };
  },
});

async function opened(options: Parameters<typeof memoryStore>[0] = {}): Promise<Store> {
  const store = memoryStore(options);
  await store.open();
  await store.registry.defineTopic({ name: "t", partitions: 2 });
  return store;
}

describe("memoryStore", () => {
  it("P1: says that nothing outlives the process", () => {
    const { name, capabilities } = memoryStore();
    expect(name).toBe("memory");
    expect(capabilities).toEqual({
      durable: false,
      sharedByProcesses: false,
      transactions: true,
      transactsInOrder: true,
      changeFeed: false,
      defaultPartitions: 1,
    });
    expect(memoryStore({ name: "memory of a test" }).name).toBe("memory of a test");
  });

  it("P13: a full store takes a prefix and says STORE_FULL; trimming makes room", async () => {
    const { log } = await opened({ maxEvents: 5 });
    await log.append("t", 0, drafts(3));
    const known = draft();
    const cut = await log.append("t", 1, [known, draft(), draft(), known]);
    expect(seqs(cut.events)).toEqual([1, 2]);
    expect(cut.error).toMatchObject({ code: "STORE_FULL", retryable: true, details: { maxEvents: 5 } });
    const again = await log.append("t", 1, [known]);
    expect([[...again.duplicates], again.error]).toEqual([[0], undefined]);
    await log.trim("t", 0, 2);
    expect((await log.append("t", 1, drafts(2))).error).toBeUndefined();
  });

  it("P13: keeps nothing of groups that were removed long ago; P7: their epochs grow on all the same", async () => {
    const { groups } = await opened();
    const nowMs = 1;
    await groups.open(session("m"), { nowMs, ttlMs: 1_000 });
    const ref = { topic: "t", group: "g", partition: 0 };
    await groups.start(ref, [0]);
    const epoch = (await groups.claim(ref, "m", { nowMs }))?.epoch ?? 0;
    await groups.remove(ref);
    const comeAndGo = async (name: string): Promise<number> => {
      for (let n = 0; n < 10_000; n++) {
        const one = { topic: "t", group: `${name}${n}` };
        await groups.start(one, [0]);
        await groups.join(one, "m");
        await groups.leave(one, "m");
        await groups.remove(one);
      }
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = await comeAndGo("warm");
    expect(((await comeAndGo("cold")) - before) / 10_000).toBeLessThan(50);
    await groups.start(ref, [0]);
    expect((await groups.claim(ref, "m", { nowMs }))?.epoch).toBeGreaterThan(epoch);
  });

  it("keeps the very value it was given: no text is made", async () => {
    const { log } = await opened();
    const given = draft({ payload: { a: 1 } });
    const text = vi.spyOn(JSON, "stringify");
    try {
      await log.append("t", 0, [given]);
      const { events } = await log.read("t", 0, { after: 0, limit: 1, maxBytes: 100 });
      expect(events[0]?.record.payload).toBe(given.body.value);
      expect(text).not.toHaveBeenCalled();
    } finally {
      text.mockRestore();
    }
  });

  it("tells once of appends in a row, with the newest head, and of each partition", async () => {
    const store = await opened();
    const heard: Signal[] = [];
    store.watch?.((signal) => heard.push(signal));
    await Promise.all([
      store.log.append("t", 0, drafts(2)),
      store.log.append("t", 0, drafts(3)),
      store.log.append("t", 1, drafts(1)),
    ]);
    expect(heard).toEqual([
      { type: "appended", topic: "t", partition: 0, head: 5 },
      { type: "appended", topic: "t", partition: 1, head: 1 },
    ]);
  });

  it("tells nobody of an append that added nothing", async () => {
    const store = await opened();
    const once = draft();
    await store.log.append("t", 0, [once]);
    const heard: Signal[] = [];
    store.watch?.((signal) => heard.push(signal));
    await store.log.append("t", 0, [once]);
    await store.log.append("t", 0, []);
    await Promise.resolve();
    expect(heard).toEqual([]);
  });

  it("a function that listens twice hears twice, and each stop ends one", async () => {
    const store = await opened();
    let heard = 0;
    const listener = (): void => {
      heard++;
    };
    const stop = store.watch?.(listener);
    store.watch?.(listener);
    await store.log.append("t", 0, drafts(1));
    await Promise.resolve();
    expect(heard).toBe(2);
    stop?.();
    await store.log.append("t", 0, drafts(1));
    await Promise.resolve();
    expect(heard).toBe(3);
  });

  it("listeners end with the close, also if it is opened again", async () => {
    const store = await opened();
    let heard = 0;
    store.watch?.(() => heard++);
    store.outbox.watch?.(() => heard++);
    await store.close();
    expect(() => store.watch?.(() => heard++)).toThrow("closed");
    await store.open();
    await store.log.append("t", 0, drafts(1));
    await store.outbox.add({ id: "a", topic: "t", payload: null });
    await Promise.resolve();
    expect(heard).toBe(0);
  });

  it("P9: a unit that fails leaves no view behind", async () => {
    const { documents } = await opened();
    const write = { op: "upsert", key: "a", ts: 0, fields: {}, expected: 4 } as const;
    await failsWith("WRITE_CONFLICT", documents.transact({ writes: [{ view: "v", writes: [write] }] }));
    expect(await documents.views()).toEqual([]);
  });

  it("P13: forgets sessions that ran out long ago, and what they joined", async () => {
    const { groups } = await opened();
    const gone = session();
    const late = session();
    await groups.open(gone, { nowMs: 0, ttlMs: 10 });
    await groups.open(late, { nowMs: 3_600_000, ttlMs: 10 });
    expect(await groups.beat(gone.member, { nowMs: 3_600_000, ttlMs: 10 })).toBe(true);
    await groups.open(session(), { nowMs: 2 * 3_600_000 + 11, ttlMs: 10 });
    expect(await groups.beat(gone.member, { nowMs: 2 * 3_600_000 + 11, ttlMs: 10 })).toBe(false);
    expect(await groups.beat(late.member, { nowMs: 2 * 3_600_000 + 11, ttlMs: 10 })).toBe(false);
  });

  it("dates outbox entries that come without a time by its clock", async () => {
    const { outbox } = await opened({ clock: new ManualClock({ startMs: 77 }) });
    await outbox.add({ id: "a", topic: "t", payload: null });
    expect((await outbox.stats()).oldestMs).toBe(77);
  });

  it("P13: asking about topics that do not exist leaves nothing behind, and appends later are seen", async () => {
    const { log } = await opened();
    expect((await log.latestByKey("u", ["k"])).size).toBe(0);
    await log.append("u", 0, [draft({ key: "k" })]);
    expect((await log.latestByKey("u", ["k"])).get("k")?.seq).toBe(1);
  });
});
