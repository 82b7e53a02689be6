/** Delivery from one owner to the next: the mark, taking over, stopping, and transactions that write the cursor. */
import { describe, expect, it } from "vitest";
import { DeliveryDriver, loaded, upTo } from "../../test/support/delivery-driver.js";
import { storedEvent } from "../../test/support/stored-events.js";
import { cursorOf } from "./delivery-state.js";

const events = (...seqs: number[]) => seqs.map((seq) => storedEvent(seq));

describe("the delivered mark", () => {
  it("P5: nothing above the committed mark goes out", () => {
    const driver = loaded(20, { autoCommit: false, policy: { stride: 5 } });
    driver.answerCommits();
    expect(driver.stored.mark).toBe(5);
    expect(driver.seqs()).toEqual([1, 2, 3, 4, 5]);
    expect(driver.seqs()).toEqual([]);
    driver.answerCommits();
    expect(driver.stored.mark).toBeGreaterThanOrEqual(10);
    expect(driver.seqs()).toEqual(Array.from({ length: driver.stored.mark - 5 }, (_, i) => i + 6));
  });

  it("is raised ahead of time, so that delivery seldom waits for it", () => {
    const driver = loaded(8, { autoCommit: false, policy: { stride: 10 } });
    driver.answerCommits();
    driver.demand(5);
    expect(driver.commits).toEqual([]);
    driver.demand(1);
    expect(driver.commits.at(-1)?.mark).toBeGreaterThan(10);
    expect(driver.seqs()).toEqual([7, 8]);
  });

  it("P5: followers in a batch respect it too", () => {
    const driver = new DeliveryDriver({ autoCommit: false, policy: { stride: 3 } });
    driver.answerCommits();
    driver.arrive(upTo(10, "k"));
    expect(driver.seqs(10, true)).toEqual([1, 2, 3]);
  });

  it("P5: the mark goes further ahead, within bounds, when events had to wait for it", () => {
    const driver = new DeliveryDriver({ autoCommit: false, policy: { stride: 5 } });
    const strides: number[] = [];
    driver.arrive(upTo(200));
    driver.answerCommits();
    for (let round = 0; round < 6; round++) {
      const handedOut = driver.demand(200);
      for (const { seq } of handedOut) driver.ack(seq);
      strides.push(handedOut.length);
      driver.answerCommits();
    }
    expect([strides[0], Math.max(...strides), strides.at(-1)]).toEqual([5, 20, 20]);
  });

  it("P5: once the mark goes further ahead, the cursor is written after as many settles", () => {
    const driver = new DeliveryDriver({ autoCommit: false, policy: { stride: 10, commitEverySettles: 2 } });
    driver.arrive(upTo(500));
    driver.answerCommits();
    for (let round = 0; round < 6; round++) {
      for (const { seq } of driver.demand(200)) driver.ack(seq);
      driver.answerCommits();
    }
    const handedOut = driver.demand(15);
    driver.answerCommits();
    const before = driver.of("commit").length;
    for (const { seq } of handedOut) driver.ack(seq);
    expect([driver.state.stride, driver.of("commit").length]).toEqual([40, before]);
    driver.tick(50);
    expect(driver.of("commit")).toHaveLength(before + 1);
    driver.answerCommits();
    expect(driver.stored.floor).toBe(handedOut.at(-1)?.seq);
  });
});

