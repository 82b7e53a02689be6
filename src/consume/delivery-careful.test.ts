/** Careful mode: finding the event that kills its owners, one committed hand-out at a time (P8). */
import { describe, expect, it } from "vitest";
import { DeliveryDriver, type DriverOptions } from "../../test/support/delivery-driver.js";
import { storedEvent } from "../../test/support/stored-events.js";

const THREE = [1, 2, 3].map((seq) => storedEvent(seq));
const SPENT = { seq: 1, delivered: 3, failures: 3, error: "third" };

/** An owner that follows two that crashed without moving the floor. */
function careful(options: DriverOptions = {}): DeliveryDriver {
  const driver = new DeliveryDriver({
    cursor: { mark: 3, unclean: 1 },
    clean: false,
    head: 3,
    ...options,
  });
  driver.arrive(THREE);
  return driver;
}

/** The next owner after a crash, with the same log. */
function afterCrash(driver: DeliveryDriver, options: DriverOptions = {}): DeliveryDriver {
  const next = driver.successor({ head: 3, ...options });
  next.arrive(THREE.filter(({ seq }) => seq > next.floor));
  return next;
}

describe("careful mode", () => {
  it("begins when two owners in a row ended uncleanly without moving the floor", () => {
    const first = new DeliveryDriver();
    first.arrive(THREE);
    first.demand(10);
    const second = afterCrash(first);
    expect(second.phase).toBe("running");
    second.demand(10);
    const third = afterCrash(second);
    expect(third.phase).toBe("careful");
  });

  it("does not begin when an owner that crashed had moved the floor", () => {
    const first = new DeliveryDriver();
    first.arrive(THREE);
    const second = afterCrash(first);
    second.demand(10);
    second.ack(1);
    second.tick(50);
    expect(second.stored).toMatchObject({ floor: 1, unclean: 0 });
    expect(afterCrash(second).phase).toBe("running");
  });

  it("does not begin after a clean release, however many crashes came before", () => {
    const driver = new DeliveryDriver({ cursor: { unclean: 5, mark: 3 }, clean: true });
    expect(driver.phase).toBe("running");
  });

  it("P8: hands out one event at a time, each named in the cursor before it goes out", () => {
    const driver = careful({ autoCommit: false });
    driver.answerCommits();
    expect(driver.seqs()).toEqual([]);
    expect(driver.commits.at(-1)).toMatchObject({ suspect: 1 });
    driver.answerCommits();
    expect(driver.demand(10)).toEqual([{ seq: 1, attempt: 2 }]);
    expect(driver.seqs()).toEqual([]);
    expect(driver.stored.suspect).toBe(1);
  });

  it("P8: hands nothing out while the commit that names it is under way, however often it is asked", () => {
    const driver = careful({ autoCommit: false });
    driver.answerCommits();
    expect(driver.seqs()).toEqual([]);
    expect(driver.seqs()).toEqual([]);
    expect(driver.commits).toHaveLength(1);
    driver.answerCommits();
    expect(driver.seqs()).toEqual([1]);
  });

  it("takes batches apart", () => {
    const driver = careful();
    driver.demand(10, true);
    expect(driver.seqs(10, true)).toEqual([1]);
    expect(driver.seqs(10, true)).toEqual([]);
  });

  it("P8: a crash is pinned on the event that was being handled, and counts", () => {
    const driver = careful();
    driver.demand(1);
    driver.demand(1);
    const next = afterCrash(driver);
    expect(next.phase).toBe("careful");
    expect(next.stored.attempts).toMatchObject([
      { seq: 1, failures: 1, error: "the process ended while this event was being handled" },
    ]);
    next.demand(1);
    expect(next.demand(1)).toEqual([{ seq: 1, attempt: 3 }]);
  });

  it("P8: an event that kills its owner every time is buried after maxAttempts, never handed out again", () => {
    let driver = careful({ handling: { maxAttempts: 2 } });
    for (let crashes = 0; crashes < 2; crashes++) {
      driver.demand(1);
      expect(driver.seqs()).toEqual([1]);
      driver = afterCrash(driver);
    }
    expect(driver.seqs()).toEqual([]);
    expect(driver.seqs()).toEqual([]);
    expect(driver.of("bury")).toMatchObject([{ entry: { seq: 1, failures: 2 }, attempts: 3 }]);
    driver.buried(1);
    driver.demand(1);
    expect(driver.seqs()).toEqual([2]);
  });

  it("P8: a crash while the event is being buried is not pinned on it once more", () => {
    const driver = careful({ cursor: { mark: 3, unclean: 1, attempts: [SPENT] } });
    driver.demand(1);
    expect(driver.of("bury")).toHaveLength(1);
    const next = afterCrash(driver);
    next.demand(1);
    expect(next.of("bury")).toMatchObject([{ attempts: 3, entry: { failures: 3 } }]);
  });

  it("a failure that is no crash frees the suspect and does not count twice", () => {
    const driver = careful();
    driver.demand(1);
    driver.demand(1);
    driver.fail(1, { error: "just an error" });
    driver.tick(50);
    expect(driver.stored.suspect).not.toBe(1);
    const next = afterCrash(driver);
    expect(next.stored.attempts[0]).toMatchObject({ seq: 1, failures: 1, error: "just an error" });
  });

  it("an event that failed is named and committed anew before its next attempt", () => {
    const driver = careful({ autoCommit: false });
    driver.answerCommits();
    driver.demand(1);
    driver.answerCommits();
    driver.demand(1);
    driver.fail(1);
    driver.answerCommits();
    // 2 and 3 have their turn while 1 waits.
    for (const seq of [2, 3]) {
      driver.demand(1);
      driver.answerCommits();
      expect(driver.seqs()).toEqual([seq]);
      driver.ack(seq);
      driver.answerCommits();
    }
    driver.tick(10);
    driver.answerCommits();
    expect(driver.seqs()).toEqual([]);
    expect(driver.commits.at(-1)).toMatchObject({ suspect: 1 });
    driver.answerCommits();
    expect(driver.demand(1)).toEqual([{ seq: 1, attempt: 3 }]);
  });

  it("P8: an event that was settled is cleared at once, so that no later crash is pinned on it", () => {
    const driver = careful();
    driver.demand(1);
    driver.demand(1);
    driver.ack(1);
    expect(driver.stored).toMatchObject({ floor: 1 });
    expect(driver.stored).not.toHaveProperty("suspect");
  });

  it("ends when the doubtful stretch is settled; from then on events go out together", () => {
    const driver = careful();
    for (const seq of [1, 2, 3]) {
      expect(driver.phase).toBe("careful");
      driver.demand(1);
      expect(driver.seqs()).toEqual([seq]);
      driver.ack(seq);
    }
    expect(driver.phase).toBe("running");
    driver.grew();
    driver.arrive([storedEvent(4), storedEvent(5)]);
    expect(driver.seqs()).toEqual([4, 5]);
  });

  it("ends at the head of the claim, although the mark reaches further", () => {
    const driver = careful({ cursor: { mark: 1_000, unclean: 1 } });
    for (const seq of [1, 2, 3]) {
      driver.demand(1);
      expect(driver.seqs()).toEqual([seq]);
      driver.ack(seq);
    }
    expect(driver.phase).toBe("running");
  });

  it("a clean stop in the middle leaves no suspect behind", () => {
    const driver = careful();
    driver.demand(1);
    driver.demand(1);
    driver.send({ type: "stop" });
    driver.ack(1);
    expect(driver.last("release")?.cursor).not.toHaveProperty("suspect");
  });
});
