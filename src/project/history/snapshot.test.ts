import { describe, expect, it } from "vitest";
import { storedEvent } from "../../../test/support/stored-events.js";
import { StoredEvent } from "../../model/event.js";
import { entryOf, sourceOf, thinned } from "./snapshot.js";

describe("snapshot entries", () => {
  it("give back the event they were made of", () => {
    for (const payload of [{ n: 1 }, null, { _deleted: true }, "text", 0, [null]]) {
      const event = storedEvent(7, { key: 'a\n"', payload, topic: "t.a", partition: 2, ts: 5 });
      const entry = new StoredEvent("t.a.snapshot", 2, 1, entryOf(event, 3, 99));
      expect(entry).toMatchObject({ key: 'a\n"', ts: 99 });
      expect(sourceOf(entry, "t.a")?.record).toEqual(event.record);
    }
  });

  it("are tombstones where the event is one", () => {
    const entry = entryOf(storedEvent(1, { key: "a", payload: null }), 1, 0);
    expect(entry.body.value).toMatchObject({ payload: null, _deleted: true });
    expect(entryOf(storedEvent(1, { key: "a", payload: 0 }), 1, 0).body.value).not.toHaveProperty("_deleted");
  });

  it("have an id of their owner's own, the same each time", () => {
    const event = storedEvent(1, { key: "a" });
    expect(entryOf(event, 1, 0).id).toBe(entryOf(event, 1, 5).id);
    expect(entryOf(event, 2, 0).id).not.toBe(entryOf(event, 1, 0).id);
  });

  it("what somebody else published there is none", () => {
    expect(sourceOf(storedEvent(1, { key: "a", payload: { n: 1 } }), "t.a")).toBeNull();
    expect(sourceOf(storedEvent(1, { key: "a", payload: null }), "t.a")).toBeNull();
  });
});

describe("snapshot marks", () => {
  it("stay bounded; the newest and the oldest are kept", () => {
    let marks: ReturnType<typeof thinned> = [];
    for (let i = 1; i <= 1_000; i++) marks = thinned([...marks, { ts: i, position: i, entry: i }]);
    expect(marks.length).toBeLessThanOrEqual(48);
    expect([marks[0]?.position, marks.at(-1)?.position]).toEqual([1, 1_000]);
    expect(marks.slice(-10).map(({ position }) => position)).toEqual(
      Array.from({ length: 10 }, (_, i) => 991 + i),
    );
  });
});