describe("taking over", () => {
  it("P5: after a crash every unsettled event up to the mark comes with attempt 2 or more", () => {
    const first = loaded(4, { policy: { stride: 2 } });
    first.demand(2);
    first.ack(2);
    first.tick(50);
    const next = first.successor({ head: 4 });
    next.arrive(upTo(8));
    const out = [...next.demand(10), ...next.demand(10), ...next.demand(10)];
    const { mark } = first.stored;
    expect([mark >= 4, mark < 8]).toEqual([true, true]);
    expect(out).toEqual([1, 3, 4, 5, 6, 7, 8].map((seq) => ({ seq, attempt: seq <= mark ? 2 : 1 })));
  });

  it("P5: an owner that lost its lease unawares may have gone on below its mark, beyond the head of that time", () => {
    const first = loaded(1, { policy: { stride: 3 } });
    first.demand(1);
    const next = first.successor({ head: 1 });
    next.arrive(events(1, 2, 3));
    // The zombie still has the right, by its committed mark, to hand out 2 and 3 when they are published.
    first.grew();
    first.arrive(events(2, 3));
    expect(first.demand(10)).toEqual([
      { seq: 2, attempt: 1 },
      { seq: 3, attempt: 1 },
    ]);
    expect(next.demand(10)).toEqual([
      { seq: 1, attempt: 2 },
      { seq: 2, attempt: 2 },
      { seq: 3, attempt: 2 },
    ]);
  });

  it("P5: after a clean release only what was handed out has a past", () => {
    const first = loaded(4);
    first.demand(2);
    first.ack(1);
    first.send({ type: "halt" });
    const next = first.successor();
    next.arrive(events(2, 3, 4));
    expect(next.demand(10)).toEqual([
      { seq: 2, attempt: 2 },
      { seq: 3, attempt: 1 },
      { seq: 4, attempt: 1 },
    ]);
  });

  it("P5: what a crashed owner may have handed out stays doubtful through owners that never got there", () => {
    const first = loaded(10, { policy: { stride: 10 } });
    first.demand(10);
    const second = first.successor({ head: 10 });
    second.arrive(events(1, 2, 3), { atHead: false });
    second.send({ type: "stop" });
    const third = second.successor();
    third.arrive(upTo(10));
    expect(third.demand(20).map(({ attempt }) => attempt)).toEqual(new Array(10).fill(2));
  });

  it("a cursor taken over says the same again: settled ranges, attempts, floor", () => {
    const first = loaded(8);
    first.demand(8);
    for (const seq of [1, 3, 4, 7]) first.ack(seq);
    first.fail(5, { error: "later" });
    first.send({ type: "halt" });
    const released = first.last("release")?.cursor;
    const next = first.successor({ autoCommit: false });
    expect({ ...next.commits[0], mark: 0 }).toEqual({ ...released, mark: 0 });
    // Half of it taken in again: still the same.
    next.arrive(events(2, 3, 4, 5, 6), { atHead: false });
    expect({ ...cursorOf(next.state, 0), mark: 0 }).toEqual({ ...released, mark: 0 });
  });

  it("goes on with failures, errors and waits where the last owner stopped", () => {
    const first = loaded(2, { handling: { maxAttempts: 2 } });
    first.demand(2);
    first.fail(1, { error: "first try" });
    first.ack(2);
    first.send({ type: "stop" });
    const next = first.successor();
    next.arrive(events(1));
    expect(next.seqs()).toEqual([]);
    expect(next.last("wake")).toMatchObject({ atMs: 10_010 });
    next.tick(10);
    expect(next.demand(1)).toEqual([{ seq: 1, attempt: 2 }]);
    next.fail(1, { error: "second try" });
    expect(next.of("bury")).toMatchObject([{ attempts: 2, error: "second try" }]);
  });

  it("P8: an event that had its last attempt under another owner is buried, not tried again", () => {
    const driver = new DeliveryDriver({
      cursor: { attempts: [{ seq: 1, delivered: 3, failures: 3, error: "third" }] },
    });
    driver.arrive(events(1, 2));
    expect(driver.seqs()).toEqual([2]);
    expect(driver.of("bury")).toMatchObject([{ attempts: 3, error: "third" }]);
  });
});

