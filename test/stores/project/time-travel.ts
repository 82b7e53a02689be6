/** Time travel on every store: a key, and a whole view, at any time. */
import { describe, expect, it } from "vitest";
import { Fatal } from "../../../src/model/errors.js";
import type { EventRecord } from "../../../src/model/event.js";
import type { PublishItem } from "../../../src/model/event-bus.js";
import { seededRandom } from "../../../src/model/manual-clock.js";
import { redriveHeaders } from "../../../src/model/redrive.js";
import { snapshotTopic } from "../../../src/model/topic.js";
import { compactNow } from "../../../src/project/history/compactor.js";
import { history, stateAt } from "../../../src/project/history/time-travel.js";
import type { Host } from "../../../src/project/host.js";
import { redrive } from "../../../src/project/letters/redrive.js";
import { replay } from "../../../src/project/transfer/replay.js";
import { startChangelogProjector } from "../../../src/project/views/changelog.js";
import { viewAt } from "../../../src/project/views/past-view.js";
import type { ViewSource } from "../../../src/project/views/view-definitions.js";
import { warmView } from "../../../src/project/views/warm.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import type { ProjectBench } from "./bench.js";
import { finalState, traffic } from "./traffic.js";

const FAST = { pauseMs: 0 } as const;
const redriven = { group: "g", root: 1, after: 0, through: 1, skip: false } as const;

/** What stood at a time, by the events alone: in log order, those that are not newer. */
function stateOf(events: readonly EventRecord[], ts: number): Record<string, unknown> {
  return finalState([...events].filter((event) => event.ts <= ts).sort((a, b) => a.seq - b.seq));
}

async function pastState(
  bench: ProjectBench,
  source: ViewSource,
  ts: number,
): Promise<Record<string, unknown>> {
  const state: Record<string, unknown> = {};
  for await (const { _key, _v: _, _ts: __, ...fields } of await viewAt(bench.bus, source, ts)) {
    state[_key] = fields;
  }
  return state;
}

/** Times before, among and after the events. */
function timesOf(events: readonly EventRecord[], seed: number): number[] {
  const random = seededRandom(seed);
  const stamps = events.map(({ ts }) => ts);
  const some = Array.from({ length: 5 }, () => stamps[Math.floor(random() * stamps.length)] as number);
  return [Math.min(...stamps) - 1, ...some, ...some.map((ts) => ts - 1), Math.max(...stamps)];
}

export function describeTimeTravel(bench: ProjectBench): void {
  describe("stateAt and history", () => {
    it("give a key as it was at any time, deleted or not there yet included", async () => {
      const topic = await bench.topic({ keyed: true, partitions: 2 });
      const events = await bench.publish(topic, traffic({ events: 300, keys: 8, deletes: 0.3 }));
      for (const ts of timesOf(events, 1)) {
        const expected = stateOf(events, ts);
        for (let k = 0; k < 8; k++) {
          const found = await stateAt(bench.bus, topic, `k${k}`, ts);
          expect(found?.payload, `k${k} at ${ts}`).toEqual(expected[`k${k}`]);
        }
      }
      expect(await stateAt(bench.bus, topic, "nobody", Date.now())).toBeNull();
    });

    it("cost look-ups of that key alone, however long the log is", async () => {
      const topic = await bench.topic({ keyed: true });
      await bench.publish(
        topic,
        Array.from({ length: 2_000 }, (_, i) => ({
          key: i % 500 === 0 ? "rare" : `k${i}`,
          payload: { i },
          ts: i,
        })),
      );
      const { host, counts } = bench.counting();
      expect((await stateAt(host, topic, "rare", 1_200))?.payload).toEqual({ i: 1_000 });
      expect(counts["log.read"]).toBeUndefined();
      expect(counts["log.history"]).toBe(1);
    });

    it("go back through many changes of one key", async () => {
      const topic = await bench.topic({ keyed: true });
      await bench.publish(
        topic,
        Array.from({ length: 1_500 }, (_, i) => ({ key: "busy", payload: { i }, ts: 1_000 + i })),
      );
      expect((await stateAt(bench.bus, topic, "busy", 1_003))?.payload).toEqual({ i: 3 });
      expect(await stateAt(bench.bus, topic, "busy", 999)).toBeNull();
      const page = await history(bench.bus, topic, "busy", { limit: 3 });
      expect(page.map(({ seq }) => seq)).toEqual([1, 2, 3]);
      const newest = await history(bench.bus, topic, "busy", { limit: 2, newestFirst: true, before: 1_500 });
      expect(newest.map(({ seq }) => seq)).toEqual([1_499, 1_498]);
      expect((await history(bench.bus, topic, "busy", { after: 1_499 })).map(({ seq }) => seq)).toEqual([
        1_500,
      ]);
    });

    it("take what came back from the dead letters of one group for the event that it was, as snapshots and views do", async () => {
      const topic = await bench.topic({ keyed: true });
      const at = (n: number, headers?: Readonly<Record<string, string>>): PublishItem => ({
        ...{ key: "a", payload: { n }, ts: 1_000 * n },
        ...(headers && { headers, ts: 3_000 }),
      });
      await bench.publish(topic, [at(1), at(2), at(1, redriveHeaders(redriven))]);
      const states = async (): Promise<unknown[]> => [
        (await stateAt(bench.bus, topic, "a", 4_000))?.payload,
        (await pastState(bench, { topic }, 4_000)).a,
      ];
      expect(await states()).toEqual([{ n: 2 }, { n: 2 }]);
      await compactNow(bench.bus, { topic, ...FAST });
      expect((await bench.events(snapshotTopic(topic))).map(({ payload }) => payload)).toMatchObject([
        { key: "a", payload: { n: 2 }, seq: 2 },
      ]);
      await bench.store.log.trim(topic, 0, 3);
      expect(await states()).toEqual([{ n: 2 }, { n: 2 }]);
    });

    it("find in the snapshot what retention took from the log", async () => {
      const topic = await bench.topic({ keyed: true });
      const [first] = await bench.publish(topic, [{ key: "a", payload: { n: 1 }, ts: 1_000 }]);
      await compactNow(bench.bus, { topic, ...FAST });
      await bench.store.log.trim(topic, 0, 1);
      expect(await stateAt(bench.bus, topic, "a", 2_000)).toEqual(first);
      expect(await stateAt(bench.bus, topic, "a", 999)).toBeNull();
    });

    it("say what is wrong with a question", async () => {
      await expect(stateAt(bench.bus, "no-such-topic", "a", 1)).rejects.toMatchObject({ code: "NOT_FOUND" });
      const topic = await bench.topic();
      await expect(stateAt(bench.bus, topic, "a", Number.NaN)).rejects.toMatchObject({
        code: "INVALID_OPTION",
      });
      await expect(history(bench.bus, topic, "a", { limit: 0 })).rejects.toMatchObject({
        code: "INVALID_OPTION",
      });
    });
  });
  describeViewAt(bench);
}

