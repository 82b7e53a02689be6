/** The publish path: group commit, retries that never double, bounds, and what a caller is told. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { settled } from "../../test/support/eventually.js";
import { failure } from "../../test/support/failure.js";
import { LOST, PublishingBench, REFUSED } from "../../test/support/publishing-bench.js";
import { draft, storedEvent } from "../../test/support/stored-events.js";
import { BusError } from "../model/errors.js";
import { jumpHash } from "../model/partition.js";
import type { Fault } from "../testing/faulty-store/index.js";

/** On a store that appends at once whatever does not say no, and what it has appended so. */
function benchWithNow(): { bench: PublishingBench; now: string[][] } {
  const now: string[][] = [];
  let seq = 0;
  const bench = new PublishingBench({
    appendNow: (topic, partition, drafts) => {
      if (drafts.some(({ id }) => id.startsWith("no"))) return undefined;
      now.push(drafts.map(({ id }) => id));
      return { events: drafts.map(() => storedEvent(++seq, { topic, partition })), duplicates: new Set() };
    },
  });
  return { bench, now };
}

describe("natural group commit", () => {
  it("what is published in one turn goes together", async () => {
    const bench = new PublishingBench();
    await Promise.all(["a", "b", "c"].map((id) => bench.publish(id)));
    expect(bench.appends).toEqual([["a", "b", "c"]]);
  });

  it("while one append is under way the next ones gather, and go together when it ends", async () => {
    const bench = new PublishingBench();
    const letGo = bench.hold();
    const first = bench.publish("a");
    await settled();
    const rest = ["b", "c", "d"].map((id) => bench.publish(id));
    await settled();
    expect(bench.appends).toEqual([["a"]]);
    letGo();
    await Promise.all([first, ...rest]);
    expect(bench.appends).toEqual([["a"], ["b", "c", "d"]]);
  });

  it("a lone publish waits for nothing: no timer is set", async () => {
    const bench = new PublishingBench();
    await bench.publish("a");
    expect(bench.clock.nextTimerMs()).toBeUndefined();
  });

  it("one that comes alone is in the log before publish returns, if the store can do that", async () => {
    const { now, bench } = benchWithNow();
    // What others have published is over.
    await settled();
    const first = bench.publishAlone("a");
    expect([now, bench.announced, bench.publisher.queued]).toEqual([[["a"]], [1], 0]);
    // The turn is not over: whoever comes in it goes with others.
    const others = ["b", "c"].map((id) => bench.publishAlone(id));
    expect(now).toEqual([["a"]]);
    await Promise.all([first, ...others]);
    await settled();
    await bench.publishAlone("no-d");
    await settled();
    await bench.publishAlone("e");
    expect([now, bench.appends]).toEqual([[["a"], ["b", "c"], ["e"]], [["no-d"]]]);
  });

  it("a few that no other partition has anything to go with are in the log when their turn ends, many are asked for", async () => {
    const { now, bench } = benchWithNow();
    const publish = (ids: readonly string[]) => Promise.all(ids.map((id) => bench.publish(id)));
    await publish(["a", "b"]);
    expect([now, bench.appends]).toEqual([[["a", "b"]], []]);
    await settled();
    // Of two partitions: one write serves both.
    await Promise.all([bench.publish("c"), bench.publish("d", 1, { name: "t.b", partitions: 1 })]);
    await settled();
    const many = Array.from({ length: 16 }, (_, i) => `m${i}`);
    await publish(many);
    expect([now, bench.appends]).toEqual([[["a", "b"]], [["c"], ["d"], many]]);
  });

  it("P1, P3: one that came alone and has an unknown outcome is tried again under its id", async () => {
    const bench = new PublishingBench({
      appendNow: () => {
        throw new BusError("OUTCOME_UNKNOWN", "the device is gone");
      },
    });
    const publishing = bench.publishAlone("a");
    await bench.clock.advance(10_000);
    expect((await publishing).event.seq).toBe(1);
    expect(bench.appends).toEqual([["a"]]);
    expect(bench.publisher.queued).toBe(0);
  });

  it("P13: a batch has only so many events and bytes, and a single large event still goes", async () => {
    const bench = new PublishingBench({ limits: { maxBatchEvents: 2, maxBatchBytes: 500 } });
    const big = "x".repeat(400);
    await Promise.all([
      bench.publish("a"),
      bench.publish("b"),
      bench.publish("c"),
      bench.publish("d", big),
      bench.publish("e", big),
      bench.publish("f", "x".repeat(5_000)),
    ]);
    expect(bench.appends).toEqual([["a", "b"], ["c", "d"], ["e"], ["f"]]);
  });

  it("P2: order of publish is order in the log, over batches, failures and torn appends", async () => {
    const bench = new PublishingBench({
      limits: { maxBatchEvents: 7 },
      faults: [REFUSED, { type: "torn", share: 0.5 }, LOST, null, { type: "torn", share: 0.3 }],
      giveUpAfterMs: 60_000,
    });
    const ids = Array.from({ length: 40 }, (_, i) => `e${i}`);
    const published = ids.map((id) => bench.publish(id));
    await bench.clock.advance(10_000);
    const events = await Promise.all(published);
    expect(await bench.logged()).toEqual(ids);
    expect(events.map(({ event }) => event.seq)).toEqual(ids.map((_, i) => i + 1));
  });

  it("P2: growth that the store tells of during an append is told on once it is over, in silence never", async () => {
    const bench = new PublishingBench({ faults: [REFUSED] });
    expect(bench.publisher.hear("t.a", 0, 3)).toBe(false);
    const letGo = bench.hold();
    const publishing = bench.publish("a");
    await settled();
    expect(bench.publisher.hear("t.a", 0, 5)).toBe(true);
    expect(bench.publisher.hear("t.a", 0, 4)).toBe(true);
    expect(bench.heard).toEqual([]);
    letGo();
    await bench.clock.advance(10_000);
    await publishing;
    expect(bench.heard).toEqual([5]);
    expect(bench.publisher.hear("t.a", 0, 6)).toBe(false);
  });

  it("partitions do not wait for each other", async () => {
    const bench = new PublishingBench();
    const two = { name: "t.a", partitions: 2 };
    const letGo = bench.hold();
    const slow = bench.publishDraft(draft("slow"), two, 0);
    await settled();
    expect(bench.appends).toEqual([["slow"]]);
    const quick = bench.publishDraft(draft("quick"), two, 1);
    await settled();
    expect(bench.appends).toEqual([["slow"], ["quick"]]);
    letGo();
    await Promise.all([slow, quick]);
  });

  it("chooses the partition by key, by id where there is none, or as it is told", async () => {
    const bench = new PublishingBench();
    const topic = { name: "t.many", partitions: 16 };
    const byKey = await bench.publishDraft(draft("1", 1, { key: "k" }), topic);
    const byId = await bench.publishDraft(draft("2"), topic);
    const told = await bench.publishDraft(draft("3", 1, { key: "k" }), topic, 15);
    expect(byKey.event.partition).toBe(jumpHash("k", 16));
    expect(byId.event.partition).toBe(jumpHash("2", 16));
    expect(told.event.partition).toBe(15);
  });
});

