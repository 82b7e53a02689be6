/** Deliveries, acks and cursors that break a promise, and those that do not. */
import { describe, expect, it } from "vitest";
import {
  acked,
  buried,
  classes,
  committed,
  cursor,
  delivered,
  drained,
  failed,
  filtered,
  final,
  granted,
  keyed,
  logOf,
  moved,
  owned,
  published,
  started,
  subscribed,
} from "../../../test/support/history-by-hand.js";
import { checkHistory } from "./checker.js";
import { type HistoryEvent, historyHash } from "./history.js";

describe("a history without fault", () => {
  it("has no anomaly: publish, deliver, ack, commit, drain", () => {
    const history = [
      ...owned(2),
      delivered(1),
      acked(1),
      delivered(2),
      acked(2),
      committed(1, cursor(2), true),
      drained,
      final(cursor(2)),
    ];
    expect(checkHistory(history)).toEqual([]);
  });

  it("may hold retries, a dead letter, a crash and a successor", () => {
    const history = [
      ...owned(3),
      delivered(1),
      failed(1),
      delivered(1, 1, 2),
      failed(1, 2),
      buried(1),
      delivered(2),
      committed(1, cursor(1)),
      granted(2, cursor(1)),
      delivered(2, 2, 2),
      acked(2, 2, 2),
      delivered(3, 2),
      acked(3, 2),
      committed(2, cursor(3)),
      drained,
      final(cursor(3)),
      {
        type: "log",
        topic: "dlq.t",
        partition: 0,
        events: [{ seq: 1, id: "d1", deadLetter: { group: "g", topic: "t", id: "e1" } }],
      } satisfies HistoryEvent,
    ];
    expect(checkHistory(history)).toEqual([]);
  });

  it("says what happened, with group, place and id, when something is wrong", () => {
    const history = [...owned(1), committed(1, cursor(1))];
    expect(checkHistory(history)).toEqual([
      {
        class: "skipped",
        says: "g on t/0: the cursor written under epoch 1 passes t/0:1 (e1), which nobody settled",
      },
    ]);
  });

  it("hashes to the same value only if it is the same", () => {
    expect(historyHash(owned(2))).toBe(historyHash(owned(2)));
    expect(historyHash(owned(2))).not.toBe(historyHash(owned(3)));
  });
});

describe("skipped", () => {
  it("P2: a floor over an event in flight skips it", () => {
    expect(classes([...owned(2), delivered(1), committed(1, cursor(1))])).toEqual(["skipped"]);
  });

  it("P2: a settled range over an event never delivered skips it", () => {
    const history = [...owned(3), delivered(1), acked(1), committed(1, cursor(1, [[3, 3]]))];
    expect(classes(history)).toEqual(["skipped"]);
  });

  it("a grant with a cursor that nobody wrote skips what it covers", () => {
    expect(classes([subscribed(), ...published(1), started, granted(1, cursor(1)), keyed(1)])).toEqual([
      "skipped",
    ]);
  });

  it("a floor beyond the end of the log skips what is to come", () => {
    const history = [...owned(1), delivered(1), acked(1), committed(1, cursor(9)), drained, final(cursor(9))];
    expect(classes(history)).toEqual(["skipped"]);
  });

  it("an event that the filter refused is not skipped", () => {
    expect(classes([...owned(1), filtered(1), committed(1, cursor(1))])).toEqual([]);
  });

  it("P6: an ack of an earlier attempt settles nothing", () => {
    const twice = [...owned(1), delivered(1), delivered(1, 1, 2)];
    expect(classes([...twice, acked(1, 1, 1), committed(1, cursor(1))])).toEqual(["skipped"]);
    expect(classes([...twice, acked(1, 1, 2), committed(1, cursor(1))])).toEqual([]);
  });

  it("P6: an ack that was refused settles nothing, one without an answer may", () => {
    const history = [...owned(1), delivered(1), acked(1, 1, 1, 9)];
    const refused: HistoryEvent = { type: "answered", op: 9, ok: false, code: "LEASE_LOST" };
    expect(classes([...history, refused, committed(1, cursor(1))])).toEqual(["skipped"]);
    expect(classes([...history, committed(1, cursor(1))])).toEqual([]);
  });

  it("P7: what an earlier owner settled and did not commit does not count for the next", () => {
    const history = [...owned(1), delivered(1), acked(1), granted(2, cursor(0)), committed(2, cursor(1))];
    expect(classes(history)).toEqual(["skipped"]);
  });
});

describe("duplicate-without-attempt", () => {
  it("P5: a second delivery with attempt 1", () => {
    expect(classes([...owned(1), delivered(1), delivered(1)])).toEqual(["duplicate-without-attempt"]);
    expect(classes([...owned(1), delivered(1), delivered(1, 1, 2)])).toEqual([]);
  });

  it("P5: a successor that says attempt 1 again", () => {
    const history = [...owned(1), delivered(1), granted(2)];
    expect(classes([...history, delivered(1, 2, 1)])).toEqual(["duplicate-without-attempt"]);
    expect(classes([...history, delivered(1, 2, 2)])).toEqual([]);
  });

  it("P5: an attempt number that does not grow", () => {
    const history = [...owned(1), delivered(1, 1, 2), delivered(1, 1, 2)];
    expect(classes(history)).toEqual(["duplicate-without-attempt"]);
  });

  it("P5: a paused owner may come late with attempt 1 if its successor said 2", () => {
    expect(classes([...owned(1), granted(2), delivered(1, 2, 2), delivered(1, 1, 1)])).toEqual([]);
    expect(classes([...owned(1), granted(2), delivered(1, 2, 1), delivered(1, 1, 1)])).toEqual([
      "duplicate-without-attempt",
    ]);
  });

  it("after the cursor was moved everything begins anew", () => {
    const done = [...owned(1), delivered(1), acked(1), committed(1, cursor(1))];
    const again = [...done, moved(cursor(0)), granted(3, cursor(0)), delivered(1, 3)];
    expect(classes(again)).toEqual([]);
  });
});

