import { describe, expect, it } from "vitest";
import type { HistoryEvent } from "../history/index.js";
import { simulate } from "./simulate.js";

const SEEDS = 100;
const SEEDS_PER_TEST = 25;

function countOf(history: readonly HistoryEvent[], wanted: (event: HistoryEvent) => boolean): number {
  return history.filter(wanted).length;
}

describe("simulated runs under faults", () => {
  const starts = Array.from({ length: SEEDS / SEEDS_PER_TEST }, (_, i) => 1 + i * SEEDS_PER_TEST);

  it.each(starts)(
    "P1 to P9, P15: %i and the seeds after it show no anomaly",
    { timeout: 120_000 },
    async (start) => {
      for (let seed = start; seed < start + SEEDS_PER_TEST; seed++) {
        const { anomalies } = await simulate({ seed });
        expect(anomalies, `npm run sim -- --seed ${seed} --trace`).toEqual([]);
      }
    },
  );

  it("go the same way, event by event, under the same seed", { timeout: 60_000 }, async () => {
    const hashes = new Set<string>();
    for (const seed of [1, 2, 3, 4, 5]) {
      const { hash } = await simulate({ seed });
      expect((await simulate({ seed })).hash).toBe(hash);
      hashes.add(hash);
    }
    expect(hashes.size).toBe(5);
  });

  it("are rough: every sort of trouble and every outcome occurs", { timeout: 60_000 }, async () => {
    const all: HistoryEvent[] = [];
    for (let seed = 1; seed <= 40; seed++) all.push(...(await simulate({ seed })).history);
    const occurrences = {
      crashed: countOf(all, (e) => e.type === "crashed"),
      frozen: countOf(all, (e) => e.type === "froze"),
      left: countOf(all, (e) => e.type === "left"),
      moved: countOf(all, (e) => e.type === "moved"),
      takenOver: countOf(all, (e) => e.type === "granted" && e.epoch > 1),
      released: countOf(all, (e) => e.type === "committed" && e.released),
      redelivered: countOf(all, (e) => e.type === "delivered" && e.attempt > 1),
      inBatches: countOf(all, (e) => e.type === "delivered" && e.batch !== undefined),
      threw: countOf(all, (e) => e.type === "failed" && e.reason === "threw"),
      fatal: countOf(all, (e) => e.type === "failed" && e.reason === "fatal"),
      nacked: countOf(all, (e) => e.type === "failed" && e.reason === "nacked"),
      staleAcks: countOf(all, (e) => e.type === "answered" && !e.ok),
      deadLettered: countOf(all, (e) => e.type === "dead-lettered"),
      pinned: countOf(all, (e) => e.type === "committed" && e.cursor.suspect !== undefined),
      filtered: countOf(all, (e) => e.type === "filtered"),
      duplicates: countOf(all, (e) => e.type === "publish-ok" && e.duplicate),
      unknown: countOf(all, (e) => e.type === "publish-unknown"),
      effects: countOf(all, (e) => e.type === "publish-asked" && e.topic === "effects"),
      removed: countOf(all, (e) => e.type === "topic-removed"),
      removalsAnswered: countOf(all, (e) => e.type === "removal-ok"),
      removalsStopped: countOf(all, (e) => e.type === "removal-failed" && e.code === "ABORTED"),
      removalsOfWritten: countOf(all, (e) => e.type === "removal-failed" && e.code === "WRITE_CONFLICT"),
      projected: countOf(all, (e) => e.type === "settled" && e.outcome === "projected"),
    };
    const missing = Object.entries(occurrences).filter(([, count]) => count === 0);
    expect(missing).toEqual([]);
  });
});