describe("many at once", () => {
  const names = (prefix: string, count: number): string[] =>
    Array.from({ length: count }, (_, i) => `${prefix}${i}`);

  /** Publishes and notes who was answered, and how many appends had begun by then. */
  function publishAll(bench: PublishingBench, ids: readonly string[], answers: [string, number][]): void {
    for (const id of ids) {
      const note = (): void => void answers.push([id, bench.appends.length]);
      bench.queue(draft(id, id), { done: note, fail: note });
    }
  }

  /** One append is under way, and another lot waits. */
  async function twoLots(bench: PublishingBench, count: number): Promise<[string, number][]> {
    const answers: [string, number][] = [];
    const letGo = bench.hold();
    publishAll(bench, names("a", count), answers);
    await settled();
    publishAll(bench, names("b", count), answers);
    letGo();
    return answers;
  }

  it("P2: a full batch that waits goes out before those before it are answered, and all are answered in order", async () => {
    const bench = new PublishingBench();
    const answers = await twoLots(bench, 40);
    await bench.publisher.drained();
    expect(bench.appends).toEqual([names("a", 40), names("b", 40)]);
    expect(answers).toEqual([...names("a", 40), ...names("b", 40)].map((id) => [id, 2]));
    expect(await bench.logged()).toEqual([...names("a", 40), ...names("b", 40)]);
  });

  it("they are answered in the next turn, however long the store takes for the batch that went out", async () => {
    const bench = new PublishingBench();
    const answers = await twoLots(bench, 40);
    const letGo = bench.hold();
    await settled();
    expect(answers.map(([id]) => id)).toEqual(names("a", 40));
    letGo();
    await bench.publisher.drained();
    expect(answers).toHaveLength(80);
  });

  it("who goes on in another topic when many are answered goes there with all the others", async () => {
    const bench = new PublishingBench();
    const first = names("a", 40).map((id) => bench.publish(id));
    const second: Promise<unknown>[] = [];
    for (const [i, one] of first.entries()) {
      await one;
      second.push(bench.publish(`b${i}`, i, { name: "t.b", partitions: 1 }));
    }
    await Promise.all(second);
    await bench.publish("c", 1, { name: "t.c", partitions: 1 });
    expect(bench.appends).toEqual([names("a", 40), names("b", 40), ["c"]]);
  });

  it("a few are answered at once", async () => {
    const bench = new PublishingBench();
    const answers = await twoLots(bench, 2);
    await bench.publisher.drained();
    expect(answers).toEqual([
      ["a0", 1],
      ["a1", 1],
      ["b0", 2],
      ["b1", 2],
    ]);
  });

  it("P1: what is in the log is told as such, also when the batch that went out meanwhile fails", async () => {
    const bench = new PublishingBench({ faults: [null, { type: "error-before", code: "STORE_DAMAGED" }] });
    const letGo = bench.hold();
    const first = names("a", 40).map((id) => bench.publish(id));
    await settled();
    const second = Promise.allSettled(names("b", 40).map((id) => bench.publish(id)));
    letGo();
    expect((await Promise.all(first)).map(({ event }) => event.seq)).toEqual(first.map((_, i) => i + 1));
    expect((await second).every(({ status }) => status === "rejected")).toBe(true);
    expect(bench.publisher.queued).toBe(0);
  });

  it("P1, P2: publishers that go on when they are answered lose nothing, and answers come in the order of the log", async () => {
    const fault = fc.constantFrom<Fault | null>(null, null, null, REFUSED, LOST, {
      type: "torn",
      share: 0.5,
    });
    const crowds = fc.record({
      publishers: fc.integer({ min: 1, max: 60 }),
      rounds: fc.integer({ min: 1, max: 4 }),
      maxBatchEvents: fc.integer({ min: 1, max: 40 }),
      faults: fc.array(fault, { maxLength: 8 }),
    });
    await fc.assert(
      fc.asyncProperty(crowds, async ({ publishers, rounds, maxBatchEvents, faults }) => {
        const bench = new PublishingBench({ limits: { maxBatchEvents }, faults, giveUpAfterMs: 60_000 });
        const published: string[] = [];
        const answered: string[] = [];
        const all = names("p", publishers).map(async (name) => {
          for (let round = 0; round < rounds; round++) {
            const id = `${name}.${round}`;
            published.push(id);
            await bench.publish(id);
            answered.push(id);
          }
        });
        // Retries begin at their own time: the clock goes on until everybody is done.
        const total = publishers * rounds;
        for (let step = 0; step < 1_000 && answered.length < total; step++) await bench.clock.advance(100);
        expect(answered).toHaveLength(total);
        await Promise.all(all);
        await bench.publisher.drained();
        expect(await bench.logged()).toEqual(published);
        expect(answered).toEqual(published);
      }),
      { numRuns: 50 },
    );
  });
});

