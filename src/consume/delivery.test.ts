/** Delivery's transitions while it runs: taking in, settling, failing, deadlines, stale attempts. */
import { describe, expect, it } from "vitest";
import { DeliveryDriver, loaded } from "../../test/support/delivery-driver.js";
import { storedEvent } from "../../test/support/stored-events.js";
import type { Attempted } from "./delivery-events.js";
import { cursorOf } from "./delivery-state.js";

const events = (...seqs: number[]) => seqs.map((seq) => storedEvent(seq));

describe("taking in", () => {
  it("P5: nothing goes out before the claim and its mark are committed", () => {
    const driver = new DeliveryDriver({ autoCommit: false });
    driver.arrive(events(1, 2));
    expect(driver.seqs()).toEqual([]);
    driver.answerCommits();
    expect(driver.seqs()).toEqual([1, 2]);
  });

  it("asks for one page at a time and, at the head, waits until the log has grown", () => {
    const driver = new DeliveryDriver();
    expect(driver.of("fetch")).toEqual([{ type: "fetch", after: 0 }]);
    driver.arrive(events(1, 2), { atHead: false });
    expect(driver.last("fetch")).toEqual({ type: "fetch", after: 2 });
    driver.arrive([], { through: 2, atHead: true });
    expect(driver.of("fetch")).toHaveLength(2);
    driver.grew();
    expect(driver.of("fetch")).toHaveLength(3);
  });

  it("P15: growth that becomes known while a page is under way is not lost, whatever the page says", () => {
    const driver = new DeliveryDriver();
    driver.grew();
    driver.arrive(events(1), { atHead: true });
    expect(driver.last("fetch")).toEqual({ type: "fetch", after: 1 });
    driver.arrive([], { through: 1, atHead: true });
    expect(driver.of("fetch")).toHaveLength(2);
  });

  it("asks again for a page that could not be read", () => {
    const driver = new DeliveryDriver();
    driver.send({ type: "unread" });
    expect(driver.of("fetch")).toEqual([
      { type: "fetch", after: 0 },
      { type: "fetch", after: 0 },
    ]);
  });

  it("ignores events that a page repeats", () => {
    const driver = loaded(2);
    driver.grew();
    driver.arrive(events(1, 2, 3));
    expect(driver.seqs()).toEqual([1, 2, 3]);
  });

  it("P2: counts what retention or compaction removed as settled", () => {
    const driver = new DeliveryDriver();
    driver.arrive(events(3, 6), { through: 8 });
    expect(driver.floor).toBe(2);
    driver.demand(10);
    driver.ack(3);
    expect(driver.floor).toBe(5);
    driver.ack(6);
    expect(driver.floor).toBe(8);
  });

  it("moves the floor over a stretch that has no events at all", () => {
    const driver = new DeliveryDriver();
    driver.arrive([], { through: 40 });
    driver.tick(50);
    expect(driver.stored).toMatchObject({ floor: 40, settled: [] });
  });

  it("P13: stops at half the buffer's events, and goes on as they settle", () => {
    const driver = new DeliveryDriver({ policy: { maxBufferedEvents: 4 } });
    driver.arrive(events(1, 2, 3), { atHead: false });
    expect(driver.of("fetch")).toHaveLength(1);
    driver.demand(10);
    driver.ack(1);
    expect(driver.last("fetch")).toEqual({ type: "fetch", after: 3 });
  });

  it("P13: stops at half the buffer's bytes, and goes on as they settle", () => {
    const big = [1, 2].map((seq) => storedEvent(seq, { payload: "x".repeat(300) }));
    const driver = new DeliveryDriver({ policy: { maxBufferedBytes: 1_000 } });
    driver.arrive(big, { atHead: false });
    expect(driver.of("fetch")).toHaveLength(1);
    driver.demand(10);
    driver.ack(2);
    expect(driver.of("fetch")).toHaveLength(2);
  });

  it("P13: waits for the slow one when the span above the floor is used up", () => {
    const driver = new DeliveryDriver({ policy: { maxSpan: 3 } });
    driver.arrive(events(1, 2, 3), { atHead: false });
    driver.demand(10);
    driver.ack(2);
    driver.ack(3);
    expect(driver.of("fetch")).toHaveLength(1);
    driver.ack(1);
    expect(driver.last("fetch")).toEqual({ type: "fetch", after: 3 });
  });
});

