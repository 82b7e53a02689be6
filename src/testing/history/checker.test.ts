import { describe, expect, it } from "vitest";
import { type Cursor, START_CURSOR } from "../../ports/groups.js";
import type { AnomalyClass } from "./anomaly.js";
import { checkHistory } from "./checker.js";
import { type HistoryEvent, historyHash, type LoggedEvent } from "./history.js";

/* One group "g" on partition 0 of "t", written down by hand. */
const place = { group: "g", topic: "t", partition: 0 } as const;
const cursor = (floor: number, settled: Cursor["settled"] = []): Cursor => ({
  ...START_CURSOR,
  floor,
  settled,
  mark: 100,
});

const subscribed = (maxAttempts = 2, ordering: "key" | "partition" | "none" = "key"): HistoryEvent => ({
  type: "subscribed",
  group: "g",
  topic: "t",
  ordering,
  maxAttempts,
});
const asked = (op: number, id: string, topic = "t"): HistoryEvent => ({
  type: "publish-asked",
  op,
  producer: "p",
  topic,
  id,
});
const ok = (op: number, seq: number, duplicate = false): HistoryEvent => ({
  type: "publish-ok",
  op,
  partition: 0,
  seq,
  duplicate,
});
const logOf = (...events: readonly LoggedEvent[]): HistoryEvent => ({
  type: "log",
  topic: "t",
  partition: 0,
  events,
});
/** Events 1, 2 … of one key, with ids e1, e2 … */
const keyed = (count: number): HistoryEvent =>
  logOf(...Array.from({ length: count }, (_, i) => ({ seq: i + 1, id: `e${i + 1}`, key: "k" })));
const published = (count: number): HistoryEvent[] =>
  Array.from({ length: count }, (_, i) => [asked(i + 1, `e${i + 1}`), ok(i + 1, i + 1)]).flat();

const started: HistoryEvent = { ...place, type: "started", floor: 0 };
const granted = (epoch: number, from: Cursor = START_CURSOR): HistoryEvent => ({
  ...place,
  type: "granted",
  member: `m${epoch}`,
  epoch,
  cursor: from,
});
const handling = (seq: number, epoch: number, attempt: number) => ({
  ...place,
  member: `m${epoch}`,
  seq,
  id: `e${seq}`,
  epoch,
  attempt,
});
const delivered = (seq: number, epoch = 1, attempt = 1, batch?: number): HistoryEvent => ({
  ...handling(seq, epoch, attempt),
  type: "delivered",
  key: "k",
  ...(batch !== undefined && { batch }),
});
const acked = (seq: number, epoch = 1, attempt = 1, op?: number): HistoryEvent => ({
  ...handling(seq, epoch, attempt),
  type: "settled",
  outcome: "acked",
  ...(op !== undefined && { op }),
});
const filtered = (seq: number): HistoryEvent => ({ ...place, type: "filtered", seq, id: `e${seq}` });
const failed = (seq: number, attempt = 1, reason: "threw" | "fatal" = "threw"): HistoryEvent => ({
  ...handling(seq, 1, attempt),
  type: "failed",
  reason,
});
const buried = (seq: number, epoch = 1): HistoryEvent => ({
  ...place,
  type: "dead-lettered",
  seq,
  id: `e${seq}`,
  epoch,
});
const committed = (epoch: number, to: Cursor, released = false): HistoryEvent => ({
  ...place,
  type: "committed",
  epoch,
  cursor: to,
  released,
});
const final = (to: Cursor): HistoryEvent => ({ ...place, type: "cursor", epoch: 1, cursor: to });
const drained: HistoryEvent = { type: "drained" };
const moved = (to: Cursor): HistoryEvent => ({ ...place, type: "moved", cursor: to });

function classes(history: readonly HistoryEvent[]): AnomalyClass[] {
  return [...new Set(checkHistory(history).map((anomaly) => anomaly.class))];
}

/** What a group does with a log of `count` keyed events, up to where a test takes over. */
const owned = (count: number, maxAttempts = 2): HistoryEvent[] => [
  subscribed(maxAttempts),
  ...published(count),
  started,
  granted(1),
  keyed(count),
];

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