describe("the same id", () => {
  it("P3: again, says so and adds nothing", async () => {
    const bench = new PublishingBench();
    const first = await bench.publish("a");
    const second = await bench.publish("a");
    expect(first.duplicate).toBe(false);
    expect(second).toEqual({ event: first.event, duplicate: true });
    expect(await bench.logged()).toEqual(["a"]);
  });

  it("P3: twice in one batch, the second is the duplicate", async () => {
    const bench = new PublishingBench();
    const both = await Promise.all([bench.publish("a"), bench.publish("a")]);
    expect(both.map(({ duplicate }) => duplicate)).toEqual([false, true]);
    expect(await bench.logged()).toEqual(["a"]);
  });

  it("P3: with another payload, key or topic is a conflict that names the first", async () => {
    const bench = new PublishingBench();
    await bench.publishDraft(draft("a", { x: 1, y: 2 }, { key: "k" }));
    const others = [draft("a", { x: 2 }, { key: "k" }), draft("a", { x: 1, y: 2 }, { key: "other" })];
    for (const other of others) {
      const error = await failure(bench.publishDraft(other));
      expect(error).toMatchObject({
        code: "ID_CONFLICT",
        retryable: false,
        // Its words may reach somebody who may not know of the topic.
        message: "event a exists with another topic, key or payload",
        details: { id: "a", topic: "t.a", seq: 1 },
      });
    }
    const elsewhere = bench.publishDraft(draft("a", { x: 1, y: 2 }, { key: "k" }), {
      name: "t.b",
      partitions: 1,
    });
    expect((await failure(elsewhere)).code).toBe("ID_CONFLICT");
    const same = await bench.publishDraft(draft("a", { y: 2, x: 1 }, { key: "k" }));
    expect(same.duplicate).toBe(true);
  });

  it("P3: a conflict in a batch fails that one alone", async () => {
    const bench = new PublishingBench();
    await bench.publish("b");
    const [a, b, c] = await Promise.allSettled([
      bench.publish("a"),
      bench.publish("b", "something else"),
      bench.publish("c"),
    ]);
    expect([a?.status, b?.status, c?.status]).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });
});

