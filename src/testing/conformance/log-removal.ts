/** Trimming and removal: what goes is gone, what stays is untouched, and the head never falls (P2, P11). */
import { describe, expect, it } from "vitest";
import type { Harness } from "./harness.js";
import { defineTopic, drafts, readAll, seqs } from "./samples.js";

export function describeRemoval(harness: Harness): void {
  describe("trim and remove", () => {
    describeTrim(harness);
    describeRemove(harness);
  });
}

function describeTrim(harness: Harness): void {
  it("trim: removes everything up to and including a seq, and says how many events went", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store, 2);
    await log.append(topic, 0, drafts(10));
    await log.append(topic, 1, drafts(3));
    expect(await log.trim(topic, 0, 0)).toBe(0);
    expect(await log.trim(topic, 0, 4)).toBe(4);
    expect(await log.trim(topic, 0, 4)).toBe(0);
    expect(await log.trim(topic, 0, 2)).toBe(0);
    expect(seqs(await readAll(harness.store, topic, 0))).toEqual([5, 6, 7, 8, 9, 10]);
    expect(await log.heads(topic)).toMatchObject([
      { head: 10, low: 5, events: 6 },
      { head: 3, low: 1, events: 3 },
    ]);
  });

  it("P2: trimming everything leaves the head where it was, and the next event follows it", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    await log.append(topic, 0, drafts(5));
    expect(await log.trim(topic, 0, 5)).toBe(5);
    expect(await log.heads(topic)).toEqual([{ partition: 0, head: 5, low: 6, events: 0, bytes: 0 }]);
    expect(seqs((await log.append(topic, 0, drafts(2))).events)).toEqual([6, 7]);
    expect((await log.heads(topic))[0]).toMatchObject({ head: 7, low: 6, events: 2 });
  });

  it("P2: trimming beyond the head takes what is there and nothing of what comes", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    await log.append(topic, 0, drafts(3));
    expect(await log.trim(topic, 0, 1_000)).toBe(3);
    expect((await log.heads(topic))[0]).toMatchObject({ head: 3, low: 4 });
    await log.append(topic, 0, drafts(2));
    expect(seqs(await readAll(await harness.second(), topic))).toEqual([4, 5]);
  });

  it("P2: a writer and a trimmer at once: seqs stay dense", async () => {
    const second = await harness.second();
    const topic = await defineTopic(harness.store);
    const write = async (): Promise<number[]> => {
      const written: number[] = [];
      for (let i = 0; i < 15; i++) {
        written.push(...seqs((await harness.store.log.append(topic, 0, drafts(4))).events));
      }
      return written;
    };
    const trim = async (): Promise<number> => {
      let gone = 0;
      for (let i = 0; i < 15; i++) {
        const head = (await second.log.heads(topic))[0]?.head ?? 0;
        gone += await second.log.trim(topic, 0, head);
      }
      return gone;
    };
    const [written, gone] = await Promise.all([write(), trim()]);
    expect(written).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    const left = seqs(await readAll(second, topic));
    expect(left).toEqual(written.slice(gone));
  });
}

function describeRemove(harness: Harness): void {
  it("P11: removes exactly these events, and says how many went", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store, 2);
    await log.append(topic, 0, drafts(10));
    await log.append(topic, 1, drafts(10));
    expect(await log.remove(topic, 0, [])).toBe(0);
    expect(await log.remove(topic, 0, [2, 2, 5, 10, 11, 99])).toBe(3);
    expect(await log.remove(topic, 0, [5])).toBe(0);
    expect(seqs(await readAll(harness.store, topic, 0))).toEqual([1, 3, 4, 6, 7, 8, 9]);
    expect(seqs(await readAll(harness.store, topic, 1))).toHaveLength(10);
    expect((await log.heads(topic))[0]).toMatchObject({ head: 10, events: 7 });
  });

  it("P11: what is not there any more is removed once, whichever way it went", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    for (let i = 0; i < 4; i++) await log.append(topic, 0, drafts(2));
    expect(await log.trim(topic, 0, 2)).toBe(2);
    expect(await log.remove(topic, 0, [1, 2])).toBe(0);
    expect(await log.remove(topic, 0, [2, 5, 6])).toBe(2);
    expect(await log.remove(topic, 0, [1, 5, 6, 7])).toBe(1);
    expect(seqs(await readAll(harness.store, topic))).toEqual([3, 4, 8]);
  });

  it("P2: removing the newest event leaves the head, and its seq is never given again", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    await log.append(topic, 0, drafts(3));
    expect(await log.remove(topic, 0, [1, 2, 3, 4])).toBe(3);
    const [emptied] = await log.heads(topic);
    expect(emptied).toMatchObject({ head: 3, events: 0, bytes: 0 });
    expect(emptied?.low).toBeGreaterThanOrEqual(1);
    expect(emptied?.low).toBeLessThanOrEqual(4);
    expect(seqs((await log.append(topic, 0, drafts(1))).events)).toEqual([4]);
    const page = await log.read(topic, 0, { after: 0, limit: 10 });
    expect([seqs(page.events), page.through]).toEqual([[4], 4]);
  });

  it("P11: thousands at a time", async () => {
    const { log } = harness.store;
    const topic = await defineTopic(harness.store);
    for (let i = 0; i < 3; i++) await log.append(topic, 0, drafts(1_000, { freshId: true }));
    const even = Array.from({ length: 1_500 }, (_, i) => 2 * i + 2);
    expect(await log.remove(topic, 0, even)).toBe(1_500);
    expect(await log.trim(topic, 0, 1_500)).toBe(750);
    expect(seqs(await readAll(harness.store, topic))).toEqual(
      Array.from({ length: 750 }, (_, i) => 1_501 + 2 * i),
    );
  });
}
