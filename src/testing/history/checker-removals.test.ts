/** Topics that are removed: what went with them may be missing, and nothing else may. */
import { describe, expect, it } from "vitest";
import { asked, classes, keyed, ok } from "../../../test/support/history-by-hand.js";
import type { HistoryEvent } from "./history.js";

const topic = "t";
const removing: HistoryEvent = { type: "removal-asked", op: 90, topic };
const trimmed: HistoryEvent = { type: "trimmed", topic, partition: 0, through: 1, low: 2 };
const answered: HistoryEvent = { type: "removal-ok", op: 90 };
const empty: HistoryEvent = { type: "log", topic, partition: 0, events: [] };
const back: HistoryEvent = { type: "log", topic, partition: 0, events: [{ seq: 2, id: "e2" }] };

describe("a topic that is removed", () => {
  it("P1: may miss what was taken away, and begins behind it when it comes back", () => {
    const gone = [asked(1, "e1"), ok(1, 1), removing, trimmed, answered];
    expect(classes([...gone, empty])).toEqual([]);
    expect(classes([...gone, asked(2, "e2"), ok(2, 2), back])).toEqual([]);
  });

  it("P1: may not miss what came later, nor what nobody wanted gone", () => {
    const both = [asked(1, "e1"), ok(1, 1), removing, trimmed, asked(2, "e2"), ok(2, 2)];
    expect(classes([...both, answered, empty])).toEqual(["lost"]);
    expect(classes([asked(1, "e1"), ok(1, 1), trimmed, empty])).toEqual(["lost"]);
  });

  it("P1: may not lose more than was to go, nor go with events in it", () => {
    expect(classes([removing, { ...trimmed, low: 3 } as HistoryEvent])).toEqual(["lost"]);
    expect(classes([removing, { type: "topic-removed", topic, events: 1 }])).toEqual(["lost"]);
    expect(classes([removing, { type: "topic-removed", topic, events: 0 }])).toEqual([]);
  });

  it("P2: gives no seq again", () => {
    const again = [asked(1, "e1"), ok(1, 1), removing, trimmed, answered, asked(2, "e2"), ok(2, 1)];
    expect(classes([...again, empty])).toEqual(["seq-gap"]);
  });

  it("has no events of before once that was answered", () => {
    expect(classes([asked(1, "e1"), ok(1, 1), removing, answered, keyed(1)])).toEqual(["phantom"]);
  });
});