describe("bounds", () => {
  it("P13: one event too many is refused with QUEUE_FULL, and there is room again once the queue is empty", async () => {
    const bench = new PublishingBench({ limits: { maxQueuedEvents: 2 } });
    const letGo = bench.hold();
    const first = [bench.publish("a"), bench.publish("b")];
    expect(() => bench.publisher.admit(1, 10)).toThrow(
      expect.objectContaining({ code: "QUEUE_FULL", retryable: true }),
    );
    letGo();
    await Promise.all(first);
    expect(bench.publisher.queued).toBe(0);
    expect((await bench.publish("c")).event.seq).toBe(3);
  });

  it("P13: so are too many bytes", async () => {
    const bench = new PublishingBench({ limits: { maxQueuedBytes: 1_000 } });
    const letGo = bench.hold();
    const first = bench.publish("a", "x".repeat(900));
    expect(() => bench.publisher.admit(1, 200)).toThrow(expect.objectContaining({ code: "QUEUE_FULL" }));
    letGo();
    await first;
    await bench.publish("b", "x".repeat(200));
  });

  it("P13: more at once than could ever fit is refused for good, and the message says so", () => {
    const bench = new PublishingBench({ limits: { maxQueuedEvents: 2 } });
    expect(() => bench.publisher.admit(3, 30)).toThrow(
      expect.objectContaining({ code: "QUEUE_FULL", retryable: false }),
    );
  });

  it("P13: places are given back however a publish ends", async () => {
    const bench = new PublishingBench({
      limits: { maxQueuedEvents: 2 },
      faults: [null, { type: "error-before", code: "STORE_DAMAGED" }],
    });
    await bench.publish("a");
    await failure(Promise.all([bench.publish("b"), bench.publish("c")]));
    await settled();
    await failure(bench.publish("a", "a conflict"));
    expect(bench.publisher.queued).toBe(0);
    bench.publisher.admit(2, 20);
  });
});
