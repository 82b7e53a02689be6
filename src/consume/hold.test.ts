/** Keys held behind an event that was given up: who follows, who waits, who is let in again, and what survives. */
import { describe, expect, it } from "vitest";
import { DeliveryDriver, type DriverOptions } from "../../test/support/delivery-driver.js";
import { storedEvent } from "../../test/support/stored-events.js";
import type { StoredEvent } from "../model/event.js";
import { type Redriven, redriveHeaders } from "../model/redrive.js";

const HOLD = { group: "g", maxKeys: 2, releaseMs: 5_000, maxWaiting: 10 };

function holding(options: DriverOptions = {}): DeliveryDriver {
  return new DeliveryDriver({
    handling: { maxAttempts: 1 },
    ...options,
    policy: { hold: HOLD, ...options.policy },
  });
}

const event = (seq: number, key = "k"): StoredEvent => storedEvent(seq, { key });

function redriven(seq: number, turn: Partial<Redriven>, key = "k"): StoredEvent {
  const full = { group: "g", root: 0, after: 0, skip: false, ...turn };
  const headers = redriveHeaders({ through: full.root, ...full });
  return storedEvent(seq, { key, meta: { headers } });
}

/** Event 1 of key k was given up. */
function held(options: DriverOptions = {}): DeliveryDriver {
  const driver = holding(options);
  driver.arrive([event(1)]);
  driver.seqs();
  driver.fail(1);
  driver.buried(1);
  return driver;
}

const buriedSeqs = (driver: DeliveryDriver): number[] => driver.of("bury").map(({ entry }) => entry.seq);

describe("holding", () => {
  it("P4: newer events of the key follow into the dead letters, one after the other; other keys go on", () => {
    const driver = held();
    driver.arrive([event(2), event(3), event(4, "other")]);
    expect(driver.seqs()).toEqual([4]);
    expect(buriedSeqs(driver)).toEqual([1, 2]);
    expect(driver.last("bury")).toMatchObject({ attempts: 0, hold: { root: 2, waiting: true } });
    driver.buried(2);
    driver.buried(3);
    driver.ack(4);
    expect(driver.floor).toBe(4);
    driver.tick(50);
    expect(driver.stored.held).toEqual([{ key: "k", after: 0, last: 3, depth: 3, sinceMs: 10_000 }]);
  });

  it("P4: what waited in the lane when an event was given up follows it too", () => {
    const driver = holding();
    driver.arrive([event(1), event(2)]);
    expect(driver.seqs()).toEqual([1]);
    driver.fail(1);
    expect(driver.seqs()).toEqual([]);
    driver.buried(1);
    expect(driver.seqs()).toEqual([]);
    expect(buriedSeqs(driver)).toEqual([1, 2]);
  });

  it("without the policy the key goes on, and what an earlier policy held is let go", () => {
    const cursor = { held: [{ key: "k", after: 0, last: 1, depth: 1, sinceMs: 0 }], floor: 1, mark: 1 };
    const driver = new DeliveryDriver({ cursor });
    driver.arrive([event(2)]);
    expect(driver.seqs()).toEqual([2]);
    driver.ack(2);
    driver.tick(50);
    expect(driver.stored.held).toBeUndefined();
  });

  it("P4: survives a restart: the next owner holds the same key", () => {
    const first = held();
    first.tick(50);
    const second = first.successor();
    second.arrive([event(2), event(3, "other")]);
    expect(second.seqs()).toEqual([3]);
    expect(buriedSeqs(second)).toEqual([2]);
  });

  it("P13: no more keys are held than the policy allows; an event of another key is retried instead", () => {
    const driver = holding();
    driver.arrive([event(1, "a"), event(2, "b"), event(3, "c")]);
    expect(driver.seqs()).toEqual([1, 2, 3]);
    for (const seq of [1, 2, 3]) driver.fail(seq);
    driver.buried(1);
    driver.buried(2);
    expect(buriedSeqs(driver)).toEqual([1, 2]);
    driver.tick(1_000);
    expect(driver.demand(10)).toEqual([{ seq: 3, attempt: 2 }]);
  });
});

