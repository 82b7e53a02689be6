/** Logs, dead letters and effects that break a promise. */
import { describe, expect, it } from "vitest";
import {
  asked,
  buried,
  classes,
  committed,
  cursor,
  delivered,
  drained,
  failed,
  final,
  granted,
  handling,
  keyed,
  logOf,
  ok,
  owned,
  published,
  started,
  subscribed,
} from "../../../test/support/history-by-hand.js";
import { checkHistory } from "./checker.js";
import type { HistoryEvent, LoggedEvent } from "./history.js";

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