describe("settling", () => {
  it("the floor waits for the lowest unsettled event; what is above it becomes ranges", () => {
    const driver = loaded(6);
    driver.demand(10);
    for (const seq of [2, 3, 5]) driver.ack(seq);
    driver.tick(50);
    expect(driver.stored).toMatchObject({
      floor: 0,
      settled: [
        [2, 3],
        [5, 5],
      ],
    });
    driver.ack(1);
    driver.tick(50);
    expect(driver.stored).toMatchObject({ floor: 3, settled: [[5, 5]] });
    driver.ack(4);
    driver.ack(6);
    driver.tick(50);
    expect(driver.stored).toMatchObject({ floor: 6, settled: [], attempts: [] });
  });

  it("commits after so many settles, or after so long, and one write at a time", () => {
    const driver = loaded(10, { autoCommit: false, policy: { commitEverySettles: 3 } });
    driver.answerCommits();
    driver.demand(10);
    driver.tick(50);
    driver.answerCommits();
    const before = driver.of("commit").length;
    driver.ack(1);
    driver.ack(2);
    expect(driver.of("commit")).toHaveLength(before);
    driver.ack(3);
    expect(driver.of("commit")).toHaveLength(before + 1);
    for (const seq of [4, 5, 6, 7]) driver.ack(seq);
    expect(driver.of("commit")).toHaveLength(before + 1);
    driver.answerCommits();
    expect(driver.stored.floor).toBe(7);
    driver.ack(8);
    expect(driver.last("wake")).toMatchObject({ atMs: driver.nowMs + 50 });
    driver.tick(50);
    expect(driver.commits.at(-1)?.floor).toBe(8);
  });

  it("is silent once everything is settled and committed", () => {
    const driver = loaded(1);
    driver.demand(1);
    driver.ack(1);
    driver.tick(50);
    driver.tick(2_000);
    const before = driver.effects.length;
    driver.tick(100_000);
    expect(driver.effects).toHaveLength(before);
  });

  it("lets go of a settled event, also while an earlier one is not settled", () => {
    const driver = loaded(2);
    driver.demand(2);
    const entry = driver.entry(2);
    entry.holder = { of: "the shell" };
    entry.told.detail = new Error("of an earlier attempt");
    driver.ack(2);
    expect(entry).toMatchObject({ event: null, holder: null });
    expect(entry.story.detail).toBeUndefined();
  });

  it("remembers which event the floor passed last, also one that was settled long before", () => {
    const driver = loaded(3);
    driver.demand(3);
    driver.ack(3);
    driver.ack(2);
    expect(driver.state.lastId).toBeUndefined();
    driver.ack(1);
    expect(driver.state).toMatchObject({ lastId: storedEvent(3).id, lastTs: storedEvent(3).ts });
  });

  it("P6: of attempts that end together each counts once, and stale ones not at all", () => {
    const driver = loaded(3);
    driver.demand(3);
    driver.fail(2, { counts: false });
    expect(driver.demand(1)).toEqual([{ seq: 2, attempt: 2 }]);
    const [one, two, three] = [1, 2, 3].map((seq) => ({ entry: driver.entry(seq), attempt: 1 }));
    driver.send({ type: "handled", deliveries: [three, two, one, one] as Attempted[], nowMs: driver.nowMs });
    expect(driver.inFlight).toEqual([2]);
    expect(driver.state).toMatchObject({ buffered: 1, bufferedBytes: storedEvent(2).size });
    expect(cursorOf(driver.state, 9)).toMatchObject({ floor: 1, settled: [[3, 3]] });
  });
});

describe("failing", () => {
  it("P5: comes again after the backoff, with the next attempt", () => {
    const driver = loaded(1);
    expect(driver.demand(1)).toEqual([{ seq: 1, attempt: 1 }]);
    driver.fail(1);
    expect(driver.seqs()).toEqual([]);
    driver.tick(9);
    expect(driver.seqs()).toEqual([]);
    driver.tick(1);
    expect(driver.demand(1)).toEqual([{ seq: 1, attempt: 2 }]);
    driver.fail(1);
    driver.tick(19);
    expect(driver.seqs()).toEqual([]);
    driver.tick(1);
    expect(driver.demand(1)).toEqual([{ seq: 1, attempt: 3 }]);
  });

  it("waits at least a moment, so that a retry without backoff leaves room for others", () => {
    const driver = loaded(1, { handling: { retry: { baseMs: 0, maxMs: 0, factor: 1, jitter: 0 } } });
    driver.demand(1);
    driver.fail(1);
    expect(driver.seqs()).toEqual([]);
    driver.tick(1);
    expect(driver.seqs()).toEqual([1]);
  });

  it("P8: after the last attempt it is buried, and the floor waits for the copy", () => {
    const driver = loaded(2, { handling: { maxAttempts: 2 } });
    driver.demand(2);
    driver.ack(2);
    driver.fail(1);
    driver.tick(10);
    driver.demand(1);
    driver.fail(1, { error: "again" });
    expect(driver.of("bury")).toMatchObject([{ attempts: 2, error: "again", event: { seq: 1 } }]);
    expect(driver.floor).toBe(0);
    expect(driver.seqs()).toEqual([]);
    driver.buried(1);
    expect(driver.floor).toBe(2);
  });

  it("P8: a fatal failure is buried at once", () => {
    const driver = loaded(1);
    driver.demand(1);
    driver.fail(1, { fatal: true });
    expect(driver.of("bury")).toMatchObject([{ attempts: 1 }]);
  });

  it("is retried for ever where dead letters are off, fatal or not", () => {
    const driver = loaded(1, { handling: { deadLetter: false, maxAttempts: 1 } });
    for (let attempt = 1; attempt <= 20; attempt++) {
      expect(driver.demand(1)).toEqual([{ seq: 1, attempt }]);
      driver.fail(1, { fatal: attempt % 2 === 0 });
      driver.tick(1_000);
    }
    expect(driver.of("bury")).toEqual([]);
  });

  it("what does not count is tried again at once, and does not use up an attempt", () => {
    const driver = loaded(1, { handling: { maxAttempts: 1 } });
    driver.demand(1);
    driver.fail(1, { counts: false });
    expect(driver.demand(1)).toEqual([{ seq: 1, attempt: 2 }]);
    expect(driver.of("bury")).toEqual([]);
  });

  it("tells the cursor what it knows of each failed event", () => {
    const driver = loaded(3);
    driver.demand(3);
    driver.ack(1);
    driver.fail(3, { error: "no luck" });
    driver.tick(5);
    driver.tick(50);
    expect(driver.stored).toMatchObject({
      floor: 1,
      attempts: [{ seq: 3, delivered: 1, failures: 1, error: "no luck", retryAtMs: 10_010 }],
    });
  });
});