describe("releasing", () => {
  it("P4: letters come back in their order, newer events wait behind the last of them, then all is as before", () => {
    const driver = held();
    driver.arrive([event(2)]);
    driver.buried(2);
    driver.arrive([redriven(3, { root: 1 }), event(4), redriven(5, { root: 2, after: 1 }), event(6)]);
    expect(driver.seqs()).toEqual([3]);
    driver.ack(3);
    expect(driver.seqs()).toEqual([5]);
    driver.ack(5);
    expect(driver.seqs()).toEqual([4]);
    driver.ack(4);
    expect(driver.seqs()).toEqual([6]);
    driver.ack(6);
    driver.tick(50);
    expect(driver.stored.held).toBeUndefined();
    expect(driver.floor).toBe(6);
    expect(buriedSeqs(driver)).toEqual([1, 2]);
  });

  it("P4: a letter that fails again holds what was to come after it, also what was redriven with it", () => {
    const driver = held();
    driver.arrive([event(2)]);
    driver.buried(2);
    driver.arrive([redriven(3, { root: 1 }), redriven(4, { root: 2, after: 1 }), event(5)]);
    driver.seqs();
    driver.fail(3);
    for (const seq of [3, 4, 5]) driver.buried(seq);
    expect(driver.seqs()).toEqual([]);
    expect(driver.of("bury").map(({ hold }) => hold)).toEqual([
      { root: 1, waiting: false },
      { root: 2, waiting: true },
      { root: 1, waiting: false },
      { root: 2, waiting: true },
      { root: 5, waiting: true },
    ]);
    driver.arrive([
      redriven(6, { root: 1 }),
      redriven(7, { root: 2, after: 1 }),
      redriven(8, { root: 5, after: 2 }),
    ]);
    for (const seq of [6, 7, 8]) {
      expect(driver.seqs()).toEqual([seq]);
      driver.ack(seq);
    }
    driver.tick(50);
    expect(driver.stored.held).toBeUndefined();
  });

  it("P4: after a restart in the middle the next letter is let in, and nothing else", () => {
    const first = held();
    first.arrive([event(2)]);
    first.buried(2);
    first.arrive([redriven(3, { root: 1 })]);
    first.seqs();
    first.ack(3);
    first.tick(50);
    const second = first.successor();
    second.arrive([event(4), redriven(5, { root: 2, after: 1 })]);
    expect(buriedSeqs(second)).toEqual([4]);
    second.buried(4);
    expect(second.seqs()).toEqual([5]);
    second.ack(5);
    second.arrive([redriven(6, { root: 4, after: 2 })]);
    expect(second.seqs()).toEqual([6]);
    second.ack(6);
    second.tick(50);
    expect(second.stored.held).toBeUndefined();
  });

  it("P15: newer events that wait for letters that never come follow the others after a while", () => {
    const driver = held();
    driver.arrive([event(2)]);
    driver.buried(2);
    driver.arrive([redriven(3, { root: 1 }), event(4)]);
    driver.seqs();
    driver.ack(3);
    expect(buriedSeqs(driver)).toEqual([1, 2]);
    driver.tick(HOLD.releaseMs);
    expect(buriedSeqs(driver)).toEqual([1, 2, 4]);
  });

  it("P13: newer events do not wait where they would fill the buffer: they follow, and are redriven in their turn", () => {
    const driver = held();
    driver.arrive([event(2)]);
    driver.buried(2);
    const newer = Array.from({ length: 12 }, (_, i) => event(4 + i));
    driver.arrive([redriven(3, { root: 1 }), ...newer]);
    driver.seqs();
    driver.ack(3);
    expect(buriedSeqs(driver)).toEqual([1, 2, 4]);
    driver.buried(4);
    driver.buried(5);
    expect(buriedSeqs(driver)).toEqual([1, 2, 4, 5, 6]);
  });

  it("what was discarded is passed over, and with the last of it the key is free", () => {
    const driver = held();
    driver.arrive([redriven(2, { root: 1, skip: true }), event(3)]);
    expect(driver.seqs()).toEqual([3]);
    expect(driver.floor).toBe(2);
    driver.tick(50);
    expect(driver.stored.held).toBeUndefined();
  });

  it("P4: an event that was redriven for another group is nobody's letter here: the key stays held, and nothing waits for it", () => {
    const driver = held();
    driver.arrive([redriven(2, { root: 1, after: 1, group: "another" }), event(3)]);
    expect(driver.seqs()).toEqual([2]);
    driver.ack(2);
    expect(buriedSeqs(driver)).toEqual([1, 3]);
    driver.buried(3);
    driver.tick(50);
    expect(driver.stored.held).toMatchObject([{ key: "k", after: 0, last: 3, depth: 2 }]);
  });
});