function describeViewAt(bench: ProjectBench): void {
  describe("viewAt", () => {
    it("gives the whole view at any time, from the log alone and with snapshots taken in between", async () => {
      const topic = await bench.topic({ keyed: true, partitions: 2 });
      const events: EventRecord[] = [];
      const firstTs = Date.now() - 10_000_000;
      for (let round = 0; round < 4; round++) {
        const more = traffic({ events: 120, keys: 25, seed: round, firstTs: firstTs + round * 1_000_000 });
        events.push(...(await bench.publish(topic, more)));
        if (round > 0) await compactNow(bench.bus, { topic, ...FAST });
      }
      for (const ts of timesOf(events, 2)) {
        expect(await pastState(bench, { topic }, ts), `at ${ts}`).toEqual(stateOf(events, ts));
      }
    });

    it("reads the snapshot instead of the log before it", async () => {
      const topic = await bench.topic({ keyed: true });
      await bench.publish(topic, traffic({ events: 2_000, keys: 10, firstTs: 1_000_000 }));
      await compactNow(bench.bus, { topic, ...FAST });
      const [last] = await bench.publish(topic, [{ key: "late", payload: { n: 1 } }]);
      const { host, counts } = bench.counting();
      const past = await viewAt(host, { topic }, last?.ts ?? 0);
      expect((await past.find({ limit: 100 })).items.map(({ _key }) => _key)).toContain("late");
      expect(counts["log.read"]).toBe(2);
    });

    it("is right when the snapshot was compacted beyond the time, and when retention took the log", async () => {
      const topic = await bench.topic({ keyed: true });
      const first = await bench.publish(
        topic,
        traffic({ events: 100, keys: 12, seed: 1, firstTs: 1_000_000 }),
      );
      await compactNow(bench.bus, { topic, ...FAST });
      const second = await bench.publish(
        topic,
        traffic({ events: 100, keys: 12, seed: 2, firstTs: 2_000_000 }),
      );
      await compactNow(bench.bus, { topic, ...FAST, keepSnapshotsMs: 0 });
      const events = [...first, ...second];
      expect((await bench.events(snapshotTopic(topic))).length).toBeLessThan(13);
      const soonAfter = second.slice(0, 3).map((event) => event.ts);
      for (const ts of [...timesOf(events, 3), ...soonAfter]) {
        expect(await pastState(bench, { topic }, ts), `at ${ts}`).toEqual(stateOf(events, ts));
      }
      await bench.store.log.trim(topic, 0, 150);
      const ts = second.at(-1)?.ts ?? 0;
      expect(await pastState(bench, { topic }, ts)).toEqual(stateOf(events, ts));
    });

    it("is right where an event was ahead of its time when an earlier snapshot was taken", async () => {
      const topic = await bench.topic({ keyed: true });
      for (const items of [
        [
          { key: "a", payload: { n: 1 }, ts: 1_000 },
          { key: "a", payload: { n: 2 }, ts: 9_000 },
        ],
        [{ key: "b", payload: { n: 3 }, ts: 2_000 }],
      ]) {
        await bench.publish(topic, items);
        await compactNow(bench.bus, { topic, ...FAST });
      }
      expect(await pastState(bench, { topic }, 3_000)).toEqual({ a: { n: 1 }, b: { n: 3 } });
    });

    it("is right where the snapshot is compacted while it is read", async () => {
      const topic = await bench.topic({ keyed: true });
      for (const n of [1, 2]) {
        await bench.publish(topic, [{ key: "a", payload: { n }, ts: n * 1_000 }]);
        await compactNow(bench.bus, { topic, ...FAST });
      }
      let isCompacted = false;
      const store = interceptStore(bench.store, {
        around: async (call, proceed) => {
          if (call.name === "log.read" && call.args[0] === snapshotTopic(topic) && !isCompacted) {
            isCompacted = true;
            await compactNow(bench.bus, { topic, ...FAST, keepSnapshotsMs: 0 });
          }
          return proceed();
        },
      });
      const past = await viewAt(bench.hostOn(store), { topic }, 1_500);
      expect((await past.find()).items).toMatchObject([{ _key: "a", n: 1 }]);
      expect(isCompacted).toBe(true);
    });

    it("P11: what came back for one group while its key got a newer value is not that key's value, nowhere", async () => {
      const { bus } = bench;
      const [topic, copy] = [await bench.topic({ compaction: true }), await bench.topic()];
      let works = false;
      const handler = (): void => {
        if (!works) throw new Fatal("not yet");
      };
      const stop = await bus.subscribe(topic, "g", handler, { from: "earliest" });
      await bench.publish(topic, [{ key: "a", payload: { n: 1 } }]);
      await bench.drained(topic, "g");
      works = true;
      const host: Host = {
        ...bench.hostOn(bench.store),
        publish: async (...args) => {
          await bench.publish(topic, [{ key: "a", payload: { n: 2 } }]);
          return bus.publish(...args);
        },
      };
      expect(await redrive(host, { topic })).toMatchObject({ redriven: 1 });
      await stop();
      const nowMs = Date.now() + 1_000;
      for (const _ of ["before it is compacted", "after"]) {
        expect((await stateAt(bus, topic, "a", nowMs))?.payload).toEqual({ n: 2 });
        expect(await pastState(bench, { topic }, nowMs)).toEqual({ a: { n: 2 } });
        await compactNow(bus, { topic, ...FAST });
      }
      await warmView(bus, { topic, view: topic });
      expect(await bus.view(topic).get("a")).toMatchObject({ n: 2 });
      await replay(bus, { from: topic, to: copy });
      expect((await bench.events(copy)).map(({ payload }) => payload)).toEqual([{ n: 2 }]);
    });

    it("gives the same as single documents, whatever of the log behind a snapshot is gone", async () => {
      const random = seededRandom(7);
      for (const compaction of [false, true]) {
        const topic = await bench.topic({ keyed: true, compaction });
        for (let round = 0; round < 4; round++) {
          const firstTs = 1_000_000 + round * 20_000;
          await bench.publish(topic, traffic({ events: 30, keys: 8, seed: round, firstTs, deletes: 0.2 }));
          await compactNow(bench.bus, { topic, ...FAST });
          if (!compaction) await bench.store.log.trim(topic, 0, round * 30 + Math.floor(random() * 30));
        }
        for (let ts = 999_000; ts < 1_100_000; ts += 1_700) {
          const past = await viewAt(bench.bus, { topic }, ts);
          const single = await Promise.all(Array.from({ length: 8 }, (_, k) => past.get(`k${k}`)));
          expect((await past.find()).items, `at ${ts}`).toEqual(single.filter((one) => one !== null));
        }
      }
    });

    it("pages by key, and gives single documents", async () => {
      const topic = await bench.topic({ keyed: true, partitions: 3 });
      const events = await bench.publish(topic, traffic({ events: 200, keys: 40, firstTs: 1_000_000 }));
      const ts = events[150]?.ts ?? 0;
      const past = await viewAt<{ n: number }>(bench.bus, { topic }, ts);
      const keys: string[] = [];
      for (let after: string | null | undefined; after !== null; ) {
        const page = await past.find({ limit: 7, ...(after === undefined ? {} : { after }) });
        keys.push(...page.items.map(({ _key }) => _key));
        after = page.next;
      }
      const expected = stateOf(events, ts);
      expect(keys).toEqual(Object.keys(expected).sort());
      for (const key of keys) {
        expect(await past.get(key)).toMatchObject({ ...(expected[key] as object), _key: key });
      }
      expect(await past.get("nobody")).toBeNull();
      const odd = await past.find({ limit: 50, filter: ({ n }) => n % 2 === 1 });
      expect(odd.items.every(({ n }) => n % 2 === 1)).toBe(true);
    });

    it("knows a view by its name, from any process if it needs no code", async () => {
      const topic = await bench.topic();
      const options = { topic, view: `${topic}-plain` };
      const projectors = [
        await startChangelogProjector(bench.bus, options),
        await startChangelogProjector(bench.bus, {
          topic,
          view: `${topic}-mapped`,
          map: () => ({ mapped: true }),
        }),
      ];
      await bench.publish(topic, [{ key: "a", payload: { n: 1 }, ts: 1_000 }]);
      const other = await bench.secondBus();
      const get = async (bus: typeof other, view: string) => (await viewAt(bus, view, 2_000)).get("a");
      expect(await get(bench.bus, `${topic}-mapped`)).toMatchObject({ mapped: true });
      expect(await get(bench.bus, `${topic}-plain`)).toMatchObject({ n: 1 });
      expect(await get(other, `${topic}-plain`)).toMatchObject({ n: 1 });
      await expect(get(other, `${topic}-mapped`)).rejects.toMatchObject({ code: "UNSUPPORTED" });
      await expect(get(other, "no-such-view")).rejects.toMatchObject({ code: "NOT_FOUND" });
      for (const projector of projectors) await projector.stop();
    });

    it("follows the keys, documents and versions of the view's own", async () => {
      const topic = await bench.topic();
      await bench.publish(topic, [
        { key: "1", payload: { user: "ann", rev: 2 }, ts: 10 },
        { key: "2", payload: { user: "bob", rev: 1 }, ts: 20 },
        { key: "3", payload: { user: "ann", rev: 1 }, ts: 30 },
        { key: "4", payload: { user: "ann", rev: 3 }, ts: 40 },
      ]);
      const source: ViewSource<{ user: string; rev: number }> = {
        topic,
        keyOf: ({ payload }) => payload.user,
        map: ({ payload }) => ({ shown: payload.rev }),
        versionOf: ({ payload }) => payload.rev,
        tombstone: ({ payload }) => payload.rev > 2,
      };
      const at = async (ts: number): Promise<unknown> => {
        const past = await viewAt(bench.bus, source, ts);
        return [await past.get("ann"), (await past.find()).items.map(({ _key, shown }) => [_key, shown])];
      };
      expect(await at(35)).toMatchObject([
        { shown: 2, _v: 2, _ts: 10 },
        [
          ["ann", 2],
          ["bob", 1],
        ],
      ]);
      expect(await at(40)).toEqual([null, [["bob", 1]]]);
    });

    it("passes over what its projector gives up, as the view does", async () => {
      const topic = await bench.topic();
      const view = `${topic}-given-up`;
      const source = {
        topic,
        view,
        map: ({ payload }: { payload: { n: number } | string }) => {
          if (typeof payload === "object" && payload.n < 0) throw new Fatal("below zero");
          return payload as { n: number };
        },
      };
      const projector = await startChangelogProjector(bench.bus, source);
      await bench.publish(topic, [
        { key: "a", payload: { n: 1 }, ts: 10 },
        { key: "b", payload: { n: 2 }, ts: 20 },
        { key: "a", payload: "no object", ts: 30 },
        { key: "b", payload: { n: -1 }, ts: 40 },
        { key: "c", payload: "nor this", ts: 50 },
      ]);
      await bench.drained(topic, `changelog:${view}`);
      const now = (await bench.bus.view(view).find()).items;
      expect(now.map(({ _key, n }) => [_key, n])).toEqual([
        ["a", 1],
        ["b", 2],
      ]);
      const past = await viewAt(bench.bus, view, 60);
      expect((await past.find()).items).toEqual(now);
      for (const [i, key] of ["a", "b", "c"].entries()) expect(await past.get(key)).toEqual(now[i] ?? null);
      const byCode = await viewAt(bench.bus, { ...source, keyOf: ({ key }) => key }, 60);
      expect((await byCode.find()).items).toEqual(now);
      await projector.stop();
    });

    it("a page has a whole number of documents", async () => {
      const past = await viewAt(bench.bus, { topic: await bench.topic() }, 10);
      for (const limit of [1.5, 0, Number.NaN])
        await expect(past.find({ limit })).rejects.toMatchObject({ code: "INVALID_OPTION" });
    });
  });
}
