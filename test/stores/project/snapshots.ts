/** Snapshots on every store: only what changed, in order, by one at a time; and warming a view from them. */
import { describe, expect, it } from "vitest";
import type { EventRecord } from "../../../src/model/event.js";
import { nextTurn } from "../../../src/model/next-turn.js";
import { REDRIVE_GROUP_HEADER, snapshotTopic } from "../../../src/model/topic.js";
import type { Page } from "../../../src/ports/log.js";
import { compactNow } from "../../../src/project/history/compactor.js";
import { SNAPSHOT_GROUP } from "../../../src/project/history/expected-lag.js";
import type { SnapshotEntry } from "../../../src/project/history/snapshot.js";
import { startChangelogProjector } from "../../../src/project/views/changelog.js";
import { movePointer, readPointer } from "../../../src/project/views/view-pointer.js";
import { warmView } from "../../../src/project/views/warm.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import { collectGarbage } from "../../support/collect-garbage.js";
import { collected } from "../../support/collected.js";
import { gate } from "../../support/eventually.js";
import type { ProjectBench } from "./bench.js";
import { finalState, traffic } from "./traffic.js";

const FAST = { pauseMs: 0 } as const;
const CUTS = { maxKeys: 3, batchSize: 6 } as const;

/** What the entries of a snapshot come to. */
function stateOf(entries: readonly EventRecord[]): Record<string, unknown> {
  return finalState(
    entries.map((entry) => ({ ...entry, payload: (entry.payload as SnapshotEntry).payload })),
  );
}

