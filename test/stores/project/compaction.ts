/** P11 on every store: compaction of the log. */
import { describe, expect, it } from "vitest";
import { Fatal } from "../../../src/model/errors.js";
import { compactNow } from "../../../src/project/history/compactor.js";
import { compactionReached } from "../../../src/project/history/log-compactor.js";
import { verifyGroup } from "../../../src/project/history/verify.js";
import type { Host } from "../../../src/project/host.js";
import { redrive } from "../../../src/project/letters/redrive.js";
import { replay } from "../../../src/project/transfer/replay.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import type { ProjectBench } from "./bench.js";
import { finalState, traffic } from "./traffic.js";

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const FAST = { snapshot: false, pauseMs: 0 } as const;

export function describeCompaction(bench: ProjectBench): void {
  /** A process that is told to stop at its first removal, which happens. */
  const stopped = (onRemove: (seqs: readonly number[]) => void): { host: Host; signal: AbortSignal } => {
    const stop = new AbortController();
    const store = interceptStore(bench.store, {
      around: async (call, proceed) => {
        if (call.name === "log.remove") {
          onRemove(call.args[2]);
          stop.abort();
        }
        return proceed();
      },
    });
    return { host: bench.hostOn(store), signal: stop.signal };
  };
  const at = (nowMs: number): Host => ({
    ...bench.hostOn(bench.store),
    clock: { ...bench.bus.clock, now: () => nowMs },
  });
  const keysOf = async (topic: string): Promise<(string | undefined)[]> =>
    (await bench.events(topic)).map(({ key }) => key).filter((key) => key !== undefined);

  describe("log compaction", () => {
    it("P11: the newest value of every key survives, and a replay comes to the same state", async () => {
      const topic = await bench.topic({ compaction: true, partitions: 3 });
      await bench.publish(topic, traffic({ events: 3_000, keys: 70 }));
      const before = await bench.events(topic);
      const { removed } = await compactNow(bench.bus, { topic, ...FAST });
      const after = await bench.events(topic);
      expect(finalState(after)).toEqual(finalState(before));
      expect(before.length - after.length).toBe(removed);
      const keys = after.map(({ key }) => key).filter((key) => key !== undefined);
      expect(new Set(keys).size).toBe(keys.length);
      const keyless = (events: typeof before): unknown => events.filter(({ key }) => key === undefined);
      expect(keyless(after)).toEqual(keyless(before));
    });

    it("P11, P13: what is compacted again after more events keeps the newest too, also with few keys in memory", async () => {
      const topic = await bench.topic({ compaction: true });
      for (let round = 0; round < 3; round++) {
        await bench.publish(topic, traffic({ events: 200, keys: 50, seed: round }));
        const before = finalState(await bench.events(topic));
        const { rounds } = await compactNow(bench.bus, { topic, ...FAST, maxKeys: 20, batchSize: 50 });
        // Of fifty keys no more than twenty are known at once.
        expect(rounds).toBeGreaterThan(2);
        expect(finalState(await bench.events(topic))).toEqual(before);
      }
      const keys = (await bench.events(topic)).map(({ key }) => key).filter((key) => key !== undefined);
      expect(new Set(keys).size).toBe(keys.length);
    });

    it("P11: a few changes in a large log cost a few look-ups, not another walk through it", async () => {
      const topic = await bench.topic({ compaction: true });
      await bench.publish(
        topic,
        Array.from({ length: 2_000 }, (_, i) => ({ key: `k${i}`, payload: { i } })),
      );
      await compactNow(bench.bus, { topic, ...FAST });
      await bench.publish(topic, [
        { key: "k7", payload: { i: -7 } },
        { key: "k8", payload: { i: -8 } },
      ]);
      const { removed, scanned } = await compactNow(bench.bus, { topic, ...FAST });
      expect([removed, scanned]).toEqual([2, 4]);
      expect((await bench.bus.latestByKey(topic, ["k7"])).k7?.payload).toEqual({ i: -7 });
    });

    it("P11: tombstones outlive by their retention what they delete, however old they are", async () => {
      const topic = await bench.topic({ compaction: true, tombstoneRetentionMs: DAY_MS });
      const nowMs = Date.now();
      const deleted = (key: string) => [
        { key, payload: { n: 1 }, ts: nowMs - 3 * DAY_MS },
        { key, payload: key === "early" ? null : { _deleted: true }, ts: nowMs - 2 * DAY_MS },
      ];
      const compactAt = async (days: number): Promise<number[]> => {
        const host = at(nowMs + days * DAY_MS);
        const { removed, tombstonesRemoved } = await compactNow(host, { topic, ...FAST });
        return [removed, tombstonesRemoved];
      };
      await bench.publish(topic, [...deleted("early"), { key: "kept", payload: { n: 1 } }]);
      expect(await compactAt(0)).toEqual([1, 0]);
      await bench.publish(topic, deleted("late"));
      expect(await compactAt(0.5)).toEqual([1, 0]);
      expect(await compactAt(0.99)).toEqual([0, 0]);
      expect(await compactAt(1.1)).toEqual([0, 1]);
      expect((await bench.events(topic)).map(({ key }) => key)).toEqual(["kept", "late"]);
      expect(await compactAt(1.6)).toEqual([0, 1]);
    });

    it("P11: whoever reads the log while it is compacted comes to the same state", async () => {
      const topic = await bench.topic({ compaction: true });
      const copy = await bench.topic();
      const ts = Date.now() - 3 * DAY_MS;
      const others = Array.from({ length: 600 }, (_, n) => ({ key: `k${n}`, payload: { n }, ts }));
      await bench.publish(topic, [
        { key: "gone", payload: { n: 1 }, ts },
        ...others,
        { key: "gone", payload: null, ts },
      ]);
      const before = finalState(await bench.events(topic));
      let reads = 0;
      const store = interceptStore(bench.store, {
        around: async (call, proceed) => {
          if (call.name === "log.read" && ++reads === 2) await compactNow(bench.bus, { topic, ...FAST });
          return proceed();
        },
      });
      await replay(bench.hostOn(store), { from: topic, to: copy });
      expect(reads).toBeGreaterThan(1);
      expect(finalState(await bench.events(copy))).toEqual(before);
    });

    it("P11: a tombstone stays while another partition has an older value of its key", async () => {
      const topic = await bench.topic({ compaction: true, partitions: 2, tombstoneRetentionMs: 0 });
      await bench.publish(topic, [
        { key: "spread", payload: { n: 1 }, partition: 0 },
        { key: "other", payload: { n: 2 }, partition: 1 },
        { key: "spread", payload: null, partition: 1 },
      ]);
      await compactNow(bench.bus, { topic, ...FAST });
      expect((await bench.bus.latestByKey(topic, ["spread"])).spread?.payload).toBeNull();
      await bench.store.log.trim(topic, 0, 1);
      expect(await compactNow(bench.bus, { topic, ...FAST })).toMatchObject({ tombstonesRemoved: 1 });
    });

    it("P11: a tombstone stays while more of them than are looked at hide an older value of its key", async () => {
      const topic = await bench.topic({ compaction: true, partitions: 11, tombstoneRetentionMs: 0 });
      await bench.publish(topic, [
        { key: "other", payload: { n: 1 }, partition: 0 },
        { key: "spread", payload: { n: 2 }, partition: 0 },
        ...Array.from({ length: 10 }, (_, n) => ({ key: "spread", payload: null, partition: n + 1 })),
      ]);
      expect(await compactNow(bench.bus, { topic, ...FAST })).toMatchObject({ tombstonesRemoved: 0 });
    });

    it("P11: a key that is spread over partitions takes nothing of other keys along", async () => {
      const topic = await bench.topic({ compaction: true, partitions: 2 });
      const others = Array.from({ length: 50 }, (_, n) => ({ key: `k${n}`, payload: { n }, partition: 0 }));
      await bench.publish(topic, [...others, { key: "spread", payload: { n: 1 }, partition: 1 }]);
      await compactNow(bench.bus, { topic, ...FAST });
      await bench.publish(topic, [{ key: "spread", payload: { n: 2 }, partition: 0 }]);
      await compactNow(bench.bus, { topic, ...FAST });
      expect(finalState((await bench.events(topic)).filter(({ key }) => key !== "spread"))).toEqual(
        Object.fromEntries(others.map(({ key, payload }) => [key, payload]).sort()),
      );
    });

    it("is done with all partitions and topics, also if there is more to do in the first ones only", async () => {
      const topics = [
        await bench.topic({ compaction: true, partitions: 2 }),
        await bench.topic({ compaction: true }),
      ];
      const [first = "", second = ""] = topics.sort();
      for (let round = 0; round < 2; round++)
        await bench.publish(
          first,
          Array.from({ length: 20 }, (_, n) => ({ key: `k${n}`, payload: { n, round }, partition: 0 })),
        );
      await bench.publish(second, [{ key: "a", payload: {} }]);
      await compactNow(bench.bus, { topics, ...FAST, maxKeys: 6, batchSize: 10 });
      expect(await keysOf(first)).toHaveLength(20);
    });

    it("one that was stopped in the middle of a removal leaves the rest to the next", async () => {
      const topic = await bench.topic({ compaction: true });
      await bench.publish(topic, traffic({ events: 200, keys: 10 }));
      const { host, signal } = stopped(() => undefined);
      await compactNow(host, { topic, ...FAST, batchSize: 20, signal });
      expect((await keysOf(topic)).length).toBeGreaterThan(10);
      await compactNow(bench.bus, { topic, ...FAST });
      const keys = await keysOf(topic);
      expect(new Set(keys).size).toBe(keys.length);
    });

    it("P11: nothing goes because of an event beyond what is told, whoever goes on with fewer keys in memory", async () => {
      const topic = await bench.topic({ compaction: true });
      await bench.publish(topic, traffic({ events: 200, keys: 20 }));
      const events = await bench.events(topic);
      const next = new Map(
        events.map(({ key, seq }) => [
          seq,
          events.find((later) => later.seq > seq && later.key === key)?.seq,
        ]),
      );
      const removed: number[] = [];
      const { host, signal } = stopped((seqs) => removed.push(...seqs));
      await compactNow(host, { topic, ...FAST, batchSize: 10, signal });
      const beyond: number[] = [];
      const store = interceptStore(bench.store, {
        around: async (call, proceed) => {
          if (call.name !== "log.remove") return proceed();
          removed.push(...call.args[2]);
          const reached = await compactionReached(bench.bus, topic, 0);
          beyond.push(...removed.filter((seq) => (next.get(seq) ?? 0) > reached));
          return proceed();
        },
      });
      await compactNow(bench.hostOn(store), { topic, ...FAST, batchSize: 10, maxKeys: 3 });
      expect(removed.length).toBeGreaterThan(100);
      expect(beyond).toEqual([]);
    });

    it("P11: a tombstone goes when its time has come, whatever else was compacted in between", async () => {
      const topic = await bench.topic({ compaction: true, tombstoneRetentionMs: 60 * MINUTE_MS });
      const nowMs = Date.now();
      const others = Array.from({ length: 50 }, (_, n) => ({ key: `k${n}`, payload: { n } }));
      const gone = { key: "gone", payload: null, ts: nowMs };
      await bench.publish(topic, [...others, gone]);
      const compactAt = (minutes: number) => compactNow(at(nowMs + minutes * MINUTE_MS), { topic, ...FAST });
      await compactAt(0);
      await bench.publish(topic, [{ key: "k7", payload: { n: -7 } }]);
      expect(await compactAt(4)).toMatchObject({ removed: 1, tombstonesRemoved: 0 });
      expect(await compactAt(59.9)).toMatchObject({ tombstonesRemoved: 0 });
      expect(await compactAt(64)).toMatchObject({ tombstonesRemoved: 1 });
    });

    it("P11: a tombstone waits for the slowest group's cursor", async () => {
      const topic = await bench.topic({ compaction: true, tombstoneRetentionMs: 0 });
      const { groups } = bench.store;
      await groups.start({ topic, group: "fast" }, [2]);
      await groups.start({ topic, group: "slow" }, [1]);
      await bench.publish(topic, [
        { key: "a", payload: { n: 1 } },
        { key: "a", payload: null },
      ]);
      expect(await compactNow(bench.bus, { topic, ...FAST })).toMatchObject({
        removed: 1,
        tombstonesRemoved: 0,
      });
      expect((await bench.events(topic)).map(({ payload }) => payload)).toEqual([null]);
      await bench.bus.setCursor(topic, "slow", "latest");
      expect(await compactNow(bench.bus, { topic, ...FAST })).toMatchObject({ tombstonesRemoved: 1 });
      expect(await bench.events(topic)).toEqual([]);
    });

    it("P11: a crash at any point changes nothing, and the next run finishes the work", async () => {
      for (let n = 1; ; n += n < 6 ? 1 : 4) {
        const topic = await bench.topic({ compaction: true, tombstoneRetentionMs: 0 });
        await bench.publish(topic, traffic({ events: 60, keys: 9, seed: n }));
        const before = finalState(await bench.events(topic));
        const { host, died } = bench.dying(n, n % 2 === 0);
        await compactNow(host, { topic, ...FAST, batchSize: 25, maxKeys: 6 }).catch(() => undefined);
        expect(finalState(await bench.events(topic)), `after a crash at call ${n}`).toEqual(before);
        await compactNow(bench.bus, { topic, ...FAST });
        const after = (await bench.events(topic)).filter(({ key }) => key !== undefined);
        expect(finalState(after)).toEqual(before);
        expect(after).toHaveLength(Object.keys(before).length);
        if (!died()) break;
        expect(n).toBeLessThan(100);
      }
    });

    it("P11: a group in the middle of the log drains, and misses no key's newest value", async () => {
      const topic = await bench.topic({ compaction: true, partitions: 2, tombstoneRetentionMs: 0 });
      const seen: { key?: string; payload: unknown }[] = [];
      let open: () => void = () => undefined;
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      const stop = await bench.bus.subscribe(
        topic,
        "reader",
        async (event) => {
          if (seen.length >= 50) await gate;
          seen.push(event);
        },
        { from: "earliest", maxInFlight: 4 },
      );
      await bench.publish(topic, traffic({ events: 600, keys: 30 }));
      await expect.poll(() => seen.length).toBeGreaterThanOrEqual(50);
      const before = finalState(await bench.events(topic));
      expect((await compactNow(bench.bus, { topic, ...FAST })).removed).toBeGreaterThan(300);
      open();
      await bench.drained(topic, "reader");
      expect(finalState(seen as never)).toEqual(before);
      expect(await verifyGroup(bench.bus, topic, "reader")).toMatchObject({ ok: true });
      await stop();
    });

    it("P11: an event that came back for one group does not take its key from the others, nor keep a tombstone for ever", async () => {
      const { bus } = bench;
      const topic = await bench.topic({ compaction: true, tombstoneRetentionMs: 0 });
      let works = false;
      const handler = (): void => {
        if (!works) throw new Fatal("not now");
      };
      const stop = await bus.subscribe(topic, "failing", handler, { from: "earliest" });
      await bench.publish(topic, [
        { payload: { n: 1 }, key: "a", ts: 1_000 },
        { payload: { n: 2 }, key: "b", ts: 1_000 },
        { payload: null, key: "c", ts: 1_000 },
      ]);
      await bench.drained(topic, "failing");
      works = true;
      expect(await redrive(bus, { topic })).toMatchObject({ redriven: 3 });
      await bench.publish(topic, [{ payload: { n: 3 }, key: "b" }]);
      await bench.drained(topic, "failing");
      await stop();
      await compactNow(bus, { topic, ...FAST });
      const late: unknown[] = [];
      const stopLate = await bus.subscribe(topic, "late", ({ key, payload }) => late.push([key, payload]), {
        from: "earliest",
      });
      await bench.drained(topic, "late");
      await stopLate();
      expect(late).toEqual([
        ["a", { n: 1 }],
        ["b", { n: 3 }],
      ]);
      expect((await bench.events(topic)).map(({ key }) => key)).toEqual(["a", "a", "b"]);
    });

    it("keepHistoryMs: what was superseded lately stays; a ts from the future holds nothing back", async () => {
      const topic = await bench.topic({ compaction: true });
      const nowMs = Date.now();
      const at = (hoursAgo: number, n: number, key = "a") => ({
        key,
        payload: { n },
        ts: nowMs - hoursAgo * 3_600_000,
      });
      await bench.publish(topic, [
        at(30, 1),
        at(28, 2),
        at(-1_000, 3, "wrong"),
        at(26, 4),
        at(2, 5),
        at(1, 6),
      ]);
      await compactNow(bench.bus, { topic, ...FAST, keepHistoryMs: DAY_MS });
      expect((await bench.events(topic)).map(({ payload }) => payload)).toEqual(
        expect.arrayContaining([{ n: 3 }, { n: 4 }, { n: 5 }, { n: 6 }]),
      );
      expect(await bench.events(topic)).toHaveLength(4);
    });

    it("a topic that is not compacted loses nothing", async () => {
      const topic = await bench.topic();
      await bench.publish(topic, traffic({ events: 100, keys: 3 }));
      expect(await compactNow(bench.bus, { topic, ...FAST })).toMatchObject({ removed: 0 });
      expect(await bench.events(topic)).toHaveLength(100);
    });
  });
}
