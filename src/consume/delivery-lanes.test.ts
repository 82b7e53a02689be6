/** Order inside a partition: lanes by key, by partition, or none; batches and what becomes of a failed one. */
import { describe, expect, it } from "vitest";
import { DeliveryDriver, type DriverOptions } from "../../test/support/delivery-driver.js";
import { storedEvent } from "../../test/support/stored-events.js";

/** One event per letter, in order, with that letter as its key; "." has none. */
function keyed(keys: string, options: DriverOptions = {}): DeliveryDriver {
  const driver = new DeliveryDriver(options);
  driver.arrive([...keys].map((key, i) => storedEvent(i + 1, key === "." ? {} : { key })));
  return driver;
}

describe("lanes by key", () => {
  it("P4: one event of a key at a time; other keys do not wait for it", () => {
    const driver = keyed("aabac");
    expect(driver.seqs()).toEqual([1, 3, 5]);
    driver.ack(1);
    expect(driver.seqs()).toEqual([2]);
    driver.ack(2);
    expect(driver.seqs()).toEqual([4]);
  });

  it("P4: events without a key wait for nobody and go out in log order", () => {
    const driver = keyed("...");
    expect(driver.seqs()).toEqual([1, 2, 3]);
  });

  it("P4: the empty key is a key like any other", () => {
    const driver = new DeliveryDriver();
    driver.arrive([storedEvent(1, { key: "" }), storedEvent(2, { key: "" }), storedEvent(3)]);
    expect(driver.seqs()).toEqual([1, 3]);
  });

  it("P4: a failed event keeps its place before the others of its key, also through its retries", () => {
    const driver = keyed("aab");
    driver.demand(10);
    driver.fail(1);
    driver.ack(3);
    expect(driver.seqs()).toEqual([]);
    driver.tick(10);
    expect(driver.seqs()).toEqual([1]);
    driver.ack(1);
    expect(driver.seqs()).toEqual([2]);
  });

  it("P4, P8: the next of a key goes out only when the dead letter is written", () => {
    const driver = keyed("aa");
    driver.demand(1);
    driver.fail(1, { fatal: true });
    expect(driver.seqs()).toEqual([]);
    driver.buried(1);
    expect(driver.seqs()).toEqual([2]);
  });

  it("P4: a key that another owner left in its backoff holds back the later events of that key alone", () => {
    const driver = keyed("aab", {
      cursor: { attempts: [{ seq: 1, delivered: 1, failures: 1, retryAtMs: 10_500 }] },
    });
    expect(driver.seqs()).toEqual([3]);
    driver.tick(500);
    expect(driver.demand(10)).toEqual([{ seq: 1, attempt: 2 }]);
  });

  it("P15: nobody waits longer for a try than the owner would have that it failed under, whatever the time was there", () => {
    const [ahead, old] = [{ retryAtMs: 9_000_000, waitMs: 30 }, { retryAtMs: 9_000_000 }];
    const driver = keyed("ab", {
      cursor: {
        attempts: [ahead, old].map((past, i) => ({ seq: i + 1, delivered: 1, failures: 1, ...past })),
      },
    });
    expect(driver.seqs()).toEqual([]);
    expect(driver.stored.attempts).toMatchObject([{ retryAtMs: 9_000_000, waitMs: 30 }, { seq: 2 }]);
    driver.tick(30);
    expect(driver.seqs()).toEqual([1]);
    driver.ack(1);
    driver.tick(59_970);
    expect(driver.seqs()).toEqual([2]);
  });

  it("P13: lets go of empty lanes when there are many, and of all once nothing is left", () => {
    const driver = keyed("ab");
    driver.demand(10);
    driver.ack(1);
    driver.ack(2);
    expect(driver.state.lanes.size).toBe(2);
    driver.tick(1_000);
    expect(driver.state.lanes.size).toBe(0);
    const keys = Array.from({ length: 1_500 }, (_, i) => String.fromCharCode(0x4e00 + i));
    const many = keyed(keys.join(""), { policy: { stride: 2_000, maxBufferedEvents: 4_000 } });
    for (const { seq } of many.demand(1_500)) many.ack(seq);
    expect(many.state.lanes.size).toBe(1_024);
  });
});

