/** The tail: a reader cannot tell it from the log, ten groups cost one read, and it stays within its bounds. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventually, settled } from "../../test/support/eventually.js";
import { draft } from "../../test/support/stored-events.js";
import { InOrder, TailBench } from "../../test/support/tail-bench.js";
import type { TailReader } from "./tail.js";

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe("reading", () => {
  it("serves what this bus published at once, without a read of the log", async () => {
    const bench = new TailBench();
    await bench.publish(5);
    const page = bench.readNow(2, 2);
    expect(page).not.toBeInstanceOf(Promise);
    expect(page).toMatchObject({ events: [{ seq: 3 }, { seq: 4 }], through: 4, atHead: false });
    expect(bench.readNow(4, 2)).toMatchObject({ events: [{ seq: 5 }], through: 5, atHead: true });
    expect(bench.readNow(5, 2)).toMatchObject({ events: [], through: 5, atHead: true });
    expect(bench.reads).toBe(0);
  });

  it("keeps nothing for a partition that nobody here reads, and whoever comes later reads the log", async () => {
    const bench = new TailBench();
    bench.tail.appended((await bench.append(5)).events);
    expect(bench.readNow(2, 9)).toBeInstanceOf(Promise);
    expect(await bench.seqs(2)).toEqual([3, 4, 5]);
    await bench.publish(3);
    expect(bench.readNow(5, 9)).toMatchObject({ events: [{ seq: 6 }, { seq: 7 }, { seq: 8 }] });
  });

  it("ten groups that ask for the same at once cost one read", async () => {
    const bench = new TailBench();
    await bench.append(3);
    const pages = await Promise.all(range(1, 10).map(() => bench.read(0)));
    expect(pages.every(({ events }) => events.length === 3)).toBe(true);
    expect(bench.reads).toBe(1);
  });

  it("keeps what it read at the head, so that the next group finds it", async () => {
    const bench = new TailBench();
    await bench.append(6);
    await bench.read(3);
    expect(await bench.seqs(4)).toEqual([5, 6]);
    expect(bench.reads).toBe(1);
  });

  it("P2: what others appended between two publishes of this bus is never skipped", async () => {
    const bench = new TailBench();
    await bench.publish(2);
    await bench.append(3);
    await bench.publish(1);
    expect(await bench.seqs(0)).toEqual(range(1, 6));
    expect(await bench.seqs(2)).toEqual(range(3, 6));
  });

  it("a page that is full says nothing of the end: a reader far behind goes on at once, by events and by bytes", async () => {
    const small = draft("x", "x").body.size;
    for (const [limits, limit] of [
      [{}, 3] as const,
      [{ maxBufferedBytes: 4 * (small + 121) }, 100] as const,
    ]) {
      const bench = new TailBench(limits);
      await bench.append(10);
      const seen: number[] = [];
      for (let after = 0, atHead = false; !atHead; ) {
        const page = await bench.read(after, limit);
        seen.push(...page.events.map(({ seq }) => seq));
        ({ through: after, atHead } = page);
      }
      expect(seen).toEqual(range(1, 10));
      expect(bench.reads).toBeGreaterThan(3);
    }
  });

  it("P13: a page of what is kept has no more bytes than one of the log, and a reader goes on behind it", async () => {
    const bench = new TailBench({ maxBufferedBytes: 12 * (draft("x", "x").body.size + 121) });
    await bench.publish(10);
    const seen: number[][] = [];
    for (let after = 0, atHead = false; !atHead; ) {
      const page = await bench.readNow(after, 100);
      seen.push(page.events.map(({ seq }) => seq));
      ({ through: after, atHead } = page);
    }
    expect(seen.flat()).toEqual(range(1, 10));
    expect(Math.max(...seen.map(({ length }) => length))).toBeLessThanOrEqual(4);
    expect(bench.reads).toBe(0);
  });

  it("P2: pages tell how far they reach over what was removed", async () => {
    const bench = new TailBench();
    await bench.append(9);
    await bench.store.log.remove("t.a", 0, [2, 3, 4, 8, 9]);
    expect(await bench.read(0)).toMatchObject({ through: 9, atHead: true });
    expect(await bench.read(1, 1)).toMatchObject({ events: [{ seq: 5 }], through: 5 });
    expect(await bench.read(7)).toMatchObject({ events: [], through: 9, atHead: true });
    expect(await bench.read(3)).toMatchObject({ events: [{ seq: 5 }, { seq: 6 }, { seq: 7 }], through: 9 });
  });

  it("a read that fails is told to everybody who waited, and the next one tries again", async () => {
    const bench = new TailBench();
    await bench.append(1);
    await bench.store.close();
    const both = await Promise.allSettled([bench.read(0), bench.read(0)]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await bench.store.open();
    expect(await bench.seqs(0)).toEqual([1]);
  });

  it("lets go of what every reader has got, and keeps what one of them has yet to get", async () => {
    const bench = new TailBench();
    const [quick, slow] = [0, 1].map(() => bench.tail.listen("t.a", 0, () => undefined)) as [
      TailReader,
      TailReader,
    ];
    const publish = async (): Promise<void> => bench.tail.appended((await bench.append(2)).events);
    await publish();
    expect(bench.tail.read(quick, 0, 9)).toMatchObject({ through: 2 });
    await publish();
    expect(bench.tail.read(quick, 2, 9)).toMatchObject({ events: [{ seq: 3 }, { seq: 4 }], atHead: true });
    expect(bench.tail.read(slow, 0, 3)).toMatchObject({ through: 3, atHead: false });
    expect(bench.tail.read(slow, 3, 3)).toMatchObject({ events: [{ seq: 4 }], atHead: true });
    await publish();
    expect(bench.tail.read(slow, 4, 9)).toMatchObject({ events: [{ seq: 5 }, { seq: 6 }], atHead: true });
    expect(bench.reads).toBe(0);
    // Nobody needed these any more: whoever wants them again goes to the log.
    const late = bench.tail.listen("t.a", 0, () => undefined);
    expect(bench.tail.read(late, 3, 9)).toBeInstanceOf(Promise);
  });

  it("lets go of what every reader has got also while there is always more, once it is half of what is kept", async () => {
    const bench = new TailBench();
    const reader = bench.tail.listen("t.a", 0, () => undefined);
    const late = (): TailReader => bench.tail.listen("t.a", 0, () => undefined);
    const publish = async (): Promise<void> => bench.tail.appended((await bench.append(4)).events);
    await publish();
    expect(bench.tail.read(reader, 0, 1)).toMatchObject({ through: 1 });
    await publish();
    const before = late();
    expect(bench.tail.read(before, 0, 1)).toMatchObject({ events: [{ seq: 1 }] });
    before.stop();
    expect(bench.tail.read(reader, 1, 5)).toMatchObject({ through: 6 });
    await publish();
    expect(bench.tail.read(late(), 6, 9)).toMatchObject({ events: range(7, 12).map((seq) => ({ seq })) });
    expect(bench.reads).toBe(0);
    expect(bench.tail.read(late(), 5, 9)).toBeInstanceOf(Promise);
  });

  it("lets go of the last events as soon as the last reader has got them, though nothing is published after them", async () => {
    const bench = new TailBench();
    const [quick, slow] = [0, 1].map(() => bench.tail.listen("t.a", 0, () => undefined)) as [
      TailReader,
      TailReader,
    ];
    bench.tail.appended((await bench.append(4)).events);
    expect(bench.tail.read(quick, 0, 9)).toMatchObject({ through: 4, atHead: true });
    expect(bench.tail.read(slow, 0, 2)).toMatchObject({ through: 2 });
    expect(bench.tail.read(slow, 2, 9)).toMatchObject({ events: [{ seq: 3 }, { seq: 4 }], atHead: true });
    expect(bench.tail.read(slow, 4, 9)).toMatchObject({ events: [], atHead: true });
    const late = bench.tail.listen("t.a", 0, () => undefined);
    expect(bench.tail.read(late, 3, 9)).toBeInstanceOf(Promise);
  });

  it("lets go at once of what readers take as soon as they hear of it, read from the log or published here", async () => {
    const bench = new TailBench();
    const seen: number[] = [];
    const reader: TailReader = bench.tail.listen("t.a", 0, () => void follow());
    const follow = async (): Promise<void> => {
      const page = bench.tail.read(reader, seen.at(-1) ?? 0, 9);
      for (const { seq } of (page instanceof Promise ? await page : page).events) seen.push(seq);
    };
    bench.tail.appended((await bench.append(3)).events);
    await bench.append(2);
    bench.tail.grew("t.a", 0, 5);
    await eventually(() => seen.length === 5, "what another bus appended is read");
    bench.tail.appended((await bench.append(3)).events);
    expect(seen).toEqual(range(1, 8));
    expect(bench.reads).toBe(1);
    const late = bench.tail.listen("t.a", 0, () => undefined);
    expect(bench.tail.read(late, 7, 9)).toBeInstanceOf(Promise);
  });

  it("P2: whatever the order of publishes, foreign appends, removals and hints, a reader sees exactly the log", async () => {
    const act = fc.record({
      op: fc.constantFrom(
        "publish",
        "publish",
        "append",
        "remove",
        "grew",
        "wake",
        "read",
        "follow",
        "follow",
      ),
      n: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 40 }), async (acts) => {
        const bench = new TailBench({ maxTailEvents: 6 });
        const readers = [0, 1].map(() => new InOrder(bench.tail));
        let head = 0;
        for (const { op, n } of acts) {
          if (op === "publish") bench.tail.appended((await bench.append(n)).events);
          if (op === "append") await bench.append(n);
          if (op === "publish" || op === "append") head += n;
          if (op === "grew") bench.tail.grew("t.a", 0, head);
          if (op === "wake") bench.tail.wakeAll();
          if (op === "read") await bench.read(Math.max(0, head - n), n);
          if (op === "follow") await readers[n % 2]?.read(n);
          // Only what no reader has asked for yet: what is kept may outlive its removal.
          if (op === "remove" && head > n) await bench.store.log.trim("t.a", 0, 1);
        }
        bench.tail.wakeAll();
        const seen: number[] = [];
        for (let after = 0; ; ) {
          const page = await bench.read(after, 3);
          seen.push(...page.events.map(({ seq }) => seq));
          after = page.through;
          if (page.atHead) break;
        }
        expect(seen.filter((seq) => seq > 1)).toEqual(range(2, head));
        for (const reader of readers) {
          while (!(await reader.read(3)));
          expect(reader.seen.filter((seq) => seq > 1)).toEqual(range(2, head));
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe("growth", () => {
  it("listeners hear of publishes and of others' hints, each growth once, and only in their partition", async () => {
    const bench = new TailBench();
    let heard = 0;
    const reader = bench.tail.listen("t.a", 0, () => heard++);
    await bench.publish(2);
    bench.tail.grew("t.a", 0, 2);
    bench.tail.grew("t.a", 1, 9);
    expect(heard).toBe(1);
    bench.tail.grew("t.a", 0, 3);
    expect(heard).toBe(2);
    reader.stop();
    bench.tail.grew("t.a", 0, 4);
    expect(heard).toBe(2);
  });

  it("a page is not at the head when a hint said there is more", async () => {
    const bench = new TailBench();
    await bench.publish(2);
    bench.tail.grew("t.a", 0, 3);
    expect(await bench.read(0)).toMatchObject({ through: 2, atHead: false });
  });

  it("P2: growth that becomes known while a read is under way is not lost", async () => {
    const bench = new TailBench();
    await bench.append(1);
    const letGo = bench.hold();
    const reading = bench.read(0);
    await bench.append(1);
    bench.tail.grew("t.a", 0, 2);
    letGo();
    expect(await reading).toMatchObject({ events: [{ seq: 1 }], atHead: false });
    expect(await bench.seqs(1)).toEqual([2]);
  });

  it("P2: whoever joins a read that began before a vague signal is not told that it reached the head", async () => {
    const bench = new TailBench();
    await bench.append(1);
    const letGo = bench.hold();
    void bench.read(0);
    bench.tail.wakeAll();
    const joined = bench.read(0);
    letGo();
    expect(await joined).toMatchObject({ events: [{ seq: 1 }], atHead: false });
    expect(bench.reads).toBe(1);
  });

  it("a hint that is ahead of what can be read does not make readers spin; the same hint later is heard again", async () => {
    const bench = new TailBench();
    await bench.append(1);
    bench.tail.grew("t.a", 0, 2);
    expect(await bench.seqs(0)).toEqual([1]);
    expect(await bench.read(1)).toMatchObject({ events: [], through: 1, atHead: true });
    let heard = 0;
    bench.tail.listen("t.a", 0, () => heard++);
    await bench.append(1);
    bench.tail.grew("t.a", 0, 2);
    expect(heard).toBe(1);
    expect(await bench.seqs(1)).toEqual([2]);
  });

  it("a vague signal costs one read and then the head is the head again", async () => {
    const bench = new TailBench();
    await bench.publish(1);
    let heard = 0;
    bench.tail.listen("t.a", 0, () => heard++);
    bench.tail.wakeAll();
    expect(heard).toBe(1);
    expect(await bench.read(1)).toMatchObject({ events: [], atHead: true });
    expect(bench.reads).toBe(1);
    expect(await bench.read(1)).toMatchObject({ events: [], atHead: true });
    expect(bench.reads).toBe(1);
  });

  it("P15: thousands of readers look again in turns, and once more if it is said again meanwhile", async () => {
    const bench = new TailBench();
    const heard: number[] = [];
    for (const n of range(0, 999)) bench.tail.listen(`t.${n}`, 0, () => heard.push(n));
    bench.tail.wakeAll();
    expect(heard.length).toBeLessThanOrEqual(128);
    bench.tail.wakeAll();
    bench.tail.wakeAll();
    await eventually(() => heard.length === 2_000, "two rounds");
    await settled();
    expect(heard).toEqual([...range(0, 999), ...range(0, 999)]);
  });

  it("names the topics that somebody listens to", async () => {
    const bench = new TailBench();
    bench.tail.appended((await bench.append(1)).events);
    expect(bench.tail.topics).toEqual([]);
    const reader = bench.tail.listen("t.a", 3, () => undefined);
    expect(bench.tail.topics).toEqual(["t.a"]);
    reader.stop();
    expect(bench.tail.topics).toEqual([]);
  });
});

describe("bounds", () => {
  it("P13: keeps only so many events; older ones come from the log", async () => {
    const bench = new TailBench({ maxTailEvents: 10 });
    for (let i = 0; i < 50; i++) await bench.publish(1);
    expect(await bench.seqs(48)).toEqual([49, 50]);
    expect(bench.reads).toBe(0);
    expect(await bench.seqs(0)).toEqual(range(1, 50));
    expect(bench.reads).toBe(1);
  });

  it("P13: keeps only so many bytes over all partitions, and those in use are not crowded out", async () => {
    const bench = new TailBench({ maxTailBytes: 20_000 });
    const big = "x".repeat(1_000);
    for (let i = 0; i < 15; i++) await bench.publish(1, 1, big);
    for (let i = 0; i < 30; i++) await bench.publish(1, 0, big);
    // The silent partition gave way: the busy one has several of its newest at hand.
    expect(await bench.seqs(26)).toEqual([27, 28, 29, 30]);
    expect(bench.reads).toBe(0);
    await bench.read(0, 100, 1);
    expect(bench.reads).toBe(1);
  });

  it("P13: the count of bytes stays right when events turn out smaller than they were taken for", async () => {
    const bench = new TailBench({ maxTailBytes: 30_000, maxTailEvents: 20 });
    bench.tail.listen("t.a", 0, () => undefined);
    for (let i = 0; i < 2_000; i++) {
      const { events } = await bench.append(1, 0, new Array(10).fill(1));
      bench.tail.appended(events);
      // Making the text makes the size exact.
      for (const { body } of events) expect(body.text).toBeDefined();
    }
    expect(await bench.seqs(1_994)).toEqual(range(1_995, 2_000));
    expect(bench.reads).toBe(0);
  });
});