describe("lost", () => {
  it("P1: an acked publish that is in no log is lost", () => {
    expect(classes([asked(1, "e1"), ok(1, 1), keyed(0)])).toEqual(["lost"]);
  });

  it("P1: an acked publish that lies elsewhere than told is lost", () => {
    expect(classes([asked(1, "e1"), ok(1, 7), keyed(1)])).toEqual(["lost"]);
  });

  it("P1: a publish of unknown outcome may be in the log or not", () => {
    const unknown: HistoryEvent = { type: "publish-unknown", op: 1, code: "OUTCOME_UNKNOWN" };
    expect(classes([asked(1, "e1"), unknown, keyed(0)])).toEqual([]);
    expect(classes([asked(1, "e1"), unknown, keyed(1)])).toEqual([]);
  });

  it("P15: an event that a drained group never settled is lost", () => {
    expect(classes([...owned(1), drained, final(cursor(0))])).toEqual(["lost"]);
    expect(classes([...owned(1), drained])).toEqual(["lost"]);
  });

  it("P15: a group that began behind an event need not settle it", () => {
    const history = [subscribed(), ...published(1), { ...started, floor: 1 } as HistoryEvent, keyed(1)];
    expect(classes([...history, granted(1, cursor(1)), drained, final(cursor(1))])).toEqual([]);
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

describe("phantom", () => {
  it("an event in the log that nobody published", () => {
    expect(classes([keyed(1)])).toEqual(["phantom"]);
    expect(classes([asked(1, "e1"), keyed(1)])).toEqual([]);
  });

  it("an event whose publisher was told that nothing happened", () => {
    const told: HistoryEvent = { type: "publish-failed", op: 1, code: "QUEUE_FULL" };
    expect(classes([asked(1, "e1"), told, keyed(1)])).toEqual(["phantom"]);
    expect(classes([asked(1, "e1"), told, asked(2, "e1"), ok(2, 1), keyed(1)])).toEqual([]);
  });

  it("an event in another topic than it was published to", () => {
    expect(classes([asked(1, "e1", "elsewhere"), keyed(1)])).toEqual(["phantom"]);
  });

  it("a delivery of what is not in the log, or is another there", () => {
    expect(classes([...owned(1), delivered(2)])).toContain("phantom");
    const other = { ...delivered(1), id: "e9" } as HistoryEvent;
    expect(classes([...owned(1), other])).toEqual(["phantom"]);
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

describe("seq-gap, log-order and id-twice", () => {
  it("P2: a seq is missing", () => {
    const log = logOf({ seq: 1, id: "e1" }, { seq: 3, id: "e2" });
    expect(classes([asked(1, "e1"), asked(2, "e2"), log])).toEqual(["seq-gap"]);
    expect(classes([asked(1, "e1"), asked(2, "e2"), keyed(2)])).toEqual([]);
  });

  it("P2: a log that does not begin at 1, or has one seq twice", () => {
    expect(classes([asked(1, "e1"), logOf({ seq: 2, id: "e1" })])).toEqual(["seq-gap"]);
    const twice = logOf({ seq: 1, id: "e1" }, { seq: 1, id: "e2" });
    expect(classes([asked(1, "e1"), asked(2, "e2"), twice])).toEqual(["seq-gap"]);
  });

  it("P2: log-order: what was asked for after an ack stands after it", () => {
    const one = [asked(1, "e1"), ok(1, 2), asked(2, "e2"), ok(2, 1)];
    const log = logOf({ seq: 1, id: "e2" }, { seq: 2, id: "e1" });
    expect(classes([...one, log])).toEqual(["log-order"]);
    const together = [asked(1, "e1"), asked(2, "e2"), ok(1, 2), ok(2, 1)];
    expect(classes([...together, log])).toEqual([]);
  });

  it("P3: one id in two places", () => {
    expect(classes([asked(1, "e1"), logOf({ seq: 1, id: "e1" }, { seq: 2, id: "e1" })])).toEqual([
      "id-twice",
    ]);
  });

  it("P3: one id acked as new twice", () => {
    const again = [asked(1, "e1"), ok(1, 1), asked(2, "e1")];
    expect(classes([...again, ok(2, 1, false), keyed(1)])).toEqual(["id-twice"]);
    expect(classes([...again, ok(2, 1, true), keyed(1)])).toEqual([]);
  });
});

describe("dead letters", () => {
  const copies = (count: number): HistoryEvent => ({
    type: "log",
    topic: "dlq.t",
    partition: 0,
    events: Array.from({ length: count }, (_, i) => ({
      seq: i + 1,
      id: `d${i + 1}`,
      deadLetter: { group: "g", topic: "t", id: "e1" },
    })),
  });

  it("P8: dlq-missing: the cursor passes an event that failed for good and has no copy", () => {
    const tried = [...owned(1), delivered(1), failed(1, 1, "fatal")];
    expect(classes([...tried, committed(1, cursor(1))])).toEqual(["dlq-missing"]);
    expect(classes([...tried, buried(1), committed(1, cursor(1)), copies(1)])).toEqual([]);
    const often = [...owned(1), delivered(1), failed(1), delivered(1, 1, 2), failed(1, 2)];
    expect(classes([...often, committed(1, cursor(1))])).toEqual(["dlq-missing"]);
  });

  it("P8: dlq-double: two copies of one event for one group", () => {
    expect(classes([copies(2)])).toEqual(["dlq-double"]);
    expect(classes([copies(1)])).toEqual([]);
  });

  it("P8: dlq-early: given up with tries left", () => {
    expect(classes([...owned(1), delivered(1), failed(1), buried(1)])).toEqual(["dlq-early"]);
    expect(classes([...owned(1), delivered(1), failed(1, 1, "fatal"), buried(1)])).toEqual([]);
  });

  it("P8: a crash that was pinned on an event counts as a try", () => {
    const pinned = { ...cursor(0), suspect: 1 };
    const history = [...owned(1), committed(1, pinned), granted(2), delivered(1, 2, 2)];
    const lost: HistoryEvent = { ...handling(1, 2, 2), type: "failed", reason: "threw" };
    expect(classes([...history, lost, buried(1, 2)])).toEqual([]);
  });
});

describe("effect-twice", () => {
  const emitted = (id: string, seq: number): LoggedEvent => ({
    seq,
    id,
    effect: { group: "g", source: "e1", index: 0 },
  });

  it("P9: an effect of one event is in the log twice", () => {
    const log = logOf(emitted("x1", 1), emitted("x2", 2));
    expect(classes([asked(1, "x1"), asked(2, "x2"), log])).toEqual(["effect-twice"]);
    expect(classes([asked(1, "x1"), logOf(emitted("x1", 1))])).toEqual([]);
  });

  it("P9: a view differs from the fold of its log, once all is settled", () => {
    const view = (count: number): HistoryEvent => ({
      type: "view",
      view: "counts",
      documents: { k: { count } },
    });
    const views = {
      counts: (logs: ReadonlyMap<string, readonly unknown[]>) => ({
        k: { count: logs.get("t/0")?.length ?? 0 },
      }),
    };
    const history = [asked(1, "e1"), asked(2, "e2"), keyed(2)];
    expect(checkHistory([...history, drained, view(2)], { views })).toEqual([]);
    expect(checkHistory([...history, view(1)], { views })).toEqual([]);
    expect(checkHistory([...history, drained, view(3)], { views })).toEqual([
      { class: "effect-twice", says: 'view counts, k: it is {"count":3}, its log says {"count":2}' },
    ]);
  });
});

describe("stalled", () => {
  it("P15: a run that did not drain says what it waits for", () => {
    expect(checkHistory([{ type: "stalled", waiting: "g on t/0 stands at 3 of 9" }])).toEqual([
      { class: "stalled", says: "g on t/0 stands at 3 of 9" },
    ]);
  });
});