describe("what is kept with an event", () => {
  it("P13: no lane, once whoever took it in last has settled it", () => {
    const events = [..."aab"].map((key, i) => storedEvent(i + 1, { key }));
    const drivers = [new DeliveryDriver(), new DeliveryDriver()];
    for (const driver of drivers) driver.arrive(events);
    expect(events.every(({ lane }) => lane !== null)).toBe(true);
    for (const driver of drivers) {
      for (const seq of driver.seqs()) driver.ack(seq);
      for (const seq of driver.seqs()) driver.ack(seq);
    }
    expect(events.map(({ lane }) => lane)).toEqual([null, null, null]);
  });
});

describe("other orderings", () => {
  it("P4: by partition, the whole partition is one lane", () => {
    const driver = keyed("ab.", { policy: { ordering: "partition" } });
    expect(driver.seqs()).toEqual([1]);
    driver.fail(1);
    expect(driver.seqs()).toEqual([]);
    driver.tick(10);
    expect(driver.seqs()).toEqual([1]);
    driver.ack(1);
    expect(driver.seqs()).toEqual([2]);
  });

  it("with none, nothing waits for anything", () => {
    const driver = keyed("aaa", { policy: { ordering: "none" } });
    expect(driver.seqs()).toEqual([1, 2, 3]);
    driver.fail(1);
    driver.tick(10);
    expect(driver.seqs()).toEqual([1]);
  });
});

describe("events whose commit is under way", () => {
  const pass = (driver: DeliveryDriver, ...seqs: number[]) =>
    driver.send({ type: "passing", entries: seqs.map((seq) => driver.entry(seq)), nowMs: driver.nowMs });

  it("P4: let those behind them go out; these wait in their turn", () => {
    const driver = keyed("aaaaaa");
    expect(driver.seqs(2, true)).toEqual([1, 2]);
    expect(driver.seqs(2, true)).toEqual([]);
    pass(driver, 1, 2);
    expect(driver.seqs(2, true)).toEqual([3, 4]);
    expect(driver.seqs(2, true)).toEqual([]);
    for (const seq of [1, 2]) driver.ack(seq);
    expect(driver.floor).toBe(2);
    pass(driver, 3, 4);
    expect(driver.seqs(2, true)).toEqual([5, 6]);
  });

  it("P4: when they fail, they come before those they let pass, whoever is given back first", () => {
    for (const order of [
      [1, 2, 3, 4],
      [3, 4, 1, 2],
      [4, 1, 3, 2],
    ]) {
      const driver = keyed("aaaa");
      driver.demand(2, true);
      pass(driver, 1, 2);
      driver.demand(2, true);
      for (const seq of order) {
        expect(driver.seqs(10, true)).toEqual([]);
        driver.fail(seq, { counts: false });
      }
      expect(driver.seqs(1)).toEqual([1]);
    }
  });

  it("P4: when they fail before the next one went out, they come before it", () => {
    const driver = keyed("aaa");
    driver.demand(1);
    pass(driver, 1);
    driver.fail(1, { counts: false });
    expect(driver.seqs(10, true)).toEqual([1]);
    driver.ack(1);
    expect(driver.seqs(10, true)).toEqual([2, 3]);
  });

  it("P4, P8: when one is given up before the next one went out, that one waits for the dead letter", () => {
    const driver = keyed("aa");
    driver.demand(1);
    pass(driver, 1);
    driver.fail(1, { fatal: true });
    expect(driver.seqs()).toEqual([]);
    driver.buried(1);
    expect(driver.seqs()).toEqual([2]);
  });

  it("P4: one that was let pass and failed comes again only when those before it are settled", () => {
    const driver = keyed("aab");
    driver.demand(1);
    pass(driver, 1);
    expect(driver.seqs(1)).toEqual([3]);
    expect(driver.seqs(1)).toEqual([2]);
    driver.fail(2, { counts: false });
    expect(driver.seqs()).toEqual([]);
    driver.arrive([storedEvent(4, { key: "a" })]);
    expect(driver.seqs()).toEqual([]);
    driver.ack(1);
    expect(driver.seqs()).toEqual([2]);
  });
});