describe("redelivered", () => {
  it("P5: an owner hands out what its own cursor says is settled", () => {
    const done = [...owned(1), delivered(1), acked(1), committed(1, cursor(1))];
    expect(classes([...done, delivered(1, 1, 2)])).toEqual(["redelivered"]);
    expect(classes([...done, granted(2, cursor(1)), delivered(1, 2, 2)])).toEqual(["redelivered"]);
  });

  it("P5: a paused owner that has not heard of its successor may", () => {
    const history = [
      ...owned(1),
      granted(2),
      delivered(1, 2, 2),
      acked(1, 2, 2),
      committed(2, cursor(1)),
      delivered(1, 1, 1),
    ];
    expect(classes(history)).toEqual([]);
  });
});

describe("key-order", () => {
  it("P4: the next event of a key goes out while the one before is open", () => {
    expect(classes([...owned(2), delivered(1), delivered(2)])).toEqual(["key-order"]);
    expect(classes([...owned(2), delivered(1), acked(1), delivered(2)])).toEqual([]);
  });

  it("P4: a failure does not open the way, a dead letter or the filter does", () => {
    const tried = [...owned(2), delivered(1), failed(1), delivered(1, 1, 2), failed(1, 2)];
    expect(classes([...tried, delivered(2)])).toEqual(["key-order"]);
    expect(classes([...tried, buried(1), delivered(2)])).toEqual([]);
    expect(classes([...owned(2), filtered(1), delivered(2)])).toEqual([]);
  });

  it("P4: a stale ack does not open the way", () => {
    const history = [...owned(2), delivered(1), delivered(1, 1, 2), acked(1, 1, 1), delivered(2)];
    expect(classes(history)).toEqual(["key-order"]);
  });

  it("P4: an ack that was never committed does not open the way for the next owner", () => {
    const history = [...owned(2), delivered(1), acked(1), granted(2), delivered(2, 2)];
    expect(classes(history)).toEqual(["key-order"]);
  });

  it("P4: other keys and events without a key do not wait", () => {
    const log = logOf({ seq: 1, id: "e1", key: "other" }, { seq: 2, id: "e2", key: "k" });
    const first = { ...delivered(1), key: "other" } as HistoryEvent;
    expect(classes([subscribed(), ...published(2), started, granted(1), log, first, delivered(2)])).toEqual(
      [],
    );
  });

  it("P4: events of one batch may share a key, in order", () => {
    expect(classes([...owned(2), delivered(1, 1, 1, 7), delivered(2, 1, 1, 7)])).toEqual([]);
    expect(classes([...owned(2), delivered(1, 1, 1, 7), delivered(2, 1, 1, 8)])).toEqual(["key-order"]);
  });

  it("P4: ordering by partition makes every event wait, ordering by nothing none", () => {
    const log = logOf({ seq: 1, id: "e1" }, { seq: 2, id: "e2", key: "k" });
    const rest = [...published(2), started, granted(1), log, delivered(2)];
    expect(classes([subscribed(2, "partition"), ...rest])).toEqual(["key-order"]);
    expect(classes([subscribed(2, "none"), ...rest])).toEqual([]);
  });
});

describe("stale-ack", () => {
  const answered = (ok: boolean): HistoryEvent => ({ type: "answered", op: 9, ok });

  it("P6: an ack of an earlier attempt is accepted", () => {
    const twice = [...owned(1), delivered(1), delivered(1, 1, 2)];
    expect(classes([...twice, acked(1, 1, 1, 9), answered(true)])).toEqual(["stale-ack"]);
    expect(classes([...twice, acked(1, 1, 1, 9), answered(false)])).toEqual([]);
    expect(classes([...twice, acked(1, 1, 2, 9), answered(true)])).toEqual([]);
  });
});

describe("zombie-write", () => {
  it("P7: a cursor is written under an older epoch", () => {
    const history = [...owned(1), delivered(1), acked(1), granted(2), committed(1, cursor(1))];
    expect(classes(history)).toEqual(["zombie-write"]);
  });

  it("P7: a cursor is written after release, or after it was moved", () => {
    const done = [...owned(1), delivered(1), acked(1)];
    const released = [...done, committed(1, cursor(1), true)];
    expect(classes(released)).toEqual([]);
    expect(classes([...released, committed(1, cursor(1))])).toEqual(["zombie-write"]);
    expect(classes([...done, moved(cursor(0)), committed(1, cursor(1))])).toEqual(["zombie-write"]);
  });

  it("P7: a dead letter is written under an older epoch", () => {
    const tried = [...owned(1, 1), delivered(1), failed(1)];
    expect(classes([...tried, buried(1)])).toEqual([]);
    expect(classes([...tried, granted(2), buried(1, 1)])).toEqual(["zombie-write"]);
  });

  it("P7: an epoch is granted twice", () => {
    expect(classes([...owned(1), granted(1)])).toEqual(["zombie-write"]);
    expect(classes([...owned(1), granted(2)])).toEqual([]);
  });

  it("P7: a delivery under an epoch that nobody was granted", () => {
    expect(classes([...owned(1), delivered(1, 5)])).toEqual(["zombie-write"]);
  });

  it("P7: an earlier state of the cursor comes back", () => {
    const done = [...owned(1), delivered(1), acked(1), committed(1, cursor(1))];
    expect(classes([...done, committed(1, cursor(0))])).toEqual(["zombie-write"]);
  });
});