export function describeSnapshots(bench: ProjectBench): void {
  describe("snapshots", () => {
    it("hold the newest event of each key, with its place; a later run adds only what changed", async () => {
      const topic = await bench.topic({ compaction: true });
      const events = await bench.publish(topic, [
        { key: "a", payload: { n: 1 } },
        { key: "b", payload: { n: 2 }, headers: { "x-who": "me" } },
        { key: "a", payload: { n: 3 } },
        { payload: { keyless: true } },
      ]);
      expect(await compactNow(bench.bus, { topic, ...FAST })).toMatchObject({ snapshotEntries: 2 });
      const entries = await bench.events(snapshotTopic(topic));
      expect(entries.map(({ key, payload }) => ({ key, payload }))).toEqual([
        { key: "b", payload: { key: "b", payload: { n: 2 }, ts: events[1]?.ts, seq: 2, partition: 0 } },
        { key: "a", payload: { key: "a", payload: { n: 3 }, ts: events[2]?.ts, seq: 3, partition: 0 } },
      ]);
      expect(entries[0]).toMatchObject({ headers: { "x-who": "me" }, caused_by: [events[1]?.id] });
      await bench.publish(topic, [
        { key: "b", payload: null },
        { key: "c", payload: { n: 4 } },
      ]);
      expect(await compactNow(bench.bus, { topic, ...FAST })).toMatchObject({ snapshotEntries: 2 });
      expect(stateOf(await bench.events(snapshotTopic(topic)))).toEqual({ a: { n: 3 }, c: { n: 4 } });
      expect((await bench.events(snapshotTopic(topic)))[2]?.payload).toMatchObject({
        payload: null,
        _deleted: true,
      });
      expect(await compactNow(bench.bus, { topic, ...FAST })).toMatchObject({ snapshotEntries: 0 });
    });

    it("P11: hold what came back for one group, for all who read them", async () => {
      const topic = await bench.topic({ compaction: true });
      await bench.publish(topic, [
        { key: "a", payload: { n: 1 }, headers: { [REDRIVE_GROUP_HEADER]: "mailer" } },
      ]);
      await compactNow(bench.bus, { topic, ...FAST });
      const read = collected<EventRecord<SnapshotEntry>>();
      const stop = await bench.bus.subscribe<SnapshotEntry>(snapshotTopic(topic), "reader", read.take, {
        from: "earliest",
      });
      expect((await read.first(1)).map(({ payload }) => payload)).toMatchObject([
        { key: "a", payload: { n: 1 } },
      ]);
      await stop();
    });

    it("come to the same state as the log, whatever the partitions and however small the stretches", async () => {
      const topic = await bench.topic({ partitions: 3 });
      await bench.publish(topic, traffic({ events: 600, keys: 50 }));
      await compactNow(bench.bus, { topic, ...FAST, maxKeys: 5, batchSize: 40 });
      expect(stateOf(await bench.events(snapshotTopic(topic)))).toEqual(
        finalState(await bench.events(topic)),
      );
    });

    it("P7, P11: a crash at any point loses and reorders nothing: the next run goes on", async () => {
      for (let n = 1; ; n += n < 6 ? 1 : 4) {
        const topic = await bench.topic({ compaction: true });
        await bench.publish(topic, traffic({ events: 24, keys: 5, seed: n }));
        const { host, died } = bench.dying(n, n % 2 === 0);
        // Whoever goes on may cut the log into other stretches than the one that died.
        const [cuts, otherCuts] = n % 4 < 2 ? [CUTS, {}] : [{}, CUTS];
        await compactNow(host, { topic, ...FAST, ...cuts }).catch(() => undefined);
        await bench.publish(topic, traffic({ events: 8, keys: 5, seed: n + 1_000 }));
        // The dead process would hold its partition until its session ends; who comes next does not wait for that here.
        await releaseSnapshot(bench, topic);
        await compactNow(bench.bus, { topic, ...FAST, ...otherCuts, keepSnapshotsMs: 0 });
        const state = finalState(await bench.events(topic));
        expect(stateOf(await bench.events(snapshotTopic(topic))), `after a crash at call ${n}`).toEqual(
          state,
        );
        if (!died()) break;
        expect(n).toBeLessThan(100);
      }
    });

    it("P11: an older value never follows a newer one, although a dead one cut the log differently", async () => {
      const topic = await bench.topic();
      const keys = ["a", "b", "c", "d", "e", "f", "a", "b", "g", "h", "i", "j"];
      await bench.publish(
        topic,
        keys.map((key, n) => ({ key, payload: { n } })),
      );
      const store = interceptStore(bench.store, {
        around: (call, proceed) => {
          if (call.name === "registry.putToken") throw new Error("the process died");
          return proceed();
        },
      });
      await expect(compactNow(bench.hostOn(store), { topic, ...FAST })).rejects.toThrow("died");
      await compactNow(bench.bus, { topic, ...FAST, ...CUTS });
      const state = finalState(await bench.events(topic));
      expect(stateOf(await bench.events(snapshotTopic(topic)))).toEqual(state);
    });

    it("P7: one that was taken for dead writes nothing any more", async () => {
      const topic = await bench.topic();
      await bench.publish(topic, [{ key: "a", payload: { n: 1 } }]);
      const [asleep, awake] = [gate(), gate()];
      const store = interceptStore(bench.store, {
        around: async (call, proceed) => {
          if (call.name === "log.append") {
            asleep.open();
            await awake.passed;
          }
          return proceed();
        },
      });
      const sleeper = compactNow(bench.hostOn(store), { topic, ...FAST });
      await asleep.passed;
      await releaseSnapshot(bench, topic);
      await bench.publish(topic, [{ key: "a", payload: { n: 2 } }]);
      await compactNow(bench.bus, { topic, ...FAST });
      awake.open();
      await expect(sleeper).rejects.toMatchObject({ code: "LEASE_LOST" });
      expect(stateOf(await bench.events(snapshotTopic(topic)))).toEqual({ a: { n: 2 } });
    });

    it("P13: hold in memory what they wait to write, and not the pages of the log around it", async () => {
      const topic = await bench.topic();
      const [rounds, big] = [100, "x".repeat(200_000)];
      for (let n = 0; n < rounds; n++)
        await bench.publish(topic, [
          { key: `k${n}`, payload: { n } },
          { key: "hot", payload: big },
        ]);
      const read: WeakRef<Uint8Array>[] = [];
      const held: number[] = [];
      const store = interceptStore(bench.store, {
        around: async (call, proceed) => {
          if (call.name === "log.append") {
            // What a reference was made to stays for as long as the present turn takes.
            await nextTurn();
            collectGarbage();
            const kept = new Set(read.map((ref) => ref.deref()));
            held.push([...kept].reduce((sum, source) => sum + (source?.length ?? 0), 0));
          }
          const result = await proceed();
          if (call.name === "log.read")
            for (const { body } of (result as Page).events)
              if (body.source !== undefined) read.push(new WeakRef(body.source));
          return result;
        },
      });
      await compactNow(bench.hostOn(store), { topic, ...FAST });
      expect(held).toHaveLength(1);
      // A store may keep some of what was read last.
      expect(held[0]).toBeLessThan((rounds * big.length) / 2);
    });

    it("P7: several compactors at once write one snapshot", async () => {
      const topic = await bench.topic({ compaction: true, partitions: 2 });
      const other = await bench.secondBus();
      for (let round = 0; round < 2; round++) {
        await bench.publish(topic, traffic({ events: 150, keys: 20, seed: round }));
        const runs = [bench.bus, other, bench.bus].map((bus) =>
          compactNow(bus, { topic, ...FAST, maxKeys: 10, keepSnapshotsMs: 0 }),
        );
        await Promise.all(runs);
      }
      await compactNow(bench.bus, { topic, ...FAST, keepSnapshotsMs: 0 });
      const state = finalState(await bench.events(topic));
      expect(stateOf(await bench.events(snapshotTopic(topic)))).toEqual(state);
    });

    it("P11: a tombstone stays in the log until the snapshot has it", async () => {
      const topic = await bench.topic({ compaction: true, tombstoneRetentionMs: 0 });
      await bench.publish(topic, [{ key: "a", payload: { n: 1 } }]);
      await compactNow(bench.bus, { topic, ...FAST });
      await bench.publish(topic, [{ key: "a", payload: null }]);
      await compactNow(bench.bus, { topic, ...FAST, snapshot: false });
      expect(finalState(await bench.events(topic))).toEqual({});
      expect(await bench.events(topic)).toHaveLength(1);
      await compactNow(bench.bus, { topic, ...FAST, keepSnapshotsMs: 0 });
      await compactNow(bench.bus, { topic, ...FAST, keepSnapshotsMs: 0 });
      expect(await bench.events(topic)).toEqual([]);
      expect(await bench.events(snapshotTopic(topic))).toEqual([]);
    });
  });
  describeWarming(bench);
}