describe("stopping", () => {
  it("draining hands out nothing more, takes nothing in, and releases when the last one is settled", () => {
    const driver = loaded(3);
    driver.demand(2);
    driver.send({ type: "stop" });
    expect(driver.phase).toBe("draining");
    expect(driver.seqs()).toEqual([]);
    driver.grew();
    driver.arrive(events(4), { atHead: false });
    driver.send({ type: "unread" });
    driver.send({ type: "stop" });
    expect(driver.state.high).toBe(3);
    driver.ack(1);
    expect(driver.of("release")).toEqual([]);
    driver.ack(2);
    expect(driver.of("release")).toMatchObject([{ cursor: { floor: 2 } }]);
    expect(driver.of("stopped")).toEqual([]);
    driver.send({ type: "released" });
    expect(driver.of("stopped")).toHaveLength(1);
    expect(driver.phase).toBe("stopped");
  });

  it("with nothing in flight releases at once, but after the commit that is under way", () => {
    const idle = loaded(0);
    idle.send({ type: "stop" });
    expect(idle.of("release")).toHaveLength(1);
    const writing = loaded(1, { autoCommit: false });
    writing.send({ type: "stop" });
    expect(writing.of("release")).toEqual([]);
    writing.answerCommits();
    expect(writing.of("release")).toHaveLength(1);
  });

  it("a draining owner still sees to deadlines, failures and burials, and then releases", () => {
    const driver = loaded(3, { handling: { maxAttempts: 1 } });
    driver.demand(3);
    driver.send({ type: "stop" });
    driver.fail(1, { counts: false });
    driver.tick(1_000);
    expect(driver.of("bury").map(({ entry }) => entry.seq)).toEqual([2, 3]);
    expect(driver.of("release")).toEqual([]);
    driver.buried(2);
    driver.buried(3);
    expect(driver.of("release")).toMatchObject([{ cursor: { floor: 0, settled: [[2, 3]] } }]);
  });

  it("P6: a halt takes the leases back: an ack after it is refused, since the cursor left without it", () => {
    const driver = loaded(2);
    driver.demand(2);
    driver.send({ type: "halt" });
    expect(driver.of("abort")).toMatchObject([
      { why: "lost", entry: { seq: 1 } },
      { why: "lost", entry: { seq: 2 } },
    ]);
    expect(driver.last("release")?.cursor).toMatchObject({
      floor: 0,
      attempts: [
        { seq: 1, delivered: 1 },
        { seq: 2, delivered: 1 },
      ],
    });
    expect(driver.ack(1)).toEqual([]);
    expect(driver.entry(1).standing).not.toBe("settled");
    driver.send({ type: "halt" });
    expect(driver.of("release")).toHaveLength(1);
  });

  it("a halt while something is being buried releases without it; the copy that comes later changes nothing", () => {
    const driver = loaded(1);
    driver.demand(1);
    driver.fail(1, { fatal: true });
    driver.send({ type: "halt" });
    expect(driver.last("release")?.cursor).toMatchObject({ floor: 0, attempts: [{ seq: 1, failures: 1 }] });
    driver.buried(1);
    expect(driver.floor).toBe(0);
  });

  it("P7: a fenced owner aborts what runs, writes nothing more, and answers nothing", () => {
    const driver = loaded(3);
    driver.demand(2);
    driver.ack(1);
    driver.send({ type: "fenced" });
    expect(driver.of("abort")).toMatchObject([{ why: "lost", entry: { seq: 2 } }]);
    expect(driver.of("stopped")).toHaveLength(1);
    const before = driver.effects.length;
    driver.ack(2);
    driver.fail(2);
    driver.extend(2, 10);
    driver.grew();
    driver.arrive(events(4));
    driver.tick(100_000);
    driver.demand(10);
    const stray = { cursor: driver.stored, nowMs: driver.nowMs };
    driver.send({ type: "committed", ...stray });
    driver.send({ type: "unread" });
    driver.send({ type: "passing", entries: [driver.entry(2)], nowMs: driver.nowMs });
    driver.send({ type: "hold", entries: [] });
    driver.send({ type: "unhold", ...stray });
    driver.send({ type: "stop" });
    driver.send({ type: "halt" });
    driver.send({ type: "released" });
    driver.send({ type: "fenced" });
    driver.send({ type: "buried", entry: driver.entry(2), nowMs: driver.nowMs });
    expect(driver.effects).toHaveLength(before);
  });

  it("a release that nobody asked for is ignored", () => {
    const driver = loaded(1);
    driver.send({ type: "released" });
    expect(driver.phase).toBe("running");
  });
});

describe("a transaction that writes the cursor", () => {
  it("P9: no commit is decided while it is under way; what it wrote need not be written again", () => {
    const driver = loaded(3);
    driver.demand(3);
    driver.tick(50);
    driver.send({ type: "hold", entries: [] });
    driver.ack(1);
    const before = driver.of("commit").length;
    driver.tick(1_000);
    expect(driver.of("commit")).toHaveLength(before);
    const cursor = cursorOf(driver.state, driver.state.mark);
    driver.send({ type: "unhold", cursor, nowMs: driver.nowMs });
    expect(driver.of("commit")).toHaveLength(before);
    expect(cursor.floor).toBe(1);
  });

  it("what was settled beside it is written soon after", () => {
    const driver = loaded(3);
    driver.demand(3);
    driver.tick(50);
    driver.send({ type: "hold", entries: [] });
    driver.ack(1);
    const cursor = cursorOf(driver.state, driver.state.mark);
    driver.ack(2);
    driver.send({ type: "unhold", cursor, nowMs: driver.nowMs });
    driver.tick(50);
    expect(driver.stored.floor).toBe(2);
  });

  it("P9: two at once hold it until both are over", () => {
    const driver = loaded(2);
    driver.demand(2);
    driver.tick(50);
    driver.send({ type: "hold", entries: [] });
    driver.send({ type: "hold", entries: [] });
    driver.ack(1);
    driver.send({ type: "unhold", nowMs: driver.nowMs });
    const before = driver.of("commit").length;
    driver.tick(1_000);
    expect(driver.of("commit")).toHaveLength(before);
    driver.send({ type: "unhold", nowMs: driver.nowMs });
    driver.tick(1_000);
    expect(driver.of("commit")).toHaveLength(before + 1);
  });

  it("a halt waits for it", () => {
    const driver = loaded(1);
    driver.demand(1);
    driver.send({ type: "hold", entries: [] });
    driver.send({ type: "halt" });
    expect(driver.of("release")).toEqual([]);
    driver.send({ type: "unhold", nowMs: driver.nowMs });
    expect(driver.of("release")).toHaveLength(1);
  });
});