describe("batches", () => {
  it("events of one key travel together, in order, up to the size of the batch", () => {
    const driver = keyed("aabaa");
    expect(driver.seqs(3, true)).toEqual([1, 2, 4]);
    expect(driver.seqs(10, true)).toEqual([3]);
    for (const seq of [1, 2, 4]) driver.ack(seq);
    expect(driver.seqs(10, true)).toEqual([5]);
  });

  it("P4: what is in a batch keeps the rest of its key waiting until the whole batch is settled", () => {
    const driver = keyed("aaa");
    expect(driver.seqs(2, true)).toEqual([1, 2]);
    driver.ack(2);
    expect(driver.seqs(2, true)).toEqual([]);
    driver.ack(1);
    expect(driver.seqs(2, true)).toEqual([3]);
  });

  it("P8: after a failed batch halves of it come, down to each event alone, in order by key, and no failure was counted", () => {
    const driver = keyed("aab");
    expect(driver.seqs(10, true)).toEqual([1, 2, 3]);
    for (const seq of [1, 2, 3]) driver.fail(seq, { counts: false });
    expect(driver.demand(10, true)).toEqual([
      { seq: 1, attempt: 2 },
      { seq: 2, attempt: 2 },
    ]);
    expect(driver.demand(10, true)).toEqual([{ seq: 3, attempt: 2 }]);
    for (const seq of [1, 2]) driver.fail(seq, { counts: false });
    expect(driver.demand(10, true)).toEqual([{ seq: 1, attempt: 3 }]);
    expect(driver.demand(10, true)).toEqual([]);
    driver.ack(1);
    expect(driver.demand(10, true)).toEqual([{ seq: 2, attempt: 3 }]);
    expect(driver.entry(2).failures).toBe(0);
  });

  it("P8: only the one at fault is buried; its batch fellows are not", () => {
    const driver = keyed("ab", { handling: { maxAttempts: 1 } });
    driver.demand(10, true);
    for (const seq of [1, 2]) driver.fail(seq, { counts: false });
    driver.demand(10, true);
    driver.fail(1);
    driver.demand(10, true);
    driver.ack(2);
    expect(driver.of("bury").map(({ entry }) => entry.seq)).toEqual([1]);
  });

  it("an event that must come alone ends a batch before it and fills one by itself", () => {
    const driver = keyed("abc");
    expect(driver.seqs(2, true)).toEqual([1, 2]);
    driver.fail(1, { counts: false });
    driver.fail(2, { counts: false });
    expect(driver.seqs(10, true)).toEqual([3]);
    expect(driver.seqs(10, true)).toEqual([1]);
    expect(driver.seqs(10, true)).toEqual([2]);
  });

  it("P4, P8: nothing follows an event that is buried instead of handed out", () => {
    const driver = keyed("aab", {
      cursor: { attempts: [{ seq: 1, delivered: 3, failures: 3, error: "third" }] },
    });
    expect(driver.seqs(10, true)).toEqual([3]);
    expect(driver.of("bury").map(({ entry }) => entry.seq)).toEqual([1]);
    driver.buried(1);
    expect(driver.seqs(10, true)).toEqual([2]);
  });

  it("an event that failed before does not travel as a follower", () => {
    const driver = keyed("aa", { cursor: { attempts: [{ seq: 2, delivered: 1, failures: 1 }] } });
    expect(driver.seqs(10, true)).toEqual([1]);
  });
});