function describeWarming(bench: ProjectBench): void {
  describe("warming a view", () => {
    it("fills it from the snapshot and goes on after it: no event is missed, none is applied twice", async () => {
      const topic = await bench.topic({ compaction: true, partitions: 2 });
      await bench.publish(topic, traffic({ events: 500, keys: 40, seed: 1 }));
      await compactNow(bench.bus, { topic, ...FAST });
      await bench.publish(topic, traffic({ events: 100, keys: 40, seed: 2 }));
      const view = topic;
      const warmed = await warmView(bench.bus, { topic, view });
      expect(warmed.floors.reduce((sum, floor) => sum + floor, 0)).toBe(500);
      expect(warmed.entries).toBeGreaterThan(30);
      const projector = await startChangelogProjector(bench.bus, { topic, view });
      await bench.drained(topic, `changelog:${view}`);
      expect(projector.stats().events).toBe(100);
      expect(projector.stats().stale).toBe(0);
      expect(await viewState(bench, view)).toEqual(finalState(await bench.events(topic)));
      await projector.stop();
    });

    it("leaves to the projector what the snapshot got while the view was being filled", async () => {
      const topic = await bench.topic();
      await bench.publish(topic, [{ key: "a", payload: { n: 1 } }]);
      await compactNow(bench.bus, { topic, ...FAST });
      const store = interceptStore(bench.store, {
        around: async (call, proceed) => {
          const result = await proceed();
          if (call.name === "groups.start") {
            await bench.publish(topic, [{ key: "a", payload: { n: 2 } }]);
            await compactNow(bench.bus, { topic, ...FAST });
          }
          return result;
        },
      });
      expect(await warmView(bench.hostOn(store), { topic, view: topic })).toMatchObject({
        floors: [1],
        entries: 1,
      });
      expect(await viewState(bench, topic)).toEqual({ a: { n: 1 } });
      const projector = await startChangelogProjector(bench.bus, { topic, view: topic });
      await bench.drained(topic, `changelog:${topic}`);
      expect(projector.stats()).toMatchObject({ events: 1, applied: 1, stale: 0 });
      expect(await viewState(bench, topic)).toEqual({ a: { n: 2 } });
      await projector.stop();
    });

    it("is right while others publish and compact", async () => {
      const topic = await bench.topic({ compaction: true, tombstoneRetentionMs: 0 });
      const view = topic;
      await bench.publish(topic, traffic({ events: 300, keys: 20, seed: 1 }));
      await compactNow(bench.bus, { topic, ...FAST });
      const busy = (async () => {
        for (let seed = 2; seed < 8; seed++) {
          await bench.publish(topic, traffic({ events: 60, keys: 20, seed }));
          await compactNow(bench.bus, { topic, ...FAST, keepSnapshotsMs: 0 });
        }
      })();
      await warmView(bench.bus, { topic, view });
      const projector = await startChangelogProjector(bench.bus, { topic, view });
      await busy;
      await bench.drained(topic, `changelog:${view}`);
      expect(await viewState(bench, view)).toEqual(finalState(await bench.events(topic)));
      await projector.stop();
    });

    it("P11: brings nothing back that was deleted, although the snapshot is compacted in the middle", async () => {
      const topic = await bench.topic({ compaction: true });
      const others = Array.from({ length: 600 }, (_, n) => ({ key: `k${n}`, payload: { n } }));
      for (const items of [
        [{ key: "gone", payload: { n: 1 } }, ...others],
        [{ key: "gone", payload: null }],
      ]) {
        await bench.publish(topic, items);
        await compactNow(bench.bus, { topic, ...FAST });
      }
      const clock = { ...bench.bus.clock, now: () => Date.now() + 2 * 86_400_000 };
      let reads = 0;
      const store = interceptStore(bench.store, {
        around: async (call, proceed) => {
          const isNext = call.name === "log.read" && call.args[0] === snapshotTopic(topic) && ++reads === 2;
          if (isNext) await compactNow({ ...bench.hostOn(bench.store), clock }, { topic, ...FAST });
          return proceed();
        },
      });
      await warmView(bench.hostOn(store), { topic, view: topic });
      expect(reads).toBe(2);
      const projector = await startChangelogProjector(bench.bus, { topic, view: topic });
      await bench.drained(topic, `changelog:${topic}`);
      expect(await bench.bus.view(topic).get("gone")).toBeNull();
      await projector.stop();
    });

    it("fills the build that counts of a view that was rebuilt", async () => {
      const topic = await bench.topic();
      await bench.publish(topic, [{ key: "a", payload: { n: 1 } }]);
      await compactNow(bench.bus, { topic, ...FAST });
      const { registry } = bench.store;
      const to = { current: `${topic}__2`, previous: topic, number: 2 };
      await movePointer(registry, topic, await readPointer(registry, topic), to);
      await warmView(bench.bus, { topic, view: topic });
      expect(await bench.bus.view(topic).get("a")).toMatchObject({ n: 1 });
      expect(await bench.bus.view(`${topic}__2`).get("a")).toMatchObject({ n: 1 });
      const groups = (await bench.store.groups.list(topic)).map(({ group }) => group);
      expect(groups).toContain(`changelog:${topic}__2`);
    });

    it("without a snapshot, or with keys of the view's own, everything is left to the projector", async () => {
      const topic = await bench.topic();
      await bench.publish(topic, traffic({ events: 20, keys: 5 }));
      expect(await warmView(bench.bus, { topic, view: `${topic}-a` })).toEqual({
        floors: [0],
        entries: 0,
        lost: 0,
      });
      await compactNow(bench.bus, { topic, ...FAST });
      const keyOf = ({ key }: EventRecord): string => `own-${key}`;
      expect(await warmView(bench.bus, { topic, view: `${topic}-b`, keyOf })).toMatchObject({
        floors: [0],
        entries: 0,
      });
    });
  });
}

async function viewState(bench: ProjectBench, view: string): Promise<Record<string, unknown>> {
  const state: Record<string, unknown> = {};
  for (let after: string | null | undefined; after !== null; ) {
    const page = await bench.bus.view(view).find({ limit: 500, ...(after === undefined ? {} : { after }) });
    for (const { _key, _v: _, _ts: __, ...fields } of page.items) state[_key] = fields;
    after = page.next;
  }
  return state;
}

/** As if the session of whoever held it had ended. */
async function releaseSnapshot(bench: ProjectBench, topic: string): Promise<void> {
  const { groups } = bench.store;
  const nowMs = Date.now();
  const state = await groups.state({ topic, group: SNAPSHOT_GROUP }, { nowMs });
  for (const { owner } of state?.leases ?? []) if (owner !== null) await groups.close(owner, { nowMs });
}