describe("deadlines", () => {
  it("P5: a missed deadline aborts the handler, counts as a failure, and leads to another attempt", () => {
    const driver = loaded(1);
    driver.demand(1);
    expect(driver.last("wake")).toBeDefined();
    driver.tick(999);
    expect(driver.of("abort")).toEqual([]);
    driver.tick(1);
    expect(driver.of("abort")).toMatchObject([{ why: "deadline", entry: { seq: 1, failures: 1 } }]);
    driver.tick(10);
    expect(driver.demand(1)).toEqual([{ seq: 1, attempt: 2 }]);
  });

  it("P8: missed deadlines alone lead to the dead letters", () => {
    const driver = loaded(1, { handling: { maxAttempts: 2 } });
    driver.demand(1);
    driver.tick(1_000);
    driver.tick(10);
    driver.demand(1);
    driver.tick(1_000);
    expect(driver.of("bury")).toMatchObject([{ attempts: 2, error: "not acknowledged within 1000 ms" }]);
  });

  it("P8: events of one batch share its deadline, but none is blamed for it before it was tried alone", () => {
    const driver = new DeliveryDriver({ handling: { maxAttempts: 1 } });
    driver.arrive([storedEvent(1, { key: "a" }), storedEvent(2, { key: "b" }), storedEvent(3, { key: "b" })]);
    expect(driver.seqs(10, true)).toEqual([1, 2, 3]);
    driver.tick(1_000);
    expect(driver.of("abort").map(({ entry }) => entry.seq)).toEqual([1, 2, 3]);
    expect(driver.of("bury")).toEqual([]);
    expect(driver.seqs(10, true)).toEqual([1, 2]);
    driver.tick(1_000);
    expect(driver.of("bury")).toEqual([]);
    expect(driver.seqs(10, true)).toEqual([1]);
    expect(driver.seqs(10, true)).toEqual([2]);
    driver.tick(1_000);
    expect(driver.of("bury").map(({ entry }) => entry.seq)).toEqual([1, 2]);
  });

  it("an extension moves the deadline away", () => {
    const driver = loaded(1);
    driver.demand(1);
    driver.tick(900);
    driver.extend(1, 5_000);
    driver.tick(4_999);
    expect(driver.of("abort")).toEqual([]);
    driver.tick(1);
    expect(driver.of("abort")).toHaveLength(1);
  });

  it("an extension may bring the deadline nearer, and a wake-up is asked for then", () => {
    const driver = loaded(1, { handling: { ackTimeoutMs: 60_000 } });
    driver.demand(1);
    driver.tick(50);
    driver.extend(1, 200);
    expect(driver.last("wake")).toMatchObject({ atMs: driver.nowMs + 200 });
    driver.tick(200);
    expect(driver.of("abort")).toHaveLength(1);
  });
});

describe("stale attempts", () => {
  it("P6: an ack, nack or extension of an earlier attempt changes nothing", () => {
    const driver = loaded(1);
    driver.demand(1);
    driver.tick(1_000);
    driver.tick(10);
    driver.demand(1);
    const before = JSON.stringify(cursorOf(driver.state, driver.state.mark));
    expect(driver.ack(1, 1)).toEqual([]);
    expect(driver.fail(1, { attempt: 1 })).toEqual([]);
    driver.extend(1, 1_000_000, 1);
    expect(driver.entry(1).deadlineMs).toBe(driver.nowMs + 1_000);
    expect(driver.inFlight).toEqual([1]);
    expect(JSON.stringify(cursorOf(driver.state, driver.state.mark))).toBe(before);
  });

  it("P6: a second ack of the same attempt changes nothing", () => {
    const driver = loaded(2);
    driver.demand(2);
    driver.ack(2);
    expect(driver.ack(2)).toEqual([]);
    expect(driver.fail(2)).toEqual([]);
    expect(driver.state.buffered).toBe(1);
  });

  it("P6: an ack of an event that waits for its retry, or is being buried, changes nothing", () => {
    const driver = loaded(2);
    driver.demand(2);
    driver.fail(1);
    expect(driver.ack(1)).toEqual([]);
    driver.fail(2, { fatal: true });
    expect(driver.ack(2)).toEqual([]);
    expect(driver.floor).toBe(0);
  });
});
