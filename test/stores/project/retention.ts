/** Retention on every store: by age, by size, and never in silence. */
import { describe, expect, it } from "vitest";
import { Fatal } from "../../../src/model/errors.js";
import { discardDeadLetters, summarizeDeadLetters } from "../../../src/project/letters/dead-letters.js";
import { rebuildView } from "../../../src/project/rebuild/rebuild.js";
import { retainNow, startRetention, type UnreadEvents } from "../../../src/project/retention/retention.js";
import { startChangelogProjector } from "../../../src/project/views/changelog.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import type { ProjectBench } from "./bench.js";

const HOUR_MS = 3_600_000;

export function describeRetention(bench: ProjectBench): void {
  const seqs = async (topic: string): Promise<number[]> => (await bench.events(topic)).map(({ seq }) => seq);
  /** One event for each age, in hours. */
  const aged = async (topic: string, ...hours: number[]): Promise<void> => {
    const nowMs = Date.now();
    await bench.publish(
      topic,
      hours.map((h) => ({ key: "a", payload: { h }, ts: nowMs - h * HOUR_MS, partition: 0 })),
    );
  };

  describe("retention", () => {
    it("takes what is older than the topic allows, and nothing else", async () => {
      const topic = await bench.topic({ retentionMs: 10 * HOUR_MS });
      const kept = await bench.topic();
      await aged(topic, 30, 20, 11, 9, 1);
      await aged(kept, 30, 20);
      expect(await retainNow(bench.bus, { topics: [topic, kept] })).toMatchObject({ trimmed: 3, lost: 0 });
      expect([await seqs(topic), await seqs(kept)]).toEqual([
        [4, 5],
        [1, 2],
      ]);
      expect(await retainNow(bench.bus, { topics: [topic] })).toMatchObject({ trimmed: 0 });
    });

    it("is not held back by a ts from the future, and keeps what is young behind an old one", async () => {
      const topic = await bench.topic({ retentionMs: 10 * HOUR_MS });
      await aged(topic, 30, -1_000, 20, 5, 40, 1);
      await retainNow(bench.bus, { topics: [topic] });
      expect(await seqs(topic)).toEqual([4, 5, 6]);
    });

    it("takes an event dated far ahead only with an older one behind it", async () => {
      const topic = await bench.topic({ retentionMs: 10 * HOUR_MS });
      await aged(topic, 30, -1_000, 20, -1_000);
      await retainNow(bench.bus, { topics: [topic] });
      expect(await seqs(topic)).toEqual([4]);
      await aged(topic, 11, 1);
      await retainNow(bench.bus, { topics: [topic] });
      expect(await seqs(topic)).toEqual([6]);
    });

    it("takes nothing by a clock that is far behind", async () => {
      const topic = await bench.topic({ retentionMs: 10 * HOUR_MS });
      await aged(topic, 30, 20, 1);
      const clock = { ...bench.bus.clock, now: () => 0 };
      const host = { ...bench.hostOn(bench.store), clock };
      expect(await retainNow(host, { topics: [topic] })).toMatchObject({ trimmed: 0 });
      expect(await seqs(topic)).toEqual([1, 2, 3]);
    });

    it("keeps a topic within its bytes, the oldest of all partitions going first", async () => {
      const topic = await bench.topic({ partitions: 2, retentionBytes: 60_000 });
      const text = "x".repeat(1_000);
      for (let i = 0; i < 120; i++) {
        await bench.publish(topic, [{ payload: { i, text }, ts: 1_000 + i, partition: i % 3 === 0 ? 0 : 1 }]);
      }
      await retainNow(bench.bus, { topics: [topic] });
      const heads = await bench.store.log.heads(topic);
      const bytes = heads.reduce((sum, head) => sum + head.bytes, 0);
      expect(bytes).toBeLessThanOrEqual(60_000);
      expect(bytes).toBeGreaterThan(30_000);
      const left = (await bench.events(topic)).map(({ ts }) => ts).sort((a, b) => a - b);
      expect(left.at(-1)).toBe(1_119);
      expect(left).toEqual(Array.from({ length: left.length }, (_, i) => 1_120 - left.length + i));
    });

    it.each([
      ["say little", {}],
      ["say most in their headers", { headers: { note: "x".repeat(4_000) } }],
    ])("takes no more than it must, whatever events count for in the store: they %s", async (_, options) => {
      const topic = await bench.topic({ partitions: 2 });
      for (let i = 0; i < 20; i++)
        await bench.publish(
          topic,
          Array.from({ length: 30 }, (_, n) => ({ payload: n, ts: 1_000 + i, partition: n % 2, ...options })),
        );
      const size = async (): Promise<number> =>
        (await bench.store.log.heads(topic)).reduce((sum, { bytes }) => sum + bytes, 0);
      const all = await size();
      const keep = async (retentionBytes: number): Promise<number> => {
        await bench.bus.defineTopic({ name: topic, partitions: 2, retentionBytes });
        return (await retainNow(bench.bus, { topics: [topic] })).trimmed;
      };
      expect(await keep(all)).toBe(0);
      expect(await keep(Math.floor(all / 2))).toBeGreaterThan(0);
      expect((await size()) / all).toBeGreaterThan(0.45);
      expect((await size()) / all).toBeLessThanOrEqual(0.5);
    });

    it("neither tells of a group that rests, nor waits for it: it fed a build of a view that was replaced", async () => {
      const { bus } = bench;
      const topic = await bench.topic({ retentionMs: 10 * HOUR_MS });
      const view = `kept-${topic}`;
      const projector = await startChangelogProjector(bus, { topic, view });
      await aged(topic, 30);
      await bench.drained(topic, `changelog:${view}`);
      expect(await (await rebuildView(bus, view)).result).toMatchObject({ switched: true });
      await projector.stop();
      await aged(topic, 20, 11, 1);
      const next = await startChangelogProjector(bus, { topic, view });
      await bench.drained(topic, `changelog:${view}__2`);
      await next.stop();
      const told: string[] = [];
      const onWouldLose = ({ group }: UnreadEvents) => told.push(group);
      const stats = await retainNow(bus, { topics: [topic], holdForGroups: true, onWouldLose });
      expect({ ...stats, told }).toMatchObject({ trimmed: 3, reports: 0, lost: 0, held: 0, told: [] });
      // A group of another topic may have its name.
      const other = await bench.topic({ retentionMs: 10 * HOUR_MS });
      await aged(other, 30);
      await bench.store.groups.start({ topic: other, group: `changelog:${view}` }, [0]);
      expect(await retainNow(bus, { topics: [other], holdForGroups: true })).toMatchObject({ held: 1 });
    });

    it("tells of a group that would lose unread events before they go: callback, audit, statistics", async () => {
      const topic = await bench.topic({ retentionMs: 10 * HOUR_MS });
      await aged(topic, 30, 20, 11, 1);
      await bench.store.groups.start({ topic, group: "slow" }, [1]);
      await bench.store.groups.start({ topic, group: "done" }, [4]);
      const told: (UnreadEvents & { present: number })[] = [];
      const stats = await retainNow(bench.bus, {
        topics: [topic],
        onWouldLose: async (unread) => told.push({ ...unread, present: (await seqs(topic)).length }),
      });
      expect(told).toEqual([
        { topic, partition: 0, group: "slow", stage: "now", events: 2, floor: 1, through: 3, present: 4 },
      ]);
      expect(stats).toMatchObject({ trimmed: 3, reports: 1, lost: 2 });
      const [audit] = await bench.store.registry.audits({ limit: 1 });
      expect(audit).toMatchObject({
        actor: "retention",
        action: "retention.unread-now",
        target: `${topic} slow`,
        details: { group: "slow", events: 2 },
      });
    });

    it("tells of it some time ahead, once for each partition", async () => {
      const topic = await bench.topic({ partitions: 2, retentionMs: 10 * HOUR_MS });
      await aged(topic, 9.5, 1);
      await bench.publish(topic, [{ payload: 1, ts: Date.now() - 9.5 * HOUR_MS, partition: 1 }]);
      await bench.store.groups.start({ topic, group: "slow" }, [0, 0]);
      const told: UnreadEvents[] = [];
      const retention = startRetention(bench.bus, {
        topics: [topic],
        everyMs: 5,
        onWouldLose: (unread) => told.push(unread),
      });
      await expect.poll(() => retention.stats().rounds).toBeGreaterThan(3);
      await retention.stop();
      const soon = { group: "slow", stage: "soon", events: 1, through: 1 };
      expect(told).toMatchObject([
        { ...soon, partition: 0 },
        { ...soon, partition: 1 },
      ]);
      expect(await seqs(topic)).toHaveLength(3);
    });

    it("with holdForGroups, keeps what a group has not settled until it has", async () => {
      const topic = await bench.topic({ retentionMs: 10 * HOUR_MS });
      await aged(topic, 30, 20, 11, 1);
      await bench.store.groups.start({ topic, group: "slow" }, [1]);
      const told: UnreadEvents[] = [];
      const options = {
        topics: [topic],
        holdForGroups: true,
        onWouldLose: (unread: UnreadEvents) => told.push(unread),
      };
      expect(await retainNow(bench.bus, options)).toMatchObject({ trimmed: 1, held: 1, lost: 0 });
      expect(told).toMatchObject([{ group: "slow", stage: "held", events: 2 }]);
      expect(await seqs(topic)).toEqual([2, 3, 4]);
      const retention = startRetention(bench.bus, { topics: [topic], holdForGroups: true, everyMs: 5 });
      await expect.poll(() => retention.stats().rounds).toBeGreaterThan(2);
      await retention.stop();
      expect(retention.stats()).toMatchObject({ trimmed: 0, held: 1, reports: 1 });
      await bench.bus.setCursor(topic, "slow", "latest");
      expect(await retainNow(bench.bus, options)).toMatchObject({ trimmed: 2, held: 0 });
      expect(await seqs(topic)).toEqual([4]);
    });

    it("a group whose events were taken goes on with the next one there is", async () => {
      const topic = await bench.topic({ retentionMs: 10 * HOUR_MS });
      await aged(topic, 30, 20, 11, 1);
      await bench.store.groups.start({ topic, group: "late" }, [0]);
      await retainNow(bench.bus, { topics: [topic] });
      const seen: number[] = [];
      // One that has not published them: a publisher may still hold them in memory.
      const reader = await bench.secondBus();
      const stop = await reader.subscribe(topic, "late", (event) => void seen.push(event.seq));
      await bench.drained(topic, "late");
      expect(seen).toEqual([4]);
      await stop();
    });

    describe("of dead letters", () => {
      /** Three letters that were discarded, in a topic that keeps none. */
      const discarded = async (
        payloads = [1, 2, 3],
      ): Promise<{ topic: string; letters: string; open(): Promise<number> }> => {
        const topic = await bench.topic();
        const letters = `dlq.${topic}`;
        await bench.bus.defineTopic({ name: letters, partitions: 1, retentionBytes: 1 });
        await bench.publish(
          topic,
          payloads.map((payload) => ({ payload })),
        );
        await giveUpAll(topic);
        expect(await discardDeadLetters(bench.bus, topic, { reason: "too old" })).toBe(payloads.length);
        return { topic, letters, open: async () => (await summarizeDeadLetters(bench.bus, topic)).open };
      };
      const giveUpAll = async (topic: string): Promise<void> => {
        const fail = (): never => {
          throw new Fatal("no");
        };
        const stop = await bench.bus.subscribe(topic, "fails", fail, { from: "earliest" });
        await bench.drained(topic, "fails");
        await stop();
      };
      const outcomes = async (letters: string): Promise<number | undefined> =>
        (await bench.store.documents.views()).find(({ view }) => view === letters)?.documents;

      it("P8: takes what became of them along: the same event, given up again, is open", async () => {
        const { topic, letters, open } = await discarded();
        expect(await outcomes(letters)).toBe(3);
        expect(await retainNow(bench.bus, { topics: [letters] })).toMatchObject({ trimmed: 3 });
        expect(await outcomes(letters)).toBe(0);
        await bench.bus.setCursor(topic, "fails", "earliest");
        await giveUpAll(topic);
        expect(await open()).toBe(3);
        expect(await discardDeadLetters(bench.bus, topic, { reason: "again" })).toBe(3);
        expect(await open()).toBe(0);
      });

      it("finds what became of letters that are gone already, and leaves the rest alone", async () => {
        const { letters } = await discarded();
        await bench.store.log.trim(letters, 0, 2);
        await bench.bus.defineTopic({ name: letters, partitions: 1, retentionMs: HOUR_MS });
        await retainNow(bench.bus, { topics: [letters] });
        expect(await outcomes(letters)).toBe(1);
      });

      it("P8: leaves nothing of them where they went while they were being discarded", async () => {
        const { topic, letters, open } = await discarded();
        await bench.bus.setCursor(topic, "fails", "earliest");
        await retainNow(bench.bus, { topics: [letters] });
        await giveUpAll(topic);
        const store = interceptStore(bench.store, {
          around: async (call, proceed) => {
            if (call.name === "documents.write") await retainNow(bench.bus, { topics: [letters] });
            return proceed();
          },
        });
        await discardDeadLetters(bench.hostOn(store), topic, { reason: "too late" });
        expect(await outcomes(letters)).toBe(0);
        await bench.bus.setCursor(topic, "fails", "earliest");
        await giveUpAll(topic);
        expect(await open()).toBe(3);
      });

      it("P8: also after a crash in the middle: what is given up again can be discarded again", async () => {
        const { topic, letters, open } = await discarded([1]);
        const store = interceptStore(bench.store, {
          around: (call, proceed) => {
            if (call.name === "documents.purge") throw new Error("the process died");
            return proceed();
          },
        });
        const crashing = retainNow(bench.hostOn(store), { topics: [letters] });
        await expect(crashing).rejects.toThrow("died");
        await retainNow(bench.bus, { topics: [letters] });
        await bench.bus.setCursor(topic, "fails", "earliest");
        await giveUpAll(topic);
        expect(await discardDeadLetters(bench.bus, topic, { reason: "again" })).toBe(1);
        expect(await open()).toBe(0);
      });
    });

    it("shows on the board while it runs, and stops", async () => {
      const topic = await bench.topic({ retentionMs: HOUR_MS });
      const retention = startRetention(bench.bus, { topics: [topic], everyMs: 5 });
      await expect.poll(() => retention.stats().rounds).toBeGreaterThan(1);
      expect(bench.bus.tasks.reports()).toMatchObject([{ kind: "retention", state: "running" }]);
      await retention.stop();
      expect(bench.bus.tasks.reports()).toEqual([]);
    });
  });
}
